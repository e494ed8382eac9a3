"""The gRPC options of clients and servers."""

from pathlib import Path

import grpc
import pytest

from noughts_proto.transport import CLIENT_OPTIONS, SERVER_OPTIONS


@pytest.mark.parametrize("name", sorted({name for name, _ in (*CLIENT_OPTIONS, *SERVER_OPTIONS)}))
def test_grpc_knows_the_name_of_each_option(name: str) -> None:
    # gRPC silently ignores unknown options: with a wrong name, a server would disconnect idle clients.
    [library] = [path for path in Path(grpc.__file__).parent.glob("_cython/cygrpc*") if path.suffix in (".so", ".pyd")]
    assert name.encode() in library.read_bytes()


def test_server_allows_the_pings_that_clients_send() -> None:
    allowed = dict(SERVER_OPTIONS)["grpc.http2.min_ping_interval_without_data_ms"]
    assert int(allowed) < int(dict(CLIENT_OPTIONS)["grpc.keepalive_time_ms"])
