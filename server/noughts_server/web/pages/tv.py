"""Screens for a hall and for streams: boards, standings, the next start and a QR code, in full screen."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_server.competition.formats import format_of
from noughts_server.core.resource_names import tournament_name
from noughts_server.drawing.board_svg import with_board
from noughts_server.web.documents import Document, document
from noughts_server.web.forms import whole_number
from noughts_server.web.home_games import tournament_of
from noughts_server.web.pages.website import Website
from noughts_server.web.upstream import Failure
from noughts_server.web.words import short

_BOARDS = (1, 4, 9)
_LONGEST_DELAY = 100
"""In moves."""
_LAST_GAMES = 50
"""The last games among which those to replay are chosen."""
_REPLAYS = 9
_ROWS = 16
"""Rows of the standings."""
_NEWEST = 5
"""Newest tournaments that the screen lists if none is running."""
_LEADERS = 3
"""Rows of the standings of each running tournament on the screen of all live games."""
_STARTS = 50
"""Open tournaments among which the next start is chosen."""


async def tv_page(website: Website, request: Request) -> Response:
    """Return the screen of all live games."""
    content, upcoming = await asyncio.gather(website.front_page.content(), _next_start(website))
    replays = _best_games(content["finished"])
    values: Document = {
        "title": "Noughts",
        "variant": "",
        "variants": {each["variant"] for each in (*content["all_running"], *replays)},
        "home": "/",
        "events": "/api/v1/featured/events",
        "standings": [],
        "leaders": _leaders(content),
        "stages": content["running_stages"],
        "running": running_tournaments(content),
        "rows": len(content["all_running"]),
        "newest": content["tournaments"][:_NEWEST],
        "next": upcoming,
        "live": _running(content["live"]),
        "replays": replays,
    }
    return await _screen(website, request, values)


async def tournament_tv_page(website: Website, request: Request) -> Response:
    """Return the screen of a tournament."""
    upstream = website.upstream
    name = tournament_name(request.path_params["tournament"])
    get_tournament = tournaments_pb2.GetTournamentRequest(name=name)
    tournament = (await upstream.ask(upstream.tournaments.GetTournament, get_tournament))["tournament"]
    after = max(0, tournament["games_done"] - _LAST_GAMES)
    list_last = games_pb2.ListGamesRequest(parent=name, after=after, page_size=_LAST_GAMES)
    last, upcoming = await asyncio.gather(
        upstream.ask(upstream.games.ListGames, list_last), _next_start(website, tournament)
    )
    values: Document = {
        "title": tournament["title"] or short(name),
        "variant": tournament["variant"],
        "variants": set(),
        "home": f"/{name}",
        "events": f"/api/v1/{name}/events",
        "standings": tournament["standings"][:_ROWS],
        "leaders": {},
        "stages": {},
        "running": [],
        "rows": len(tournament["standings"]),
        "newest": [],
        "next": upcoming,
        "live": await _live_games(website, tournament),
        "replays": _best_games(with_board({**game, "state": "ended"}) for game in last["games"]),
    }
    return await _screen(website, request, values)


def running_tournaments(content: Document) -> list[Document]:
    """Return the running tournaments: first those of live games, then others with games, last those without games.

    Only those are returned whose standings are known.
    """
    on_boards = {tournament_of(game) for game in content["live"]}
    known = [each for each in content["all_running"] if each["name"] in content["tournaments_by_name"]]
    return sorted(known, key=lambda each: (each["name"] not in on_boards, each["games_done"] == 0))


def _leaders(content: Document) -> dict[str, list[Document]]:
    """Return the best rows of the standings of each running tournament by its name; brackets have no leader."""
    known = [content["tournaments_by_name"][each["name"]] for each in running_tournaments(content)]
    return {
        each.name: document(each)["standings"][:_LEADERS]
        for each in known
        if not format_of(each.schedule).places_by_bracket
    }


async def _live_games(website: Website, tournament: Document) -> int:
    """Return how many games of a tournament are live; 0 if the feed does not answer."""
    if tournament["state"] == "running":
        with suppress(Failure):
            return _running((await website.hub.snapshot_of(tournament["name"]))["games"])
    return 0


def _running(games: Iterable[Document]) -> int:
    return sum(game["state"] == "running" for game in games)


async def _screen(website: Website, request: Request, values: Document) -> Response:
    """Return the page with the numbers of boards and of delayed moves of its address. Raises Failure."""
    query = request.query_params
    boards = whole_number("boards", query.get("boards", "4"), _BOARDS[0], _BOARDS[-1])
    if boards not in _BOARDS:
        raise Failure(400, f"parameter boards: got {boards}, expected 1, 4 or 9")
    overlay = query.get("overlay", "")
    if overlay not in ("", "board"):
        raise Failure(400, f"parameter overlay: got {overlay[:100]!r}, expected board")
    delay = whole_number("delay", query.get("delay", "0"), 0, _LONGEST_DELAY)
    if boards > _BOARDS[1]:
        values["events"] += f"?boards={boards}"
    return await website.views.page(
        request, "tv.html.jinja", **values, boards=boards, delay=delay, overlay=bool(overlay)
    )


async def _next_start(website: Website, tournament: Document | None = None) -> Document | None:
    """Return the open tournament with the next scheduled start: this one, or any of the newest; None without any."""
    upstream = website.upstream
    if tournament is not None and tournament["state"] == "open" and tournament["start_at"]:
        return tournament
    list_open = tournaments_pb2.ListTournamentsRequest(state=tournaments_pb2.TOURNAMENT_STATE_OPEN, page_size=_STARTS)
    opened: list[Document] = (await upstream.ask(upstream.tournaments.ListTournaments, list_open))["tournaments"]
    scheduled = [each for each in opened if each["start_at"]]
    return min(scheduled, key=lambda each: str(each["start_at"]), default=None)


def _best_games(games: Iterable[Document]) -> list[Document]:
    """Return the games to replay: the longest ones that were won on the board, then the other long ones."""
    with_moves = [game for game in games if game["moves"] and game["board"] is not None]
    with_moves.sort(key=lambda game: (game["termination"] == "line", len(game["moves"])), reverse=True)
    fields = (
        "name", "variant", "board", "first", "second", "moves", "times_us", "first_time", "second_time",
        "time_factor", "opening_plies", "result", "termination", "winning_cells", "winning_lines", "state",
    )  # fmt: skip
    return [{**{field: game[field] for field in fields}, "scores": {}} for game in with_moves[:_REPLAYS]]
