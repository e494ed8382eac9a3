"""`noughts serve` tells callers what it offers, unless it is told not to."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


def services(start: Any, database: str, options: str) -> list[str]:
    """What a caller is told by a server with these options."""
    line = f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json --log-level error {options}"
    with start(line) as process:
        address = json.loads(process.stdout.readline())["grpc"]
        try:
            with grpc.insecure_channel(address) as channel:
                return list(ProtoReflectionDescriptorDatabase(channel).get_services())
        finally:
            process.terminate()
            process.communicate(timeout=30)


def test_services_are_told_by_default(start: Any, database: str) -> None:
    assert "noughts.v1.PlayService" in services(start, database, "")


def test_no_reflection_tells_nothing(start: Any, database: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        services(start, database, "--no-reflection")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
