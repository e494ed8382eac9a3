"""`noughts health`: whether a server takes calls, for containers and service managers."""

from typing import Any

import grpc

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import HINTS, AddressOptions
from noughts_server.client.failures import DEADLINE_SECONDS, explain_call


@command(
    example="""
$ noughts health
127.0.0.1:7450 is serving
"""
)
def health(
    *,
    server: AddressOptions,
    output: OutputOptions,
) -> None:
    """Query the server's standard health service; exit code 0 if it is serving, 1 if not."""
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    address = server.address
    with server.dialling("").channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)  # The published types of the package lack its methods.
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=DEADLINE_SECONDS)
        except grpc.RpcError as error:
            raise explain_call(error, address, HINTS) from error
    serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    if serving or output.is_json:
        output.show({"server": address, "status": "serving" if serving else "not_serving"}, f"{address} is serving")
    if not serving:
        raise _reason(server)


def _reason(server: AddressOptions) -> Problem:
    """Return why the server is not serving, which its health service does not say."""
    with server.connected() as client:
        status = client.call(client.status.GetStatus, pb.GetStatusRequest())
    if status.database_trouble:
        return Problem(
            f"server {server.address} is not serving: it starts no games, because of its database: "
            f"{printing.printable(status.database_trouble)}",
            "Remove the cause; the server then resumes by itself.",
        )
    return Problem(f"server {server.address} is not serving: it is draining", "Wait until it restarts.")
