"""`noughts tournament seasons` and `stop-repeating`: tournaments that repeat."""

from functools import partial
from typing import Any

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.errors import Problem
from noughts_server.cli.former_command import command
from noughts_server.cli.options.names import TournamentArgument
from noughts_server.cli.options.output import LimitOption
from noughts_server.cli.times import clock, iso, milliseconds
from noughts_server.cli.typed_names import read_tournament
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts tournament create thursdays --repeat weekly
...
$ noughts tournament seasons thursdays
thursdays: repeats weekly
season  tournament  state  starts  bots  games  winner
...
     1  thursdays   open              0      0
"""
)
def seasons(name: TournamentArgument, limit: LimitOption = None, at: AtServer = AtServer()) -> None:
    """List the seasons of a tournament that repeats, newest first. NAME can be any of them."""
    request = pb.ListSeasonsRequest(name=read_tournament(name))
    with at.connected() as client:
        league = client.call(client.tournaments.ListSeasons, pb.ListSeasonsRequest(name=request.name, page_size=1))
        if not league.league:
            hint = "Create one that does: noughts tournament create NAME --repeat weekly"
            raise Problem(f"{request.name} does not repeat, so it has no seasons", hint)
        pages = partial(client.each, client.tournaments.ListSeasons, request, lambda page: page.seasons)
        found = list(options.limited(pages, limit))
    stopped = f"stopped{f': {league.reason}' if league.reason else ''}"
    document = {
        "league": league.league,
        "repeat": "weekly",
        "stopped": league.stopped,
        "reason": league.reason,
        "seasons": list(map(_document, found)),
    }

    def show() -> None:
        printing.heading(
            printing.stdout(), f"{short(league.league)}: {stopped if league.stopped else 'repeats weekly'}"
        )
        columns = (">season", "tournament", "state", "starts", ">bots", ">games", "winner")
        printing.print_rows(columns, map(_row, found), "No seasons yet.")

    output.show(document, show)


@command(
    example="""
$ noughts tournament stop-repeating thursdays
tournaments/thursdays
cancelled: its league was stopped
...
"""
)
def stop_repeating(name: TournamentArgument, at: AtServer) -> None:
    """Stop a tournament from repeating. A season that waits for its start is cancelled; a running one continues."""
    request = pb.StopRepeatingRequest(name=read_tournament(name))
    with at.connected() as client:
        newest = client.call(client.tournaments.StopRepeating, request).tournament
        show_tournament(client, newest)


def _state(season: pb.Season) -> str:
    return pb.TournamentState.Name(season.state).removeprefix("TOURNAMENT_STATE_").lower()


def _row(season: pb.Season) -> tuple[object, ...]:
    began = milliseconds(season, "start_time") or milliseconds(season, "start_at")
    moment = clock(began) if began else ""
    games = f"{season.games_done:,}"
    winners = ", ".join(season.winners) or season.winner
    return season.number, short(season.tournament), _state(season), moment, season.entries, games, winners


def _document(season: pb.Season) -> dict[str, Any]:
    return {
        "season": season.number,
        **printing.picked(season, "tournament", "title"),
        "state": _state(season),
        "start_at": iso(milliseconds(season, "start_at")),
        "start_time": iso(milliseconds(season, "start_time")),
        "end_time": iso(milliseconds(season, "end_time")),
        "entries": season.entries,
        "games": season.games_done,
        "winner": season.winner or None,
        "winners": list(season.winners),
    }
