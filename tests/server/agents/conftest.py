"""Fixtures of a module: a server with games, and the address of its tools over HTTP."""

from collections.abc import Iterator

import pytest

from noughts_server.testing import ServerUnderTest, serving
from tests.support.agents import tools_over_http


@pytest.fixture(scope="module")
def server() -> Iterator[ServerUnderTest]:
    """A server that has stored 8 games of `pascal` against `random`."""
    with serving(heartbeat=60.0, reconnect_timeout=60.0) as running:
        running.match("pascal", "random", games=8, seed=3)
        yield running


@pytest.fixture(scope="module")
def url(server: ServerUnderTest) -> Iterator[str]:
    """The URL of the tools that this server offers over HTTP."""
    with tools_over_http(server.address) as url:
        yield url
