"""`noughts serve` shows callers what it offers, unless its options forbid that."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.server.cli.conftest import Refusal


def services(start: Any, database: str, options: str) -> list[str]:
    """Return the answer of a server with these options to a caller."""
    line = f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json --log-level error {options}"
    with start(line) as process:
        address = json.loads(process.stdout.readline())["grpc"]
        try:
            with grpc.insecure_channel(address) as channel:
                return list(ProtoReflectionDescriptorDatabase(channel).get_services())
        finally:
            process.terminate()
            process.communicate(timeout=30)


@pytest.mark.parametrize(
    "options, told",
    [
        ("--no-web --listen 0.0.0.0:0 --insecure", ["--listen 0.0.0.0:", "--proxy"]),
        ("--no-web --listen 0.0.0.0:0 --insecure --proxy 10.0.0.1", []),
        ("--listen 127.0.0.1:0 --web 0.0.0.0:0", ["--web faces the network", "--public-url"]),
        (
            "--listen 127.0.0.1:0 --web 0.0.0.0:0 --proxy 10.0.0.1 --insecure",
            ["tokens of people who sign in can be read", "--public-url"],
        ),
        ("--listen 127.0.0.1:0 --web 0.0.0.0:0 --public-url https://games.example", []),
        ("--listen 127.0.0.1:0 --web 127.0.0.1:0", []),
    ],
)
def test_ports_that_face_the_network_are_reported(start: Any, database: str, options: str, told: list[str]) -> None:
    with start(f"serve {options} --db {database} --format json --log-level error") as process:
        process.stdout.readline()
        process.terminate()
        errors = process.communicate(timeout=30)[1]
    assert len(errors.splitlines()) == bool(told), errors
    assert all(words in errors for words in told), errors


def test_bots_are_sent_to_a_host_and_not_to_all_addresses(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 0.0.0.0:0 --insecure --db {database} --log-level error") as process:
        port = process.stdout.readline().rpartition(":")[2].strip()
        process.terminate()
        assert f"noughts bot run minimax --name mybot --server HOST:{port}" in "".join(process.communicate(timeout=30))


@pytest.mark.parametrize("url", ["games.example", "ftp://games.example", "https://", "https://me@x", "https://x/y", ""])
def test_a_public_url_is_a_scheme_and_a_host(refusal: Refusal, url: str) -> None:
    refusal(f"serve --public-url '{url}' --no-web --listen 127.0.0.1:0", code=2)


def test_services_are_told_by_default(start: Any, database: str) -> None:
    assert "noughts.v1.PlayService" in services(start, database, "")


def test_no_reflection_tells_nothing(start: Any, database: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        services(start, database, "--no-reflection")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
