"""The page of a tournament, with its tabs, the parts that change while it runs, and its games."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import games_pb2, tournaments_pb2, types_pb2
from noughts_server.competition.formats import format_named
from noughts_server.competition.formats.knockout import EXTRA_PAIRS
from noughts_server.core.messages import Language, in_language
from noughts_server.core.resource_names import tournament_name
from noughts_server.tables.crosstable import Crosstable
from noughts_server.web import api_routes, brackets, words
from noughts_server.web.documents import Document, enum_words, renamed
from noughts_server.web.expected_games import whole_number_of_games
from noughts_server.web.joining import start_order, takes_entries, takes_first_entries
from noughts_server.web.pages.listing import list_page
from noughts_server.web.pages.tournament_actions import permitted_actions
from noughts_server.web.pages.website import OwnHandler, Person, Website
from noughts_server.web.running_stages import Round, current_round, matches_of_round
from noughts_server.web.time_left import minutes_left
from noughts_server.web.upstream import Failure

_PAGE = "tournament/tournament.html.jinja"
_OVERVIEW = "overview"
_GAME_FILTERS = ("entry", "result", "termination", "faults_only")
_MOST_FAULTS = 10
_STOPPED_A_PAGE = 1000
_LAST_GAMES = 8
"""The last games that the overview shows."""
_MOST_STOPPED_SKIPPED = 100
"""The most stopped games that are read to find the last ones that were not stopped."""
_GAMES_OF_PACE = 100
"""The last games of a running tournament, from which the website estimates when it ends."""
_MOST_IN_CROSSTABLE = 40
"""Entries in a page's crosstable; the API returns all of them."""
_ROWS_OF_STANDINGS = 100
_NEXT_STARTS = 5
"""Open tournaments that the page of one that was cancelled before its start names."""
_UNDER_WAY = ("running", "paused")
_REFUSED = (400, 403, 404, 409, 429)
"""Statuses of failures that the page with the form explains."""
_TABS_WITH_MATCHES = (_OVERVIEW, "bracket", "rounds")
"""Tabs whose matches link to their live games."""


async def tournament_page(website: Website, request: Request, failure: Failure | None = None) -> Response:
    """Return the page, with the failure of one of its forms."""
    values = await _known_tournament(website, request, _tab(request))
    return await website.views.page(request, _PAGE, failure, **values)


def on_page(action: OwnHandler) -> OwnHandler:
    """Return the action of a form on the page of a tournament. If the server refuses it, the page says why."""

    async def answer(website: Website, request: Request, person: Person) -> Response:
        try:
            return await action(website, request, person)
        except Failure as failure:
            if failure.status not in _REFUSED:
                raise
            return await tournament_page(website, request, failure)

    return answer


async def tournament_parts(website: Website, request: Request) -> Response:
    """Return the parts of the page that changed."""
    values = await _known_tournament(website, request, _tab(request))
    return await website.views.parts(request, _PAGE, **values)


async def games_page(website: Website, request: Request) -> Response:
    values, page = await asyncio.gather(
        _known_tournament(website, request, "games"),
        list_page(website, request, api_routes.TOURNAMENT_GAMES, "after", *_GAME_FILTERS),
    )
    games: Document = {
        **values,
        **page,
        "filters": {name: text for name in _GAME_FILTERS if (text := request.query_params.get(name))},
        "endings": enum_words(types_pb2.Termination.DESCRIPTOR),
    }
    return await website.views.page(request, _PAGE, **games)


def _tab(request: Request) -> str:
    return request.query_params.get("tab", _OVERVIEW)


