"""`noughts health`: whether a server takes calls, for containers and service managers."""

from typing import Annotated, Any

import grpc
from typer import Option

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli import connection_options, output, printing
from noughts_server.cli.client import HINTS, connected
from noughts_server.cli.errors import Problem
from noughts_server.cli.former_command import command
from noughts_server.client.failures import DEADLINE_SECONDS, explain_call


@command(
    example="""
$ noughts health
127.0.0.1:7450 is serving
"""
)
def health(
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Query the server's standard health service; exit code 0 if it is serving, 1 if not."""
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    address = connection_options.read_server(server)
    with connection_options.dialling(address, "").channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)  # its published types know no methods
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=DEADLINE_SECONDS)
        except grpc.RpcError as error:
            raise explain_call(error, address, HINTS) from error
    serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    if serving or output.is_json():
        output.show({"server": address, "status": "serving" if serving else "not_serving"}, f"{address} is serving")
    if not serving:
        raise _why_not(address)


def _why_not(address: str) -> Problem:
    """The health service says only whether."""
    with connected(address) as client:
        status = client.call(client.status.GetStatus, pb.GetStatusRequest())
    if status.database_trouble:
        return Problem(
            (
                f"server {address} is not serving: it starts no games, because of its database: "
                f"{printing.printable(status.database_trouble)}"
            ),
            "Remove the cause; the server then resumes by itself.",
        )
    return Problem(f"server {address} is not serving: it is draining", "Wait until it restarts.")
