"""The command `noughts test list`."""

from functools import partial
from typing import Annotated

from typer import Option

from noughts_proto.v1 import tests_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.test.tests import test_document, test_state, typed_version
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts test list
test...state...new...base...priority  share  variant...games...LLR...nElo
...
later...running...mybot@1  absent@1...
mybot-1...H1...mybot@1  rival@1...
...
"""
)
def list_tests(
    owner: Annotated[str, Option("--owner", metavar="NAME", help="Only tests of this owner")] = "",
    *,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List the queue of tests: running ones by priority and age, then stopped ones, then the last to end."""
    with server.connected() as client:
        request = pb.ListTestsRequest(owner=owner)
        pages = partial(client.list_items, client.tests.ListTests, request, lambda page: page.tests)
        tests = list(output.limited(pages))
    columns = ("test", "state", "new", "base", ">priority", ">share", "variant", ">games", ">LLR", ">nElo")
    output.show_rows(
        {"tests": [test_document(test) for test in tests]},
        columns,
        map(_row, tests),
        "No tests yet. Create one: noughts test create NEW BASE",
    )


def _row(test: pb.Test) -> tuple[object, ...]:
    tournament, match = test.tournament, test.tournament.match
    return (
        short(test.name),
        f"{match.sprt.decision} accepted" if match.sprt.decision in ("H0", "H1") else test_state(tournament),
        typed_version(test.new_version),
        typed_version(test.base_version),
        tournament.priority,
        f"{tournament.throughput} %",
        tournament.variant,
        f"{tournament.games_done:,}",
        f"{match.sprt.llr:.2f}" if match.sprt.decision else "",
        f"{match.normalized_elo:+.0f}" if match.HasField("normalized_elo") else "",
    )
