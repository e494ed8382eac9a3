"""The pages: the data that each needs from the server, and the template that shows it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Address

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, tournaments_pb2
from noughts_server.resource_names import bot_name, tournament_name
from noughts_server.tables.crosstable import Crosstable
from noughts_server.web import words
from noughts_server.web.board_svg import board_svg, picture
from noughts_server.web.charts import Line, Point, rating_line
from noughts_server.web.documents import Document, document
from noughts_server.web.event_streams import Hub
from noughts_server.web.forms import whole_number
from noughts_server.web.front_page import front_page
from noughts_server.web.games import known_game, tournaments_of
from noughts_server.web.organising import Organising
from noughts_server.web.signin import visitor_of
from noughts_server.web.unchanged import answer
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import FRAMED, PICTURE, Views

_PAGE = 50
_RECENT = 20
_MOST_CURVES = 10
_ROUNDS, _MATCHES = 6, 64
"""Limits of a Swiss or Danish tournament's page: the newest rounds, and the pairings of each."""
_FAULTS = 50
_MOST_IN_CROSSTABLE = 40
"""Entries in a page's crosstable; the API returns all of them."""
_STANDINGS = 100
_MOST_PLIES = 900
_A_DAY = "public, max-age=86400"


class Pages:
    """The pages of the website."""

    def __init__(self, upstream: Upstream, hub: Hub, views: Views, organising: Organising) -> None:
        self._upstream = upstream
        self._hub = hub
        self._views = views
        self._organising = organising

    def addresses(self) -> list[Address]:
        pages: dict[str, Callable[[Request], Coroutine[Any, Any, Response]]] = {
            "/": self._home,
            "/tournaments": self._tournaments,
            "/tournaments.atom": self._atom,
            "/tournaments/{tournament}": self._tournament,
            "/tournaments/{tournament}/parts": self._tournament_parts,
            "/tournaments/{tournament}/games": self._games,
            "/tournaments/{tournament}/games/{number:int}": self._game,
            "/tournaments/{tournament}/games/{number:int}/embed": self._game_alone,
            "/tournaments/{tournament}/games/{number:int}.svg": self._picture,
            "/leaderboard": self._leaderboard,
            "/bots": self._bots,
            "/bots/{bot}": self._bot,
            "/bots/{bot}/against/{opponent}": self._against,
        }
        return [Address(path, page, methods=["GET"]) for path, page in pages.items()]

    def failed(self, request: Request, failure: Failure, headers: dict[str, str]) -> Response:
        """Return a page that explains the failure."""
        return self._views.page(request, "failed", failure.status, headers, failure=failure)

    async def _home(self, request: Request) -> Response:
        return self._views.page(request, "home", **await front_page(self._upstream, self._hub))

    async def _tournaments(self, request: Request) -> Response:
        wanted = tournaments_pb2.ListTournamentsRequest(
            page_size=_PAGE,
            page_token=request.query_params.get("page_token", ""),
            challenges=request.query_params.get("challenges") == "true",
        )
        found = await self._ask(self._upstream.tournaments.ListTournaments, wanted)
        return self._views.page(
            request,
            "tournaments",
            tournaments=found["tournaments"],
            next_page=_next_page(request, found),
            challenges=wanted.challenges,
        )

    async def _atom(self, request: Request) -> Response:
        wanted = tournaments_pb2.ListTournamentsRequest(page_size=_PAGE)
        found = await self._ask(self._upstream.tournaments.ListTournaments, wanted)
        body = self._views.text(request, "tournaments.atom", tournaments=found["tournaments"])
        return Response(body, media_type="application/atom+xml", headers={"cache-control": "no-cache"})

    async def _tournament(self, request: Request) -> Response:
        known = await self._known_tournament(request)
        return self._views.page(request, "tournament", **known, boards=await self._boards(known["tournament"]))

    async def _tournament_parts(self, request: Request) -> Response:
        return self._views.parts(request, "tournament", **await self._known_tournament(request), boards=[])

    async def _known_tournament(self, request: Request) -> Document:
        name = tournament_name(request.path_params["tournament"])
        got, crosstable, faults = await asyncio.gather(
            self._ask(self._upstream.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)),
            self._ask(
                self._upstream.tournaments.GetCrosstable,
                tournaments_pb2.GetCrosstableRequest(name=name, top=_MOST_IN_CROSSTABLE),
            ),
            self._ask(
                self._upstream.games.ListGames,
                games_pb2.ListGamesRequest(parent=name, faults_only=True, page_size=_FAULTS),
            ),
        )
        tournament = got["tournament"]
        row = request.query_params.get("row", "")
        before = int(row) - 1 if row.isascii() and row.isdigit() and 0 < len(row) < 8 and int(row) else 0
        return {
            "tournament": tournament,
            "before": before,
            "standings": tournament["standings"][before : before + _STANDINGS],
            "desk": await self._organising.desk(request, tournament),
            "crosstable": _crosstable(tournament["standings"], crosstable["cells"]),
            "rounds": _rounds(crosstable["matches"]),
            "encounters": [each[:_MATCHES] for each in reversed(_rounds(crosstable["encounters"])[-_ROUNDS:])],
            "faults": faults["games"],
            "more_faults": bool(faults["next_page_token"]),
        }

    async def _boards(self, tournament: Document) -> list[Document]:
        """Return the live games that the page shows as boards."""
        if tournament["state"] == "running":
            with suppress(Failure):
                games: list[Document] = (await self._hub.known(tournament["name"]))["games"]
                return games
        return []

    async def _games(self, request: Request) -> Response:
        name = tournament_name(request.path_params["tournament"])
        wanted = games_pb2.ListGamesRequest(
            parent=name, page_size=_PAGE, page_token=request.query_params.get("page_token", "")
        )
        tournament, found = await asyncio.gather(
            self._ask(self._upstream.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)),
            self._ask(self._upstream.games.ListGames, wanted),
        )
        return self._views.page(
            request,
            "games",
            tournament=tournament["tournament"],
            games=found["games"],
            next_page=_next_page(request, found),
        )

    async def _game(self, request: Request) -> Response:
        return self._views.page(request, "game", **await self._known_game(request))

    async def _game_alone(self, request: Request) -> Response:
        return self._views.page(request, "embed", headers=FRAMED, **await self._known_game(request))

    async def _picture(self, request: Request) -> Response:
        known, query = await self._known_game(request), request.query_params
        game, ply = known["game"], known["ply"]
        if game["board"] is None:
            raise Failure(404, f"The variant {game['variant']} is not installed on this website, so there is no board.")
        numbers = whole_number("numbers", query.get("numbers", "0"), 0, _MOST_PLIES)
        title = f"{game['first']} - {game['second']}, move {ply}"
        drawn = picture(board_svg(game, ply, numbers=numbers, whole=query.get("whole") == "true"), title).encode()
        caching = _A_DAY if game["state"] == "ended" else "no-cache"
        return answer(request, drawn, "image/svg+xml", {"cache-control": caching, **PICTURE})

    async def _known_game(self, request: Request) -> Document:
        """Return the game from the record, or from the feed if it is not over, and the ply that the address names."""
        name = "tournaments/{tournament}/games/{number}".format_map(request.path_params)
        # A bot's stderr output is only for its owner and the organiser.
        visitor = visitor_of(request)
        known = await known_game(self._upstream, self._hub, name, visitor.token if visitor else "")
        plies = len(known["game"]["moves"])
        ply = whole_number("ply", request.query_params.get("ply", str(plies)), 0, plies)
        (tournament,) = (await tournaments_of(self._upstream, [name.partition("/games/")[0]])).values()
        players = {row.label: row for row in tournament.standings}
        return {**known, "ply": ply, "tournament": tournament, "players": players}

    async def _leaderboard(self, request: Request) -> Response:
        query = request.query_params
        wanted = leaderboards_pb2.GetLeaderboardRequest(
            variant=query.get("variant", ""),
            time_class=query.get("time_class", ""),
            page_size=_PAGE,
            page_token=query.get("page_token", ""),
            owner=query.get("owner", ""),
            online_only=query.get("online") == "true",
            min_games=min(int(least), 2**63) if (least := query.get("min_games", "0")).isdecimal() else 0,
            exclude_provisional=query.get("sure") == "true",
            search=query.get("search", "").strip(),
        )
        lists = await self._ask(
            self._upstream.leaderboards.ListRatingLists, leaderboards_pb2.ListRatingListsRequest(page_size=1000)
        )
        if not wanted.variant and lists["rating_lists"]:
            # A list with games is more useful than the default one.
            fullest = max(lists["rating_lists"], key=lambda each: int(each["games"]))
            wanted.variant, wanted.time_class = fullest["variant"], fullest["time_class"]
        found = await self._ask(self._upstream.leaderboards.GetLeaderboard, wanted)
        return self._views.page(
            request,
            "leaderboard",
            rating_list=found["rating_list"],
            lists=lists["rating_lists"],
            rows=found["rows"],
            next_page=_next_page(request, found),
            owner=wanted.owner,
            online=wanted.online_only,
            sure=wanted.exclude_provisional,
            min_games=wanted.min_games,
            search=wanted.search,
            filtered=bool(
                wanted.owner or wanted.online_only or wanted.exclude_provisional or wanted.min_games or wanted.search
            ),
        )

    async def _bots(self, request: Request) -> Response:
        wanted = bots_pb2.ListBotsRequest(
            page_size=_PAGE,
            page_token=request.query_params.get("page_token", ""),
            online_only=request.query_params.get("online") == "true",
            search=request.query_params.get("search", "").strip(),
        )
        found = await self._ask(self._upstream.bots.ListBots, wanted)
        return self._views.page(
            request,
            "bots",
            bots=found["bots"],
            next_page=_next_page(request, found),
            online=wanted.online_only,
            search=wanted.search,
        )

    async def _bot(self, request: Request) -> Response:
        name = bot_name(request.path_params["bot"])
        bot, ratings, games, statistics = await asyncio.gather(
            self._ask(self._upstream.bots.GetBot, bots_pb2.GetBotRequest(name=name)),
            self._ask(self._upstream.leaderboards.ListBotRatings, leaderboards_pb2.ListBotRatingsRequest(bot=name)),
            self._ask(self._upstream.games.ListGames, games_pb2.ListGamesRequest(parent=name, page_size=_RECENT)),
            self._ask(self._upstream.leaderboards.GetBotStatistics, leaderboards_pb2.GetBotStatisticsRequest(bot=name)),
        )
        histories = await asyncio.gather(
            *(self._history(name, each, bot["versions"]) for each in ratings["ratings"][:_MOST_CURVES])
        )
        return self._views.page(
            request,
            "bot",
            bot=bot["bot"],
            rivals=await self._organising.rivals(request, bot["bot"]),
            ratings=list(zip_longest(ratings["ratings"], histories)),
            statistics=statistics,
            games=games["games"],
            submission=bot["versions"][0]["submission"] if bot["versions"] else None,
        )

    async def _history(self, bot: str, place: Document, versions: list[Document]) -> Line | None:
        variant, _, time_class = place["rating_list"].rpartition("/")
        wanted = leaderboards_pb2.GetRatingHistoryRequest(bot=bot, variant=variant, time_class=time_class)
        found = await self._ask(self._upstream.leaderboards.GetRatingHistory, wanted)
        points = found["points"]
        began = []
        for version in reversed(versions):
            # Timestamps of one length and zone compare as texts. The first version needs no mark.
            since = next((point["games"] for point in points if point["time"] >= version["create_time"]), None)
            if since is not None and points and since > points[0]["games"]:
                began.append((since, words.number(version["name"])))
        return rating_line([Point(each["games"], each["rating"], each["error95"]) for each in points], began)

    async def _against(self, request: Request) -> Response:
        bot, opponent = (bot_name(request.path_params[each]) for each in ("bot", "opponent"))
        tournament = request.query_params.get("tournament", "")
        wanted = leaderboards_pb2.GetHeadToHeadRequest(bot=bot, opponent=opponent)
        listed = games_pb2.ListGamesRequest(
            parent=bot,
            opponent=opponent,
            page_size=_PAGE,
            page_token=request.query_params.get("page_token", ""),
            tournament=tournament_name(tournament) if tournament else "",
        )
        found, games = await asyncio.gather(
            self._ask(self._upstream.leaderboards.GetHeadToHead, wanted),
            self._ask(self._upstream.games.ListGames, listed),
        )
        return self._views.page(
            request,
            "against",
            bot=bot,
            opponent=opponent,
            tournament=tournament,
            total=found["total"],
            variants=found["variants"],
            games=games["games"],
            next_page=_next_page(request, games),
        )

    async def _ask(self, method: Any, request: Any, token: str = "") -> Document:
        return document(await self._upstream.call(method, request, token))


def _next_page(request: Request, found: Document) -> str:
    token = found["next_page_token"]
    if not token:
        return ""
    kept = [(name, text) for name, text in request.query_params.multi_items() if name != "page_token"]
    return f"{request.url.path}?{urlencode([*kept, ('page_token', token)])}"


def _crosstable(standings: list[Document], cells: list[Document]) -> Crosstable:
    """Return the crosstable of the first entries of the standings."""
    labels = (row["label"] for row in standings[:_MOST_IN_CROSSTABLE])
    return Crosstable(labels, {(each["first"], each["second"]): words.score(each) for each in cells})


def _rounds(matches: list[Document]) -> list[list[Document]]:
    rounds: dict[int, list[Document]] = {}
    for match in matches:
        rounds.setdefault(match["round"], []).append(match)
    return [rounds[number] for number in sorted(rounds)]
