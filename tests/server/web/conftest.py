"""A server with finished games, its website and a browser, each started once for all tests of a module."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from noughts_server.testing import ServerUnderTest, serving
from noughts_server.web import board_png, bot_login, browser_player, event_streams, upstream
from noughts_server.web.play_tables import TableSettings
from tests.support.browser import chromium
from tests.support.patience import PATIENCE
from tests.support.site import Site, site_of


@pytest.fixture(scope="module", autouse=True)
def patient_sites() -> Iterator[None]:
    """Websites wait for their server as long as tests do.

    The first ratings and the first SPRT of a process load scipy, which can take longer than the usual limit if the
    machine is loaded.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in (event_streams, upstream):
            patch.setattr(module, "DEADLINE_SECONDS", PATIENCE)
        for module in (bot_login, browser_player):
            patch.setattr(module, "_TIMEOUT_SECONDS", PATIENCE)
        patch.setattr(board_png, "_SECONDS", PATIENCE)
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[ServerUnderTest]:
    """A server with two finished matches: `pascal - random` in tictactoe, and one of Connect Four."""
    # Long timeouts: on a busy machine, no bot must count as absent.
    with serving(heartbeat=60.0, reconnect_timeout=60.0) as running:
        running.match("pascal", "random", games=8, seed=3)
        running.match("minimax:depth=1", "random", games=2, variant="connect4", seed=4)
        yield running


@pytest.fixture(scope="module")
def site(server: ServerUnderTest) -> Iterator[Site]:
    """The website of the server."""
    with site_of(server.address) as running:
        yield running


@pytest.fixture(scope="module")
def cup(site: Site) -> str:
    """The resource name of the tournament in which `pascal` played `random`."""
    (name,) = (
        tournament["name"]
        for tournament in site.get("/api/v1/tournaments").document["tournaments"]
        if tournament["title"] == "pascal - random"
    )
    assert isinstance(name, str)
    return name


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; a test opens its own pages in it."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def tables(server: ServerUnderTest) -> Iterator[Site]:
    """A site on which visitors can play, with many tables and without pauses of its bots."""
    settings = TableSettings(most=20, address_most=20, games_a_minute=1_000, address_games=1_000, pause=0.0)
    with site_of(server.address, token=server.token("site", "play", "site"), tables=settings) as running:
        yield running
