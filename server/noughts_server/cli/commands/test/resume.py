"""The command `noughts test resume`."""

from noughts_proto.v1 import tests_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.test.tests import show_test
from noughts_server.cli.options.names import TestArgument, read_test
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts test resume later
tests/later: mybot@1 against absent@1
running, 0 of 200 games played
...
"""
)
def resume(name: TestArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Resume a stopped test."""
    with server.connected() as client:
        test = client.call(client.tests.ResumeTest, pb.ResumeTestRequest(name=read_test(name))).test
    show_test(output, test)
