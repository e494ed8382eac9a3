"""A server with games and its tools over HTTP, made once for all tests of a module."""

from collections.abc import Iterator

import pytest

from noughts_server.testing import ServerUnderTest, serving
from tests.support.agents import tools_over_http


@pytest.fixture(scope="module")
def server() -> Iterator[ServerUnderTest]:
    """A server where `pascal` and `random` have played."""
    with serving(heartbeat=60.0, grace=60.0) as running:
        running.match("pascal", "random", games=8, seed=3)
        yield running


@pytest.fixture(scope="module")
def url(server: ServerUnderTest) -> Iterator[str]:
    """The address of the tools."""
    with tools_over_http(server.address) as url:
        yield url
