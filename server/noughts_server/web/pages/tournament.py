"""The page of a tournament, with its tabs, the parts that change while it runs, and its games."""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import games_pb2, tournaments_pb2, types_pb2
from noughts_server.core.resource_names import tournament_name
from noughts_server.tables.crosstable import Crosstable
from noughts_server.web import api_routes, words
from noughts_server.web.documents import Document, enum_words
from noughts_server.web.pages.listing import listed
from noughts_server.web.pages.tournament_actions import permitted_actions
from noughts_server.web.pages.website import Website
from noughts_server.web.upstream import Failure

_OVERVIEW = "overview"
_GAME_FILTERS = ("entry", "result", "termination", "faults_only")
_FAULTS = 10
_LAST = 8
_MOST_IN_CROSSTABLE = 40
"""Entries in a page's crosstable; the API returns all of them."""
_STANDINGS = 100


async def tournament_page(website: Website, request: Request) -> Response:
    known = await _known_tournament(website, request)
    boards = await _live_games(website, known["tournament"]) if known["tab"] == _OVERVIEW else []
    return await website.views.page(request, "tournament/tournament.html.jinja", **known, boards=boards)


async def tournament_parts(website: Website, request: Request) -> Response:
    """Return the parts of the page that changed."""
    known = await _known_tournament(website, request)
    return await website.views.parts(request, "tournament/tournament.html.jinja", **known, boards=[])


async def games_page(website: Website, request: Request) -> Response:
    known, page = await asyncio.gather(
        _known_tournament(website, request),
        listed(website, request, api_routes.TOURNAMENT_GAMES, "after", *_GAME_FILTERS),
    )
    games: Document = {
        **known,
        **page,
        "tab": "games",
        "boards": [],
        "filters": {name: text for name in _GAME_FILTERS if (text := request.query_params.get(name))},
        "endings": enum_words(types_pb2.Termination.DESCRIPTOR),
    }
    return await website.views.page(request, "tournament/tournament.html.jinja", **games)


async def _known_tournament(website: Website, request: Request) -> Document:
    """Return what all tabs show of the tournament. Raises Failure."""
    upstream = website.upstream
    name = tournament_name(request.path_params["tournament"])
    get_crosstable = tournaments_pb2.GetCrosstableRequest(name=name, top=_MOST_IN_CROSSTABLE)
    list_faults = games_pb2.ListGamesRequest(parent=name, faults_only=True, page_size=_FAULTS)
    got, crosstable, faults = await asyncio.gather(
        upstream.ask(upstream.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)),
        upstream.ask(upstream.tournaments.GetCrosstable, get_crosstable),
        upstream.ask(upstream.games.ListGames, list_faults),
    )
    tournament, tab = got["tournament"], request.query_params.get("tab", _OVERVIEW)
    before = _rows_before(request)
    return {
        "tab": tab,
        "tournament": tournament,
        "before": before,
        "standings": tournament["standings"][before : before + _STANDINGS],
        "desk": await permitted_actions(website, request, tournament),
        "crosstable": _crosstable(tournament["standings"], crosstable["cells"]),
        "rounds": _rounds(crosstable["matches"]),
        "encounters": _rounds(crosstable["encounters"]),
        "faults": faults["games"],
        "last": await _last_games(website, tournament) if tab == _OVERVIEW and tournament["state"] != "open" else [],
        "more_faults": bool(faults["next_page_token"]),
    }


async def _last_games(website: Website, tournament: Document) -> list[Document]:
    # One row while the tournament runs, so that what follows stays where it is.
    most = _LAST // 2 if tournament["state"] == "running" else _LAST
    after = max(0, tournament["games_done"] - most)
    last = games_pb2.ListGamesRequest(parent=tournament["name"], after=after, page_size=most)
    games: list[Document] = (await website.upstream.ask(website.upstream.games.ListGames, last))["games"]
    return games


async def _live_games(website: Website, tournament: Document) -> list[Document]:
    """Return the live games that the page shows as boards."""
    if tournament["state"] == "running":
        with suppress(Failure):
            return list((await website.hub.known(tournament["name"]))["games"])
    return []


def _rows_before(request: Request) -> int:
    """Return how many rows of the standings precede the page's first one."""
    row = request.query_params.get("row", "")
    return int(row) - 1 if row.isascii() and row.isdigit() and 0 < len(row) < 8 and int(row) else 0


def _crosstable(standings: list[Document], cells: list[Document]) -> Crosstable:
    """Return the crosstable of the first entries of the standings."""
    labels = (row["label"] for row in standings[:_MOST_IN_CROSSTABLE])
    return Crosstable(labels, {(each["first"], each["second"]): words.score(each) for each in cells})


def _rounds(matches: list[Document]) -> list[list[Document]]:
    rounds: dict[int, list[Document]] = {}
    for match in matches:
        rounds.setdefault(match["round"], []).append(match)
    return [rounds[number] for number in sorted(rounds)]
