"""The pages: the data that each needs from the server, and the template that shows it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, tests_pb2, tournaments_pb2, types_pb2
from noughts_server.core.board_geometry import geometry
from noughts_server.core.resource_names import bot_name, test_name, tournament_name
from noughts_server.tables.crosstable import Crosstable
from noughts_server.web import api_routes, words
from noughts_server.web.api_routes import PREFIX, ApiRoute
from noughts_server.web.board_png import board_png, png_source
from noughts_server.web.board_svg import board_svg, picture
from noughts_server.web.calendar_file import calendar_file
from noughts_server.web.charts import Line, rating_line
from noughts_server.web.documents import Document, document, enum_words
from noughts_server.web.event_streams import Hub
from noughts_server.web.forms import MOST, whole_number
from noughts_server.web.front_page import FrontPage
from noughts_server.web.games import known_game, tournaments_of
from noughts_server.web.openapi import openapi
from noughts_server.web.organising import Organising
from noughts_server.web.queries import request_for
from noughts_server.web.signin import visitor_of
from noughts_server.web.unchanged import answer
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import FRAMED, PICTURE, Views

_PAGE = 50
_RECENT = 20
_MOST_CURVES = 10
_OVERVIEW = "overview"
_GAME_FILTERS = ("entry", "result", "termination", "faults_only")
_OLD_FILTERS = {"online": "online_only", "sure": "exclude_provisional"}
_FAULTS = 10
_LAST = 8
_MOST_IN_CROSSTABLE = 40
"""Entries in a page's crosstable; the API returns all of them."""
_STANDINGS = 100
_STARTS = 500
_MOST_NUMBERS = 900
_A_DAY = "public, max-age=86400"