async def _known_tournament(website: Website, request: Request, tab: str) -> Document:
    """Return the values that all tabs need, and those of this tab. Raises Failure."""
    upstream = website.upstream
    name = tournament_name(request.path_params["tournament"])
    get_tournament = tournaments_pb2.GetTournamentRequest(name=name, show_story=tab == _OVERVIEW)
    get_crosstable = tournaments_pb2.GetCrosstableRequest(name=name, top=_MOST_IN_CROSSTABLE)
    list_faults = games_pb2.ListGamesRequest(parent=name, faults_only=True, page_size=_MOST_FAULTS)
    response = await upstream.ask(upstream.tournaments.GetTournament, get_tournament)
    # Read after the tournament, so that a finished one has its whole bracket.
    crosstable, faults = await asyncio.gather(
        upstream.ask(upstream.tournaments.GetCrosstable, get_crosstable),
        upstream.ask(upstream.games.ListGames, list_faults),
    )
    # The standings, the bracket and the crosstable are those of one moment.
    tournament = {**response["tournament"], "standings": crosstable["standings"]}
    if not tournament["start_time"]:
        # Entries have no ranks before the start.
        tournament["standings"] = sorted(tournament["standings"], key=_rating, reverse=True)
    desk = await permitted_actions(website, request, tournament, crosstable)
    live = await _live_games(website, tournament) if tab in _TABS_WITH_MATCHES else ([], [])
    stopped_games = await _stopped_games(website, tournament)
    last: list[Document] = []
    left: int | None = None
    if tab == _OVERVIEW and tournament["state"] != "open":
        last, left = await _last_games(website, tournament, stopped_games, has_boards=bool(live[0]))
    language = website.views.language(request, _PAGE)
    # The filters of the list of games need the labels.
    names = {} if tab == "games" else _names_of_guests(tournament, language)
    if names:
        tournament, crosstable, faults = (renamed(each, names) for each in (tournament, crosstable, faults))
        live, last = (renamed(live[0], names), live[1]), renamed(last, names)
    crosstable = {**crosstable, "matches": brackets.without_stopped(crosstable["matches"], stopped_games)}
    before = _rows_before(request)
    rounds = _rounds(brackets.with_extra_games(crosstable["matches"], tournament["games_per_pair"]))
    pairings = _rounds(brackets.with_extra_games(crosstable["encounters"], tournament["games_per_pair"]))
    seeds = brackets.seeds(rounds)
    rounds = brackets.better_seeds_first(rounds, seeds)
    round_names = brackets.names_of_rounds(rounds) or [Round(each[0]["round"]) for each in pairings]
    return {
        "tab": tab,
        "tournament": tournament,
        "before": before,
        "standings": tournament["standings"][before : before + _ROWS_OF_STANDINGS],
        "takes_entries": takes_first_entries(tournament),
        "takes_late_entries": tournament["state"] in _UNDER_WAY and takes_entries(tournament),
        "desk": desk,
        "crosstable": _crosstable(tournament["standings"], crosstable["cells"]),
        "rounds": rounds,
        "round_names": round_names,
        "most_extra_games": 2 * EXTRA_PAIRS,
        "stages": {name.number: name for name in round_names},
        "seeds": seeds,
        "reached": brackets.reached(rounds),
        "current_round": current_round(tournament, crosstable) if tournament["state"] in _UNDER_WAY else None,
        "matches_of_round": matches_of_round(crosstable["matches"]),
        "cancelled_in": current_round(tournament, crosstable) if tournament["state"] == "cancelled" else None,
        "next_starts": await _next_starts(website, tournament) if tab == _OVERVIEW else [],
        "stopped_games": stopped_games,
        "stopped_bots": brackets.losers(stopped_games),
        "boards": live[0],
        "live_games": live[1],
        "pairings": pairings,
        "faults": faults["games"],
        "last": last,
        "minutes_left": left,
        "story": await website.stories.of(upstream, tournament, crosstable["matches"], language, names),
        "more_faults": bool(faults["next_page_token"]),
    }


def _rating(row: Document) -> float:
    """Return the rating of an entry; entries without one are last."""
    return -1 if row["rating"] is None else float(row["rating"])


def _names_of_guests(tournament: Document, language: Language) -> dict[str, str]:
    """Return the shown names of both players of a game in the browser, by label; empty for other tournaments."""
    labels = [row["label"] for row in tournament["standings"]]
    if len(labels) != 2:
        return {}
    with in_language(language):
        names = {label: words.player(label, tournament) for label in labels}
    return {label: name for label, name in names.items() if label != name}


