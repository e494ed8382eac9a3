"""The page of a game in a real browser: live games, keys, links to plies, clocks, and large boards."""

import json
import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from noughts_bots import Bot
from noughts_referee.clock import MICROSECONDS, TimeControl, clocks_after
from noughts_server.testing import ServerUnderTest
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game
from tests.support.stepwise_bots import Failing

pytestmark = pytest.mark.processes


def stones(page: Page) -> int:
    """Return the number of stones on the large board."""
    return page.locator("#board .stone").count()


def test_a_live_game_is_shown_to_its_end_without_a_reload(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        page.goto(f"/{game.name}")
        expect(page.locator("#outcome")).to_have_text("Live: First is to move.")
        page.evaluate("window.sameDocument = true")
        for number, cell in enumerate((0, 3, 1, 4), start=1):
            game.play(cell)
            expect(page.locator("#board .stone")).to_have_count(number)
        expect(page.locator("#moves li")).to_have_text(["a3", "a2", "b3", "b2"])
        game.play(2)
        expect(page.locator("#outcome")).to_have_text("First won: three in a row.")
        expect(page.locator("#board .won")).to_have_count(3)
        expect(page.locator("#board .win-line")).to_have_count(1)
        assert page.evaluate("window.sameDocument") is True


def test_fault_of_a_game_that_just_ended_appears_on_its_page(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        answer = json.dumps({"game": {"fault": "took 4.050 s for its move and had 4.000 s left"}})
        page.route(f"**/api/v1/{game.name}", lambda route: route.fulfill(body=answer))
        page.goto(f"/{game.name}")
        expect(page.locator("#fault")).to_be_hidden()
        game.play(0, 3, 1, 4, 2)
        expect(page.locator("#fault")).to_have_text("Second took 4.050 s for its move and had 4.000 s left.")


def test_without_the_clipboard_a_link_is_selected(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address) as page:
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        page.goto(f"/{cup}/games/1")
        page.locator("#share summary").click()
        page.locator("[data-copy=link]").click()
        expect(page.locator("[data-copy=link]")).to_have_text("Selected")
        assert page.evaluate("getSelection().toString() === document.getElementById('link').value")


def test_a_late_watcher_sees_all_moves_and_can_look_back_during_the_game(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3, 1)
        page.goto(f"/{game.name}")
        expect(page.locator("#board .stone")).to_have_count(3)
        page.locator("#board").focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#words")).to_contain_text("Move 1 of 3")
        expect(page.locator("#live")).to_have_text("Back to live")
        game.play(4)
        expect(page.locator("#moves li")).to_have_count(4)
        assert stones(page) == 1
        expect(page.locator("#live")).to_have_text("1 new move, back to live")
        page.locator("#live").click()
        expect(page.locator("#board .stone")).to_have_count(4)
        expect(page.locator("#live")).to_be_hidden()
        game.play(2)
        expect(page.locator("#board .stone")).to_have_count(5)


def test_moves_slider_and_keys_lead_to_plies_which_have_addresses(site: Site, browser: Browser, cup: str) -> None:
    plies = len(site.get(f"/api/v1/{cup}/games/1").document["game"]["moves"])
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/games/1#2")
        expect(page.locator("#board .stone")).to_have_count(2)
        page.locator("#moves a").nth(3).click()
        expect(page.locator("#board .stone")).to_have_count(4)
        assert page.url.endswith("?ply=4")
        page.locator("#ply").fill("1")
        expect(page.locator("#board .stone")).to_have_count(1)
        page.get_by_role("button", name="Latest position").click()
        expect(page.locator("#board .stone")).to_have_count(plies)
        page.locator("#board").focus()
        page.keyboard.press("Home")
        expect(page.locator("#words")).to_have_text(f"Move 0 of {plies}.")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#share button")).to_have_count(2)
        expect(page.locator("#link")).to_have_value(f"{site.address}/{cup}/games/1?ply=1")
        page.goto(f"/{cup}/games/1?ply=3")
        expect(page.locator("#board .stone")).to_have_count(3)
        expect(page.locator("#words")).to_contain_text("Move 3 of")


def test_the_play_button_replays_a_game_to_its_end(site: Site, browser: Browser, cup: str) -> None:
    plies = len(site.get(f"/api/v1/{cup}/games/1").document["game"]["moves"])
    with page_in(browser, site.address) as page:
        page.clock.install()
        page.goto(f"/{cup}/games/1")
        page.clock.pause_at(page.evaluate("Date.now() + 3600000"))
        page.get_by_label("Speed").select_option("4")
        page.locator("#board").focus()
        page.keyboard.press(" ")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.locator("#words")).to_have_text(f"Move 0 of {plies}.")
        page.clock.run_for(60_000)
        expect(page.locator("#words")).to_contain_text(f"Move {plies} of {plies}")
        expect(page.get_by_role("button", name="Play")).to_have_attribute("aria-pressed", "false")
        page.reload()
        expect(page.get_by_label("Speed")).to_have_value("4")


def test_keys_swap_the_players_number_the_moves_and_show_help(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/games/1")
        top = "document.querySelector('#strip-first').getBoundingClientRect().top"
        board = "document.querySelector('#board').getBoundingClientRect().top"
        assert page.evaluate(f"{top} > {board}")
        page.keyboard.press("f")
        assert page.evaluate(f"{top} < {board}")
        page.keyboard.press("n")
        expect(page.locator("#board .order")).to_have_count(5)
        expect(page.get_by_role("button", name="Sound")).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("previous, next move")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()


def test_strips_show_clocks_and_ratings_at_any_ply(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    server.match("minimax:depth=2", "random", variant="connect4", time="60+1", games=1)
    tournaments = site.get("/api/v1/tournaments").document["tournaments"]
    name = next(tournament["name"] for tournament in tournaments if tournament["title"] == "minimax:depth=2 - random")
    game = site.get(f"/api/v1/{name}/games/1").document["game"]
    control = TimeControl(bank_us=60 * MICROSECONDS, increment_us=MICROSECONDS)
    clocks_us = clocks_after([control, control], game["times_us"])
    with page_in(browser, site.address) as page:
        page.goto(f"/{name}/games/1?ply=0")
        expect(page.locator(".clock")).to_have_text(["1:00", "1:00"])
        for move in page.locator("#moves a").all():
            expect(move).to_have_attribute("data-time", re.compile(r"^(<\xa0)?\d+\.\d+\xa0s$"))
        expect(page.locator("#strip-first")).to_have_class(re.compile("to-move"))
        expect(page.locator(".rating")).to_have_count(2)
        page.get_by_role("button", name="Latest position").click()
        clock_texts = [
            f"{us // MICROSECONDS // 60}:{us // MICROSECONDS % 60:02d}" for us in (clocks_us[1], clocks_us[0]) if us
        ]
        expect(page.locator(".clock")).to_have_text(clock_texts)
        expect(page.locator("#points-first")).to_have_text({"1-0": "1", "0-1": "0"}.get(game["result"], "½"))
        expect(page.locator(".to-move")).to_have_count(0)


def test_a_large_board_is_cropped_to_its_stones_unless_shown_whole(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site, variant="mnk:30,30,3") as game:
        game.play(465, 466)
        page.goto(f"/{game.name}")
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(page.locator("#board .name")).to_have_count(2 * 15)
        page.keyboard.press("z")
        expect(page.locator("#board .name")).to_have_count(2 * 30)
        page.get_by_role("button", name="Whole board").click()
        expect(page.locator("#board .name")).to_have_count(2 * 15)
        # A stone far away widens the area.
        game.play(495, 899)
        expect(page.locator("#board .name")).to_have_count(2 * 21)
        game.play(525)
        expect(page.locator("#outcome")).to_have_text("First won: three in a row.")


def test_a_game_that_waits_for_its_bots_shows_its_moves(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    def as_waiting_game(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"state":"running"', '"state":"waiting"'))

    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3)
        eventually(lambda: '"moves":[0,3]' in site.get(f"/{game.name}").text)
        page.route(f"**/{game.name}", as_waiting_game)
        page.route("**/events", lambda route: route.abort())
        page.goto(f"/{game.name}")
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(page.locator("#outcome")).to_have_text("Waiting for the players to reconnect.")
        game.play(1, 4, 2)


def test_both_players_fit_on_the_screens_of_laptops(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    matches: tuple[tuple[str | Bot, str, str], ...] = (
        ("minimax:depth=1", "first-free", "qubic"),
        (Failing(), "first-free", "gomoku"),
        ("random", "first-free", "mnk:4,12,4"),
    )
    known = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]}
    for first, second, variant in matches:
        server.match(first, second, variant=variant, games=1)
    names = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]} - known
    assert len(names) == len(matches)
    with page_in(browser, site.address) as page:
        for width, height in ((1280, 720), (1366, 768), (1536, 864)):
            page.set_viewport_size({"width": width, "height": height})
            for name in names:
                page.goto(f"/{name}/games/1")
                bottom = "document.getElementById('strip-first').getBoundingClientRect().bottom"
                assert page.evaluate(bottom) <= height, (name, width)
