"""A test of a server, as text and as JSON."""

from functools import partial
from typing import Any

from noughts_proto.v1 import tests_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli import printing
from noughts_server.cli.drawing.openings import OpeningsSummary
from noughts_server.cli.drawing.tournament import (
    conditions_document,
    match_document,
    print_summary,
    state_wording,
    time_wording,
)
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.server_games.tournament_end import OVER
from noughts_server.cli.times import iso, milliseconds
from noughts_server.core.resource_names import short


def show_test(output: OutputOptions, test: pb.Test) -> None:
    output.show(test_document(test), partial(_print_test, test))


def _print_test(test: pb.Test) -> None:
    console, tournament = printing.stdout(), test.tournament
    new, base = typed_version(test.new_version), typed_version(test.base_version)
    printing.heading(console, f"{test.name}: {new} against {base}")
    limit = "at most " if tournament.sprt and tournament.state not in OVER else ""
    conditions = [tournament.variant, f"time {time_wording(tournament)}"]
    if openings := OpeningsSummary.of_message(tournament.openings).wording():
        conditions.append(openings)
    share = f"priority {tournament.priority}, throughput {tournament.throughput} %"
    console.print(
        f"{test_state(tournament)}, {tournament.games_done:,} of {limit}{tournament.games_total:,} games played\n"
        f"{', '.join(conditions)}\n{share}, by {printing.printable(tournament.owner)}",
        soft_wrap=True,
    )
    if offline := offline_versions(tournament):
        console.print(f"Not online: {', '.join(map(typed_version, offline))}", style="yellow")
    print_summary(tournament)


def test_state(tournament: tournaments_pb2.Tournament) -> str:
    return state_wording(tournament).replace("paused", "stopped", 1)


def offline_versions(tournament: tournaments_pb2.Tournament) -> list[str]:
    """Return the versions that the test waits for."""
    return [row.bot_version for row in tournament.standings if row.label in tournament.offline]


def typed_version(version: str) -> str:
    """Return `mybot@2` for `bots/mybot/versions/2`."""
    return short(version).replace("/versions/", "@")


def test_document(test: pb.Test) -> dict[str, Any]:
    tournament, details = test.tournament, test.tournament.match_details
    return {
        "test": test.name,
        "new_version": test.new_version,
        "base_version": test.base_version,
        **conditions_document(tournament),
        "create_time": iso(milliseconds(tournament.create_time)),
        "start_time": iso(milliseconds(tournament.start_time)),
        "end_time": iso(milliseconds(tournament.end_time)),
        "match": match_document(tournament.match) | {"summary": details.summary, "advice": details.advice},
        "offline": offline_versions(tournament),
    }