class Pages:
    """The pages of the website."""

    def __init__(self, upstream: Upstream, hub: Hub, views: Views, organising: Organising) -> None:
        self._upstream = upstream
        self._hub = hub
        self._views = views
        self._organising = organising
        self._front_page = FrontPage(upstream, hub)

    def addresses(self) -> list[Route]:
        pages: dict[str, Callable[[Request], Coroutine[Any, Any, Response]]] = {
            "/": self._home,
            "/tournaments": self._tournaments,
            "/tournaments.atom": self._atom,
            "/tournaments.ics": self._starts,
            "/tournaments/{tournament}.ics": self._start,
            "/tournaments/{tournament}": self._tournament,
            "/tournaments/{tournament}/parts": self._tournament_parts,
            "/tournaments/{tournament}/seasons": self._seasons,
            "/tournaments/{tournament}/games": self._games,
            "/tournaments/{tournament}/games/{number:int}": self._game,
            "/tournaments/{tournament}/games/{number:int}/embed": self._game_alone,
            "/tournaments/{tournament}/games/{number:int}.svg": self._picture,
            "/tournaments/{tournament}/games/{number:int}.png": self._png,
            "/tests": self._tests,
            "/tests.atom": self._tests_atom,
            "/tests/{test}": self._test,
            "/leaderboard": self._leaderboard,
            "/explorer": self._explorer,
            "/bots": self._bots,
            "/bots/{bot}": self._bot,
            "/bots/{bot}/against/{opponent}": self._against,
            "/search": self._search,
            "/api": self._api,
            PREFIX: self._api,
        }
        return [Route(path, page, methods=["GET"]) for path, page in pages.items()]

    async def failed(self, request: Request, failure: Failure, headers: dict[str, str]) -> Response:
        """Return a page that explains the failure."""
        return await self._views.page(request, "failed", failure, headers)

    async def _home(self, request: Request) -> Response:
        return await self._views.page(request, "home", **await self._front_page.shown())

    async def _tournaments(self, request: Request) -> Response:
        found = await self._listed(request, api_routes.TOURNAMENTS, "challenges", "owner", "search", "state")
        challenges = request.query_params.get("challenges") == "true"
        return await self._views.page(request, "tournaments", **found, challenges=challenges)

    async def _tests(self, request: Request) -> Response:
        found = await self._listed(request, api_routes.TESTS, "owner", "search", "state")
        return await self._views.page(request, "tests", **found)

    async def _tests_atom(self, request: Request) -> Response:
        state = tournaments_pb2.TOURNAMENT_STATE_FINISHED
        found = await self._upstream.ask(
            self._upstream.tests.ListTests, tests_pb2.ListTestsRequest(page_size=_PAGE, state=state)
        )
        tests = [each for each in found["tests"] if each["tournament"]["sprt"]]
        return await self._feed(request, "tests.atom", tests=tests)

    async def _test(self, request: Request) -> Response:
        """Redirect to the page of the match that plays the test."""
        name = test_name(request.path_params["test"])
        test = (await self._upstream.ask(self._upstream.tests.GetTest, tests_pb2.GetTestRequest(name=name)))["test"]
        return RedirectResponse(f"/{test['tournament']['name']}")

    async def _atom(self, request: Request) -> Response:
        found = await self._upstream.ask(
            self._upstream.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest(page_size=_PAGE)
        )
        return await self._feed(request, "tournaments.atom", tournaments=found["tournaments"])

    async def _feed(self, request: Request, template: str, **shown: Any) -> Response:
        body = await self._views.text(request, template, **shown)
        return Response(body, media_type="application/atom+xml", headers={"cache-control": "no-cache"})

    async def _starts(self, request: Request) -> Response:
        found = await self._upstream.ask(
            self._upstream.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest(page_size=_STARTS)
        )
        return await self._calendar(request, "Starts of tournaments", found["tournaments"])

    async def _start(self, request: Request) -> Response:
        name = tournament_name(request.path_params["tournament"])
        tournament = (
            await self._upstream.ask(
                self._upstream.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)
            )
        )["tournament"]
        if not tournament["start_at"]:
            raise Failure(404, f"{name} has no scheduled start.", "Its organiser starts it.")
        return await self._calendar(request, tournament["title"] or words.short(name), [tournament])

    async def _calendar(self, request: Request, title: str, tournaments: list[Document]) -> Response:
        text = await self._views.text(request, "calendar.ics", title=title, tournaments=tournaments)
        return answer(request, calendar_file(text), "text/calendar; charset=utf-8", {"cache-control": "no-cache"})

    async def _tournament(self, request: Request) -> Response:
        known = await self._known_tournament(request)
        boards = await self._boards(known["tournament"]) if known["tab"] == _OVERVIEW else []
        return await self._views.page(request, "tournament", **known, boards=boards)

    async def _seasons(self, request: Request) -> Response:
        found = await self._listed(request, api_routes.SEASONS)
        if not found["league"]:
            raise Failure(404, "This tournament does not repeat.", "Its own page has its games and standings.")
        return await self._views.page(request, "seasons", **found, title=words.short(found["league"]))

    async def _tournament_parts(self, request: Request) -> Response:
        return await self._views.parts(request, "tournament", **await self._known_tournament(request), boards=[])

    async def _known_tournament(self, request: Request) -> Document:
        name = tournament_name(request.path_params["tournament"])
        got, crosstable, faults = await asyncio.gather(
            self._upstream.ask(
                self._upstream.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)
            ),
            self._upstream.ask(
                self._upstream.tournaments.GetCrosstable,
                tournaments_pb2.GetCrosstableRequest(name=name, top=_MOST_IN_CROSSTABLE),
            ),
            self._upstream.ask(
                self._upstream.games.ListGames,
                games_pb2.ListGamesRequest(parent=name, faults_only=True, page_size=_FAULTS),
            ),
        )
        tournament, tab = got["tournament"], request.query_params.get("tab", _OVERVIEW)
        shows_last = tab == _OVERVIEW and tournament["state"] != "open"
        # One row while the tournament runs, so that what follows stays where it is.
        most = _LAST // 2 if tournament["state"] == "running" else _LAST
        last_games: list[Document] = []
        if shows_last:
            after = max(0, tournament["games_done"] - most)
            last = games_pb2.ListGamesRequest(parent=name, after=after, page_size=most)
            last_games = (await self._upstream.ask(self._upstream.games.ListGames, last))["games"]
        row = request.query_params.get("row", "")
        before = int(row) - 1 if row.isascii() and row.isdigit() and 0 < len(row) < 8 and int(row) else 0
        return {
            "tab": tab,
            "tournament": tournament,
            "before": before,
            "standings": tournament["standings"][before : before + _STANDINGS],
            "desk": await self._organising.desk(request, tournament),
            "crosstable": _crosstable(tournament["standings"], crosstable["cells"]),
            "rounds": _rounds(crosstable["matches"]),
            "encounters": _rounds(crosstable["encounters"]),
            "faults": faults["games"],
            "last": last_games,
            "more_faults": bool(faults["next_page_token"]),
        }

    async def _boards(self, tournament: Document) -> list[Document]:
        """Return the live games that the page shows as boards."""
        if tournament["state"] == "running":
            with suppress(Failure):
                return list((await self._hub.known(tournament["name"]))["games"])
        return []

    async def _games(self, request: Request) -> Response:
        known, found = await asyncio.gather(
            self._known_tournament(request),
            self._listed(request, api_routes.TOURNAMENT_GAMES, "after", *_GAME_FILTERS),
        )
        filters = {name: text for name in _GAME_FILTERS if (text := request.query_params.get(name))}
        endings = enum_words(types_pb2.Termination.DESCRIPTOR)
        shown = {**known, **found, "tab": "games", "boards": [], "filters": filters, "size": _PAGE, "endings": endings}
        return await self._views.page(request, "tournament", **shown)

    async def _game(self, request: Request) -> Response:
        return await self._views.page(request, "game", **await self._known_game(request))

    async def _game_alone(self, request: Request) -> Response:
        return await self._views.page(request, "embed", headers=FRAMED, **await self._known_game(request))

    async def _picture(self, request: Request) -> Response:
        game, ply = await self._board_of(request)
        query = request.query_params
        numbers = whole_number("numbers", query.get("numbers", "0"), 0, _MOST_NUMBERS)
        title = f"{game['first']} - {game['second']}, move {ply}"
        whole = query.get("whole") == "true"

        def draw() -> Response:
            drawn = picture(board_svg(game, ply, numbers=numbers, whole=whole), title).encode()
            return _pictured(request, game, drawn, "image/svg+xml")

        return await self._views.rendering.in_turn(request, "svg", draw)

    async def _png(self, request: Request) -> Response:
        game, ply = await self._board_of(request)
        svg = await self._views.rendering.in_turn(request, "png", lambda: png_source(game, ply))
        return _pictured(request, game, await board_png(svg), "image/png")

    async def _board_of(self, request: Request) -> tuple[Document, int]:
        """Return the game, which has a board, and the address's ply. Raises Failure."""
        found = await self._found_game(request)
        game, ply = found["game"], found["ply"]
        if game["board"] is None:
            raise Failure(404, f"The variant {game['variant']} is not installed on this website, so there is no board.")
        return game, ply

    async def _known_game(self, request: Request) -> Document:
        """Return what a page shows of a game and of its players."""
        known = await self._found_game(request)
        name = "tournaments/{tournament}".format_map(request.path_params)
        (tournament,) = (await tournaments_of(self._upstream, [name])).values()
        players = {row.label: row for row in tournament.standings}
        return {**known, "tournament": tournament, "players": players}

    async def _found_game(self, request: Request) -> Document:
        """Return the game from the record, or from the feed if it is not over, its notes, and the address's ply."""
        name = "tournaments/{tournament}/games/{number}".format_map(request.path_params)
        # A bot's stderr output is only for its owner and the organiser.
        visitor = visitor_of(request)
        known = await known_game(self._upstream, self._hub, name, visitor.token if visitor else "")
        plies = len(known["game"]["moves"])
        ply = whole_number("ply", request.query_params.get("ply", str(plies)), 0, MOST)
        return {**known, "ply": min(ply, plies)}

    async def _leaderboard(self, request: Request) -> Response:
        if renamed := _renamed(request):
            return renamed
        query = request.query_params
        shown_list = {name: query.get(name, "") for name in ("variant", "time_class")}
        lists = await self._upstream.ask(
            self._upstream.leaderboards.ListRatingLists, leaderboards_pb2.ListRatingListsRequest(page_size=1000)
        )
        if not shown_list["variant"] and lists["rating_lists"]:
            # A list with games is more useful than the default one.
            fullest = max(lists["rating_lists"], key=lambda each: int(each["games"]))
            shown_list = {name: fullest[name] for name in shown_list}
        filters = ("owner", "search", "min_games", "online_only", "exclude_provisional", "view")
        found = await self._listed(request, api_routes.LEADERBOARD, *filters, **shown_list)
        wanted = {name: query.get(name, "").strip() for name in filters}
        return await self._views.page(request, "leaderboard", **found, lists=lists["rating_lists"], wanted=wanted)

    async def _explorer(self, request: Request) -> Response:
        query = request.query_params
        moves = [whole_number("moves", cell, 0, _MOST_NUMBERS) for cell in query.get("moves", "").split(",") if cell]

        async def opening_moves(variant: str, time_class: str) -> Document:
            wanted = leaderboards_pb2.GetOpeningMovesRequest(variant=variant, time_class=time_class, moves=moves)
            return await self._upstream.ask(self._upstream.leaderboards.GetOpeningMoves, wanted)

        variant, time_class = query.get("variant", ""), query.get("time_class", "")
        found = await opening_moves(variant, time_class)
        name = found["rating_list"]
        known = [each for each in found["rating_lists"] if geometry(each.rpartition("/")[0]) is not None]
        if name not in known and not (time_class and moves):
            # A list with games is more useful than an empty one.
            name = next((each for each in known if each.startswith(f"{variant}/") or not (variant or moves)), name)
            variant, _, time_class = name.rpartition("/")
            found = await opening_moves(variant, time_class)
        game = {"board": geometry(name.rpartition("/")[0]), "moves": moves}
        shown: Document = {"found": found, "lists": [each.rpartition("/") for each in known], "game": game}
        return await self._views.page(request, "explorer", **shown)

    async def _bots(self, request: Request) -> Response:
        if renamed := _renamed(request):
            return renamed
        filters = ("owner", "search", "online_only")
        found = await self._listed(request, api_routes.BOTS, *filters)
        wanted = {name: request.query_params.get(name, "").strip() for name in filters}
        return await self._views.page(request, "bots", **found, wanted=wanted)

    async def _search(self, request: Request) -> Response:
        text, upstream = request.query_params.get("q", "").strip(), self._upstream
        named, owned, found = await asyncio.gather(
            upstream.ask(upstream.bots.ListBots, bots_pb2.ListBotsRequest(search=text, page_size=_RECENT)),
            upstream.ask(upstream.bots.ListBots, bots_pb2.ListBotsRequest(owner=text or "-", page_size=_RECENT)),
            upstream.ask(
                upstream.tournaments.ListTournaments,
                tournaments_pb2.ListTournamentsRequest(search=text, page_size=_RECENT),
            ),
        )
        found_by = {"bots": named["bots"], "owned": owned["bots"], "tournaments": found["tournaments"]}
        return await self._views.page(request, "search", text=text, **found_by)

    async def _api(self, request: Request) -> Response:
        newest = (
            await self._upstream.ask(
                self._upstream.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest(page_size=10)
            )
        )["tournaments"]
        bots = (await self._upstream.ask(self._upstream.bots.ListBots, bots_pb2.ListBotsRequest(page_size=2)))["bots"]
        tests = (await self._upstream.ask(self._upstream.tests.ListTests, tests_pb2.ListTestsRequest(page_size=1)))[
            "tests"
        ]
        return await self._views.page(request, "api", api=openapi(), newest=newest, bots=bots, tests=tests)

    async def _bot(self, request: Request) -> Response:
        name = bot_name(request.path_params["bot"])
        bot, ratings, games, statistics = await asyncio.gather(
            self._upstream.ask(self._upstream.bots.GetBot, bots_pb2.GetBotRequest(name=name)),
            self._upstream.ask(
                self._upstream.leaderboards.ListBotRatings, leaderboards_pb2.ListBotRatingsRequest(bot=name)
            ),
            self._upstream.ask(
                self._upstream.games.ListGames, games_pb2.ListGamesRequest(parent=name, page_size=_RECENT)
            ),
            self._upstream.ask(
                self._upstream.leaderboards.GetBotStatistics, leaderboards_pb2.GetBotStatisticsRequest(bot=name)
            ),
        )
        histories = await asyncio.gather(
            *(self._history(name, each, bot["versions"]) for each in ratings["ratings"][:_MOST_CURVES])
        )
        shown: Document = {"bot": bot["bot"], "statistics": statistics, "games": games["games"]}
        shown["rivals"] = await self._organising.rivals(request, bot["bot"])
        shown["ratings"] = list(zip_longest(ratings["ratings"], histories))
        shown["submission"] = bot["versions"][0]["submission"] if bot["versions"] else None
        return await self._views.page(request, "bot", **shown)

    async def _history(self, bot: str, place: Document, versions: list[Document]) -> Line | None:
        variant, _, time_class = place["rating_list"].rpartition("/")
        found = await self._upstream.ask(
            self._upstream.leaderboards.GetRatingHistory,
            leaderboards_pb2.GetRatingHistoryRequest(bot=bot, variant=variant, time_class=time_class),
        )
        points = found["points"]
        began = []
        for version in reversed(versions):
            # Timestamps of one length and zone compare as texts. The first version needs no mark.
            since = next((point["games"] for point in points if point["time"] >= version["create_time"]), None)
            if since is not None and points and since > points[0]["games"]:
                began.append((since, words.number(version["name"])))
        return rating_line(points, began)

    async def _against(self, request: Request) -> Response:
        bot, opponent = (bot_name(request.path_params[each]) for each in ("bot", "opponent"))
        tournament = request.query_params.get("tournament", "")
        found, games = await asyncio.gather(
            self._upstream.ask(
                self._upstream.leaderboards.GetHeadToHead,
                leaderboards_pb2.GetHeadToHeadRequest(bot=bot, opponent=opponent),
            ),
            self._upstream.ask(
                self._upstream.games.ListGames,
                games_pb2.ListGamesRequest(
                    parent=bot,
                    opponent=opponent,
                    tournament=tournament_name(tournament) if tournament else "",
                    page_size=_PAGE,
                    page_token=request.query_params.get("page_token", ""),
                ),
            ),
        )
        shown = {"bot": bot, "opponent": opponent, "tournament": tournament, **found, "games": games["games"]}
        return await self._views.page(request, "against", **shown, next_page=_next_page(request, games))

    async def _listed(self, request: Request, route: ApiRoute[Any, Any], *fields: str, **named: str) -> Document:
        """Return the answer of an API route to these fields of the page's query, and `next_page`. Raises Failure."""
        query = ((name, text.strip()) for name, text in request.query_params.multi_items())
        chosen = [(name, text) for name, text in query if name in (*fields, "page_token") and text]
        wanted = request_for(route, {**request.path_params, **named}, [("page_size", str(_PAGE)), *chosen])
        found = document(await self._upstream.call(route.method(self._upstream), wanted))
        return {**found, "next_page": _next_page(request, found)}


