"""The connection's settings."""

from pathlib import Path

import grpc
import pytest

from noughts_proto.transport import CLIENT_OPTIONS, SERVER_OPTIONS


@pytest.mark.parametrize("name", sorted({name for name, _ in (*CLIENT_OPTIONS, *SERVER_OPTIONS)}))
def test_grpc_knows_the_name_of_each_option(name: str) -> None:
    # It ignores those that it does not know without a word: a server then throws idle clients out.
    [library] = [path for path in Path(grpc.__file__).parent.glob("_cython/cygrpc*") if path.suffix in (".so", ".pyd")]
    assert name.encode() in library.read_bytes()


def test_server_allows_the_pings_that_clients_send() -> None:
    allowed = dict(SERVER_OPTIONS)["grpc.http2.min_ping_interval_without_data_ms"]
    assert int(allowed) < int(dict(CLIENT_OPTIONS)["grpc.keepalive_time_ms"])
