"""The command `noughts test wait`."""

from noughts_proto.v1 import tests_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli.command import command
from noughts_server.cli.commands.test.tests import show_test
from noughts_server.cli.options.names import TestArgument, read_test
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.server_games.tournament_end import OVER, verdict, wait_for_end
from noughts_server.core.resource_names import short, tournament_name

_END_STATES = (*OVER, tournaments_pb2.TOURNAMENT_STATE_PAUSED)


@command(
    example="""
$ noughts test wait mybot-1-vs-rival-1
tests/mybot-1-vs-rival-1: mybot@1 against rival@1
finished, ... games played
...
"""
)
def wait(name: TestArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Wait until a test is over or stopped, then show it.

    The exit code is 0 if it accepted H1 or has played all games of --games, 1 if it accepted H0, and 3 if it was
    stopped or cancelled, or is over without a decision. If the command fails, the exit code is 1 as well, and standard
    output is empty.
    """
    request = pb.GetTestRequest(name=read_test(name))
    with server.connected() as client:
        client.call(client.tests.GetTest, request)
        wait_for_end(client, tournament_name(short(request.name)), _END_STATES)
        test = client.call(client.tests.GetTest, request).test
    show_test(output, test)
    if code := verdict(test.tournament):
        raise SystemExit(code)
