"""All live games of a tournament can be watched, not only those that its page shows as boards."""

import asyncio
import threading

import pytest
from playwright.sync_api import Browser, expect

from noughts_bots import Bot, Position
from noughts_server.testing import ServerUnderTest
from tests.support.browser import page_in
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site

pytestmark = pytest.mark.processes
GAMES = 12


class Waiting(Bot):
    """Answers as soon as the test allows it."""

    def __init__(self, allowed: threading.Event) -> None:
        self._allowed = allowed

    async def choose(self, position: Position) -> int:
        await asyncio.to_thread(self._allowed.wait, PATIENCE)
        return position.free[0]


def test_page_links_to_all_live_games(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    allowed = threading.Event()
    match = threading.Thread(target=lambda: server.match(Waiting(allowed), "first-free", games=GAMES, timeout=PATIENCE))
    earlier = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]}
    with page_in(browser, site.address) as page:
        match.start()
        try:
            name = eventually(
                lambda: next(
                    (
                        tournament["name"]
                        for tournament in site.get("/api/v1/tournaments").document["tournaments"]
                        if tournament["name"] not in earlier and tournament["state"] == "running"
                    ),
                    "",
                )
            )
            page.goto(f"/{name}")
            links = page.locator("#live-games a")
            expect(links).to_have_count(GAMES)
            expect(page.locator("#grid .small-game")).to_have_count(4)
            assert links.all_text_contents() == [str(number) for number in range(1, GAMES + 1)]
            links.last.click()
            expect(page.locator("#outcome")).to_contain_text("is to move")
        finally:
            allowed.set()
            match.join(PATIENCE)
