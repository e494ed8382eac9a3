"""All live games of a tournament can be watched, not only those that its page shows as boards."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Route, ViewportSize, expect

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
PHONE: ViewportSize = {"width": 390, "height": 844}


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


@contextmanager
def tournament_that_waits(server: ServerUnderTest, site: Site, name: str) -> Iterator[str]:
    """The path of a running tournament whose two bots are offline, so that no game begins."""
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    path, bots = f"/tournaments/{name}", (f"{name}-1", f"{name}-2")
    fields = {**form, "id": name, "schedule": "round_robin", "games_per_pair": "2"}
    assert site.post("/organise", fields, cookie=cookie).status == 303
    with in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "random"))):
        pass
    for bot in bots:
        assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
    assert site.post(f"{path}/start", form, cookie=cookie).status == 303
    yield path
    assert site.post(f"{path}/cancel", form, cookie=cookie).status == 303


def watched_game(path: str, number: int, state: str) -> dict[str, object]:
    """Return a game of the feed, without a board."""
    return {
        "name": f"{path[1:]}/games/{number}",
        "first": "ann",
        "second": "bob",
        "state": state,
        "result": "1-0" if state == "ended" else None,
        "termination": "resigned" if state == "ended" else None,
        "board": None,
        "moves": [],
        "times_us": [],
        "scores": {},
        "age_ms": 0,
    }


def send(route: Route, snapshot: Mapping[str, object]) -> None:
    """Answer a request for events with a snapshot. The browser asks for the next one after 20 ms."""
    body = f"retry: 20\nevent: snapshot\nid: 1\ndata: {json.dumps(snapshot)}\n\n"
    route.fulfill(content_type="text/event-stream", body=body)


@pytest.mark.parametrize("state, heading", [("running", "Live now"), ("ended", "Just ended")])
def test_heading_of_the_boards_says_whether_one_is_live(
    server: ServerUnderTest, site: Site, browser: Browser, state: str, heading: str
) -> None:
    with tournament_that_waits(server, site, f"boards-{state}") as path, page_in(browser, site.address) as page:
        snapshot = {"games": [watched_game(path, 1, state)], "tournaments": []}
        page.route("**/events", lambda route: send(route, snapshot))
        page.goto(path)
        expect(page.locator(f"#grid .small-game{'.over' if state == 'ended' else '.live'}")).to_have_count(1)
        expect(page.locator("#boards")).to_have_text(heading)


def test_board_shows_the_result_for_five_seconds_while_others_are_played(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with tournament_that_waits(server, site, "held") as path, page_in(browser, site.address) as page:
        told = {"name": path[1:], "state": "running", "games_done": 0, "games_total": 2, "live_games": [1, 2]}
        games = [watched_game(path, 1, "running"), watched_game(path, 2, "running")]
        snapshot = {"games": games, "tournaments": [{**told, "reason": "", "standings": []}]}
        page.clock.install()
        page.route("**/events", lambda route: send(route, snapshot))
        page.goto(path)
        live, over = page.locator("#grid .small-game.live"), page.locator("#grid .small-game.over")
        expect(live).to_have_count(2)
        page.clock.pause_at(page.evaluate("Date.now() + 60000"))
        games[0] = watched_game(path, 1, "ended")

        def shows_the_end() -> bool:
            page.clock.run_for(50)
            return over.count() == 1

        eventually(shows_the_end)
        page.clock.run_for(4_800)
        expect(over).to_have_count(1)
        expect(over.locator(".said")).to_have_text("resigned")
        page.clock.run_for(500)
        expect(over).to_have_count(0)
        expect(live).to_have_count(1)
        # If all games are over, their results stay.
        games[1] = watched_game(path, 2, "ended")

        def shows_both_ends() -> bool:
            page.clock.run_for(50)
            return over.count() > 0 and live.count() == 0

        eventually(shows_both_ends)
        page.clock.run_for(20_000)
        expect(over).to_have_count(2)


def test_bracket_is_next_to_live_boards_and_else_as_wide_as_the_page(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    path = site.post("/organise", {**form, "id": "cup-of-lea", "schedule": "knockout"}, cookie=cookie).headers[
        "location"
    ]
    bots = {f"lea-{number}": "random" for number in range(8)}
    with in_other_thread(bots_online(server.address, token, **bots)):
        for bot in bots:
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
    # All bots are offline, so the tournament stays in its first round.
    site.post(f"{path}/start", form, cookie=cookie)
    eventually(lambda: "running" in site.get(path).text)
    games: list[dict[str, object]] = []
    told = {"name": path[1:], "state": "running", "games_done": 0, "games_total": 8, "live_games": [], "reason": ""}
    fits = "place => place.scrollWidth <= place.clientWidth"
    with page_in(browser, site.address, viewport={"width": 1280, "height": 900}) as page:
        page.route("**/events", lambda route: send(route, {"games": games, "tournaments": [{**told, "standings": []}]}))
        page.goto(path)
        boards, bracket = page.locator("#boards-part").bounding_box(), page.locator(".bracket").bounding_box()
        assert boards is not None
        assert bracket is not None
        assert boards["y"] + boards["height"] < bracket["y"]
        assert bracket["width"] > 1100
        games += [watched_game(path, number, "running") for number in (1, 2, 3, 4)]
        expect(page.locator("#grid .small-game.live")).to_have_count(4)
        boards, bracket = page.locator("#boards-part").bounding_box(), page.locator(".bracket").bounding_box()
        assert boards is not None
        assert bracket is not None
        assert boards["x"] + boards["width"] < bracket["x"]
        assert page.locator(".scroll:has(.bracket)").evaluate(fits)
        columns = "cards => new Set(cards.map(card => card.getBoundingClientRect().left)).size"
        page.set_viewport_size({"width": 1920, "height": 1080})
        assert page.locator("#grid .small-game").evaluate_all(columns) == 2


def test_names_next_to_live_boards_are_whole_on_a_phone(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with tournament_that_waits(server, site, "whole") as path, page_in(browser, site.address, viewport=PHONE) as page:
        games = [{**watched_game(path, number, "running"), "second": "threat-hunter"} for number in (1, 2, 3)]
        page.route("**/events", lambda route: send(route, {"games": games, "tournaments": []}))
        page.goto(path)
        expect(page.locator("#grid .small-game.live")).to_have_count(3)
        assert page.locator("#grid .cut > span").evaluate_all(
            "spans => spans.every(e => e.scrollWidth <= e.clientWidth)"
        )
        # All boards are in one row, which the reader swipes.
        tops = "cards => new Set(cards.map(card => card.getBoundingClientRect().top)).size"
        assert page.locator("#grid .small-game").evaluate_all(tops) == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_boards_are_without_games_that_are_over_while_others_are_played() -> None:
    over, live = {"name": "a", "state": "ended"}, {"name": "b", "state": "running"}
    assert boards_of([over, live]) == [live]
    assert boards_of([over]) == [over]