def _renamed(request: Request) -> Response | None:
    """Return a redirect if the address has filters under the names that version 1.0 used."""
    query = request.query_params.multi_items()
    if not any(name in _OLD_FILTERS for name, _ in query):
        return None
    renamed = [(_OLD_FILTERS.get(name, name), text) for name, text in query]
    return RedirectResponse(f"{request.url.path}?{urlencode(renamed)}", 308)


def _pictured(request: Request, game: Document, drawn: bytes, kind: str) -> Response:
    caching = _A_DAY if game["state"] == "ended" else "no-cache"
    return answer(request, drawn, kind, {"cache-control": caching, **PICTURE})


def _next_page(request: Request, found: Document) -> str:
    url = request.url.include_query_params(page_token=found["next_page_token"])
    return f"{url.path}?{url.query}" if found["next_page_token"] else ""


def _crosstable(standings: list[Document], cells: list[Document]) -> Crosstable:
    """Return the crosstable of the first entries of the standings."""
    labels = (row["label"] for row in standings[:_MOST_IN_CROSSTABLE])
    return Crosstable(labels, {(each["first"], each["second"]): words.score(each) for each in cells})


def _rounds(matches: list[Document]) -> list[list[Document]]:
    rounds: dict[int, list[Document]] = {}
    for match in matches:
        rounds.setdefault(match["round"], []).append(match)
    return [rounds[number] for number in sorted(rounds)]
