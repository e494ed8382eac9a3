"""The command `noughts test stop`."""

from noughts_proto.v1 import tests_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.test.tests import show_test
from noughts_server.cli.options.game import NowOption
from noughts_server.cli.options.names import TestArgument, read_test
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts test stop later
tests/later: mybot@1 against absent@1
stopped, 0 of 200 games played
...
"""
)
def stop(name: TestArgument, now: NowOption = False, *, server: ServerOptions, output: OutputOptions) -> None:
    """Stop a test: running games finish, no new ones start. `test resume` continues it.

    `noughts tournament cancel ID` ends it permanently.
    """
    request = pb.StopTestRequest(name=read_test(name), now=now)
    with server.connected() as client:
        test = client.call(client.tests.StopTest, request).test
    show_test(output, test)
