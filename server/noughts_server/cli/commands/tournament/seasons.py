"""The command `noughts tournament seasons`."""

from functools import partial
from typing import Any

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import clock, iso, milliseconds
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
def seasons(name: TournamentArgument, *, server: ServerOptions, output: ListOptions) -> None:
    """List the seasons of a tournament that repeats, newest first. NAME can be any of them."""
    request = pb.ListSeasonsRequest(name=read_tournament(name))
    with server.connected() as client:
        league = client.call(client.tournaments.ListSeasons, pb.ListSeasonsRequest(name=request.name, page_size=1))
        if not league.league:
            hint = "Create one that does: noughts tournament create NAME --repeat weekly"
            raise Problem(f"{request.name} does not repeat, so it has no seasons", hint)
        pages = partial(client.list_items, client.tournaments.ListSeasons, request, lambda page: page.seasons)
        rows = list(output.limited(pages))
    document = {
        "league": league.league,
        "repeat": "weekly",
        "stopped": league.stopped,
        "reason": league.reason,
        "seasons": list(map(_document, rows)),
    }
    output.show(document, lambda: _print(league, rows))


def _print(league: pb.ListSeasonsResponse, rows: list[pb.Season]) -> None:
    state = "repeats weekly"
    if league.stopped:
        state = f"stopped: {league.reason}" if league.reason else "stopped"
    printing.heading(printing.stdout(), f"{short(league.league)}: {state}")
    columns = (">season", "tournament", "state", "starts", ">bots", ">games", "winner")
    printing.print_rows(columns, map(_row, rows), "No seasons yet.")


def _row(season: pb.Season) -> tuple[object, ...]:
    start_ms = milliseconds(season.start_time) or milliseconds(season.start_at)
    return (
        season.number,
        short(season.tournament),
        _state(season),
        clock(start_ms) if start_ms else "",
        season.entries,
        f"{season.games_done:,}",
        ", ".join(season.winners) or season.winner,
    )


def _state(season: pb.Season) -> str:
    return pb.TournamentState.Name(season.state).removeprefix("TOURNAMENT_STATE_").lower()


def _document(season: pb.Season) -> dict[str, Any]:
    return {
        "season": season.number,
        "tournament": season.tournament,
        "title": season.title,
        "state": _state(season),
        "start_at": iso(milliseconds(season.start_at)),
        "start_time": iso(milliseconds(season.start_time)),
        "end_time": iso(milliseconds(season.end_time)),
        "entries": season.entries,
        "games": season.games_done,
        "winner": season.winner or None,
        "winners": list(season.winners),
    }
