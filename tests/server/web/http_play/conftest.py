"""A server and its website for bots that play over HTTP."""

from collections.abc import Iterator

import pytest

from noughts_server.testing import ServerUnderTest, serving
from tests.support.http_bots import Organiser, organiser_at
from tests.support.site import Site, site_of


@pytest.fixture(scope="module")
def server() -> Iterator[ServerUnderTest]:
    with serving(reconnect_timeout=60.0) as running:
        yield running


@pytest.fixture(scope="module")
def site(server: ServerUnderTest) -> Iterator[Site]:
    with site_of(server.address) as running:
        yield running


@pytest.fixture(scope="module")
def organiser(server: ServerUnderTest) -> Iterator[Organiser]:
    with organiser_at(server) as running:
        yield running