async def _last_games(
    website: Website, tournament: Document, stopped_games: Sequence[Document], *, has_boards: bool
) -> tuple[list[Document], int | None]:
    """Return the last games that were played to an end, newest first, and how many minutes the others take if known."""
    runs = tournament["state"] == "running"
    is_bracket = format_named(str(tournament["schedule"])).places_by_bracket
    # Below live boards, the games fill one row, so that the rest of the page does not move. A row below a running
    # bracket is as wide as the page; next to the standings of a bracket or of two bots there is room for one row.
    has_short_row = not runs if is_bracket else has_boards or len(tournament["standings"]) == 2
    shown = _LAST_GAMES // 2 if has_short_row else _LAST_GAMES
    count = _GAMES_OF_PACE if runs else shown + min(len(stopped_games), _MOST_STOPPED_SKIPPED)
    after = max(0, tournament["games_done"] - count)
    request = games_pb2.ListGamesRequest(parent=tournament["name"], after=after, page_size=count)
    games: list[Document] = (await website.upstream.ask(website.upstream.games.ListGames, request))["games"]
    stopped = {game["name"] for game in stopped_games}
    played = [game for game in reversed(games) if game["name"] not in stopped]
    return played[:shown], _minutes_left(tournament, games) if runs else None


def _minutes_left(tournament: Document, games: Sequence[Document]) -> int | None:
    start = tournament["start_time"]
    return minutes_left(
        datetime.fromisoformat(start) if start else None,
        [datetime.fromisoformat(game["end_time"]) for game in games if game["end_time"]],
        tournament["games_done"],
        whole_number_of_games(tournament),
        datetime.now(UTC),
    )


async def _stopped_games(website: Website, tournament: Document) -> list[Document]:
    """Return the games that the organiser of the cancelled tournament stopped: its bots lost them."""
    if tournament["state"] != "cancelled" or not tournament["rated"] or not tournament["games_done"]:
        return []
    request = games_pb2.ListGamesRequest(parent=tournament["name"], stopped_only=True, page_size=_STOPPED_A_PAGE)
    games: list[Document] = []
    while True:
        page = await website.upstream.ask(website.upstream.games.ListGames, request)
        games += page["games"]
        if not page["next_page_token"]:
            return games
        request.page_token = page["next_page_token"]


async def _next_starts(website: Website, tournament: Document) -> list[Document]:
    """Return the open tournaments that start first, if this one was cancelled before its start."""
    if tournament["state"] != "cancelled" or tournament["start_time"]:
        return []
    request = tournaments_pb2.ListTournamentsRequest(state=tournaments_pb2.TOURNAMENT_STATE_OPEN)
    opened = await website.upstream.ask(website.upstream.tournaments.ListTournaments, request)
    return sorted(opened["tournaments"], key=start_order)[:_NEXT_STARTS]


async def _live_games(website: Website, tournament: Document) -> tuple[list[Document], list[int]]:
    """Return the live games that the page shows as boards, and the numbers of all of them."""
    if tournament["state"] == "running":
        with suppress(Failure):
            snapshot = await website.hub.snapshot_of(tournament["name"])
            return boards_of(snapshot["games"]), [
                number for each in snapshot["tournaments"] for number in each["live_games"]
            ]
    return [], []


def boards_of(games: list[Document]) -> list[Document]:
    """Return the games that are not over; if all are over, all of them.

    `boardsOf` in `tournament.js` continues from these boards, and holds results, which needs a page that stays open.
    """
    return [game for game in games if game["state"] != "ended"] or list(games)


def _rows_before(request: Request) -> int:
    """Return how many rows of the standings precede the page's first one."""
    row = request.query_params.get("row", "")
    return int(row) - 1 if row.isascii() and row.isdigit() and 0 < len(row) < 8 and int(row) else 0


def _crosstable(standings: list[Document], cells: list[Document]) -> Crosstable:
    """Return the crosstable of the first entries of the standings."""
    labels = (row["label"] for row in standings[:_MOST_IN_CROSSTABLE])
    return Crosstable(labels, {(cell["first"], cell["second"]): words.score(cell) for cell in cells})


def _rounds(matches: list[Document]) -> list[list[Document]]:
    """Return the matches by round, in the order of the rounds."""
    rounds: dict[int, list[Document]] = {}
    for match in matches:
        rounds.setdefault(match["round"], []).append(match)
    return [rounds[number] for number in sorted(rounds)]
