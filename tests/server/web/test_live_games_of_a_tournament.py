"""All live games of a tournament can be watched, not only those that its page shows as boards."""

import asyncio
import json
import threading

import pytest
from playwright.sync_api import Browser, expect

from noughts_bots import Bot, Position
from noughts_server.testing import ServerUnderTest
from noughts_server.web.pages.tournament import boards_of
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
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
            boards, numbers = page.locator("#grid").bounding_box(), page.locator("#live-games").bounding_box()
            assert boards is not None
            assert numbers is not None
            assert numbers["y"] >= boards["y"] + boards["height"]
            links.last.click()
            expect(page.locator("#outcome")).to_contain_text("is to move")
        finally:
            allowed.set()
            match.join(PATIENCE)


@pytest.mark.parametrize("state, heading", [("running", "Live now"), ("ended", "Just ended")])
def test_heading_of_the_boards_says_whether_one_is_live(
    server: ServerUnderTest, site: Site, browser: Browser, state: str, heading: str
) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    path, bots = f"/tournaments/boards-{state}", (f"boards-{state}-1", f"boards-{state}-2")
    fields = {**form, "id": f"boards-{state}", "schedule": "round_robin", "games_per_pair": "2"}
    assert site.post("/organise", fields, cookie=cookie).status == 303
    with in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "random"))):
        pass
    # The bots are offline, so the tournament waits.
    for bot in bots:
        assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
    assert site.post(f"{path}/start", form, cookie=cookie).status == 303
    game: dict[str, object] = {
        "name": f"{path[1:]}/games/1",
        "first": bots[0],
        "second": bots[1],
        "state": state,
        "result": "1-0" if state == "ended" else None,
        "termination": "resigned" if state == "ended" else None,
        "board": None,
        "moves": [],
        "times_us": [],
        "scores": {},
        "age_ms": 0,
    }
    snapshot = json.dumps({"games": [game], "tournaments": []})
    with page_in(browser, site.address) as page:
        events = f"event: snapshot\nid: 1\ndata: {snapshot}\n\n"
        page.route("**/events", lambda route: route.fulfill(content_type="text/event-stream", body=events))
        page.goto(path)
        expect(page.locator(f"#grid .small-game{'.over' if state == 'ended' else '.live'}")).to_have_count(1)
        expect(page.locator("#boards")).to_have_text(heading)
    assert site.post(f"{path}/cancel", form, cookie=cookie).status == 303


def test_boards_are_without_games_that_are_over_while_others_are_played() -> None:
    over, live = {"name": "a", "state": "ended"}, {"name": "b", "state": "running"}
    assert boards_of([over, live]) == [live]
    assert boards_of([over]) == [over]
