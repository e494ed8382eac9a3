"""The command `noughts tuning delete`."""

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.options.names import TuningArgument, read_tuning
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions


@command(
    example="""
$ noughts tuning delete depth
tunings/depth is deleted.
"""
)
def delete(name: TuningArgument, *, server: ServerOptions, output: OutputOptions) -> None:
    """Delete a tuning with its results. Its name can be used again."""
    tuning = read_tuning(name)
    with server.connected(token_needed=True) as client:
        client.call(client.tunings.DeleteTuning, pb.DeleteTuningRequest(name=tuning))
    output.show({"tuning": tuning, "deleted": True}, f"{tuning} is deleted.")
