"""The page of a game leads on: to its neighbours, to other live games, and after its end to the next live game."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.competition.elo import START
from noughts_server.testing import ServerUnderTest
from tests.support.browser import page_in
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, live_game
from tests.support.stepwise_bots import Stepwise

pytestmark = pytest.mark.processes
GAMES = 3
ENOUGH_MOVES = 100


@contextmanager
def match_of_three(server: ServerUnderTest, site: Site, bot: Stepwise) -> Iterator[str]:
    """A match of three games, one after the other, in which this bot waits for the test; its resource name."""
    earlier = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]}
    match = threading.Thread(
        target=lambda: server.match(bot, "first-free", games=GAMES, concurrency=1, timeout=2 * PATIENCE)
    )
    match.start()
    try:
        yield eventually(
            lambda: next(
                (
                    tournament["name"]
                    for tournament in site.get("/api/v1/tournaments").document["tournaments"]
                    if tournament["name"] not in earlier and tournament["state"] == "running"
                ),
                "",
            )
        )
    finally:
        bot.steps.release(ENOUGH_MOVES)
        match.join(PATIENCE)


def play_to_end(page: Page, bot: Stepwise) -> None:
    """Let the bot move until the game on the page is over, one move after the other."""
    ended, waiting = page.locator("#outcome.ended"), page.locator("#outcome", has_text="Stepwise is to move.")
    while True:
        expect(ended.or_(waiting)).to_be_attached()
        if ended.count():
            break
        before = page.locator("#board .stone").count()
        bot.steps.release()
        expect(page.locator(f"#outcome.ended, #moves li:nth-child({before + 1})").first).to_be_attached()


def after_a_tick(page: Page) -> Page:
    """Move the paused clock of the page forward by a tenth of a second, and return the page."""
    page.clock.run_for(100)
    return page


def test_finished_game_leads_to_its_neighbours_without_scripts(site: Site, cup: str) -> None:
    for number, neighbours in ((1, (None, 2)), (4, (3, 5)), (8, (7, None))):
        text = site.get(f"/{cup}/games/{number}").text
        for relation, neighbour in zip(("prev", "next"), neighbours, strict=True):
            found = re.search(rf'<a href="/{cup}/games/(\d+)" rel="{relation}">', text)
            assert (int(found[1]) if found else None) == neighbour, (number, relation)


def test_title_of_a_finished_game_begins_with_the_result(site: Site, cup: str) -> None:
    result = site.get(f"/api/v1/{cup}/games/1").document["game"]["result"]
    assert f"<title>{result} " in site.get(f"/{cup}/games/1").text


def test_next_live_game_opens_after_the_end_unless_the_visitor_stays(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    bot = Stepwise()
    with match_of_three(server, site, bot) as name, page_in(browser, site.address) as page:
        eventually(lambda: site.get(f"/{name}/games/1").status == 200)
        page.clock.install()
        page.goto(f"/{name}/games/1")
        expect(page.locator("#outcome")).to_contain_text("is to move")
        title = page.title()
        eventually(lambda: site.hub.watchers)
        page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
        play_to_end(page, bot)
        expect(page).to_have_title(re.compile(rf"^(1-0|0-1|1/2-1/2) {title}$"))
        eventually(lambda: after_a_tick(page).locator("#onward").is_visible())
        expect(page.locator("#onward-said")).to_have_text("The next live game opens in 5 seconds.")
        page.get_by_role("button", name="Stay here").click()
        expect(page.locator("#onward")).to_be_hidden()
        page.clock.resume()
        # The links to live games show the one that has begun.
        page.reload()
        expect(page.locator("#around a .thumb").last).to_be_visible()
        expect(page.locator("#around a", has_text="–").last).to_contain_text(re.compile(r"move \d+|about to begin"))
        page.locator("#around a", has_text="–").last.click()
        page.wait_for_url(f"**/{name}/games/2")
        expect(page.locator("#outcome")).to_contain_text("is to move")
        eventually(lambda: site.hub.watchers)
        play_to_end(page, bot)
        page.wait_for_url(f"**/{name}/games/3")


def test_finished_game_shows_ratings_of_its_time(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        game.play(0, 3, 1, 4, 2)
    eventually(lambda: site.get(f"/api/v1/{game.name}").document["game"]["end_time"])
    rated = site.get(f"/api/v1/{game.name}").document["game"]
    before = {}
    for side in ("first", "second"):
        bot = rated[f"{side}_bot"].rpartition("/versions/")[0]
        points = site.get(f"/api/v1/{bot}/history").document["points"]
        earlier = [point["rating"] for point in points if point["time"] < rated["end_time"]]
        before[side] = round(earlier[-1] if earlier else START)
    with live_game(server, site) as later:
        later.play(0, 3, 1, 4, 2)
    text = site.get(f"/{game.name}").text
    shown = re.findall(r'title="Elo rating when the game began">Elo (\d+)</span>', text)
    assert shown == [str(before["second"]), str(before["first"])]
    assert "Elo rating today" not in text
    today = site.get(f"/api/v1/{game.name.partition('/games/')[0]}").document["standings"]
    assert {round(row["rating"]) for row in today} != set(before.values())
