"""Details of pages: nothing jumps, links appear when they work, and clocks and titles say what happened."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from noughts_bots import Bot, Position
from noughts_server.testing import ServerUnderTest, serving
from noughts_server.web.signin import Visitor
from noughts_server.web.words import points
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of

LONG_NAME = "ConnectFourComputerOfTheUniversityOfPrague-2026"
DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)
TOP_OF_SLIDER = "document.getElementById('ply').getBoundingClientRect().top"


@pytest.mark.parametrize("value, words", [(22_889.5, "22,889½"), (0.5, "½"), (2.0, "2"), (12_000, "12,000")])
def test_half_points_have_a_separator_of_thousands(value: float, words: str) -> None:
    assert points(value) == words


@pytest.mark.processes
def test_nothing_jumps_in_a_live_game_which_offers_its_file_at_the_end(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3, 1)
        page.goto(f"/{game.name}")
        expect(page.locator("#board .stone")).to_have_count(3)
        top = page.evaluate(TOP_OF_SLIDER)
        page.locator("#back").click()
        expect(page.locator("#live")).to_be_visible()
        assert page.evaluate(TOP_OF_SLIDER) == top
        page.locator("#share summary").click()
        expect(page.get_by_role("link", name="JSON")).to_be_visible()
        expect(page.get_by_role("link", name="SGF")).to_be_hidden()
        game.play(4, 2)
        expect(page.get_by_role("link", name="SGF")).to_be_visible()


@pytest.mark.processes
def test_the_place_of_the_featured_board_is_square(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page, live_game(server, site, variant="mnk:7,3,3") as game:
        eventually(lambda: f'data-live="{game.name}"' in site.get("/").text)
        page.goto("/")
        box = page.locator("#featured .board-place").bounding_box()
        assert box is not None
        assert abs(box["width"] - box["height"]) < 1
        game.play(0, 7, 1, 8, 2)


@pytest.mark.processes
def test_long_names_make_no_page_wider_than_a_phone(browser: Browser) -> None:
    with serving() as fresh:
        bots = {LONG_NAME: "minimax", "short": "first-free"}
        with site_of(fresh.address) as site:
            fields = {"title": LONG_NAME, "id": "long", "schedule": "knockout", "variant": "tictactoe"}
            play_tournament(fresh, site, bots, {**fields, "games_per_pair": "2", "rated": "on"})
        # A new website, which has not kept the lists of a server without games.
        with site_of(fresh.address) as site, page_in(browser, site.address, viewport=PHONE) as page:
            page.goto("/")
            expect(page.locator(".podium")).to_contain_text(LONG_NAME)
            for path in ("/", "/records", "/tournaments/long", "/tournaments/long/games/1", f"/bots/{LONG_NAME}"):
                page.goto(path)
                assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
                expect(page.locator("main")).to_contain_text(LONG_NAME)


@pytest.mark.processes
def test_a_phone_shows_all_tabs_and_says_that_a_table_scrolls(site: Site, cup: str, browser: Browser) -> None:
    right = "link => link.getBoundingClientRect().right"
    arrow = "table => parseFloat(getComputedStyle(table.closest('.scroll'), '::after').height)"
    with page_in(browser, site.address, viewport=PHONE) as page:
        page.goto(f"/{cup}?tab=crosstable")
        assert all(tab.evaluate(right) < PHONE["width"] for tab in page.locator(".tabs a").all())
        tops = "links => new Set(links.map(link => link.getBoundingClientRect().top)).size"
        assert page.locator(".title-row > a, .title-row .menu > summary").evaluate_all(tops) == 1
        table = page.locator(".heat")
        assert table.evaluate(arrow) == 0
        page.set_viewport_size({"width": 220, "height": 844})
        table.locator("th").first.evaluate("cell => { cell.style.minWidth = '30rem' }")
        eventually(lambda: table.evaluate(arrow) > 0)


@pytest.mark.processes
def test_names_of_usual_length_are_whole_in_tables(browser: Browser) -> None:
    names = ["moth", "perfectionist", "threat-hunter-v10000"]
    whole = """cell => {
        const link = cell.querySelector("a"), range = document.createRange();
        range.selectNodeContents(link);
        return range.getBoundingClientRect().right <= cell.getBoundingClientRect().right;
    }"""
    with serving() as fresh, site_of(fresh.address) as site, page_in(browser, site.address) as page:
        fields = {"id": "names", "schedule": "round_robin", "games_per_pair": "2", "variant": "tictactoe"}
        play_tournament(fresh, site, dict.fromkeys(names, "random"), fields)
        for window in (PHONE, DESKTOP):
            page.set_viewport_size(window)
            for path in ("/tournaments/names", "/tournaments/names?tab=standings", "/tournaments/names?tab=crosstable"):
                page.goto(path, wait_until="load")
                cells = page.locator("table tbody th")
                assert {cell.locator("a").inner_text() for cell in cells.all()} == set(names), path
                assert all(cell.evaluate(whole) for cell in cells.all()), path
                # A part of a link that is a box of its own would have no line.
                assert page.locator("table tbody th a *").count() == 0, path


def play_tournament(server: ServerUnderTest, site: Site, bots: Mapping[str, str], fields: Mapping[str, str]) -> None:
    """Play a tournament between bots, by name, that play as these reference bots. Each has an owner of its own."""
    path = f"/tournaments/{fields['id']}"
    tokens = [server.token(f"owner-{number}") for number in range(len(bots))]
    visitors = [(f"noughts_token={token}", {"csrf": Visitor(token).csrf}) for token in tokens]
    cookie, form = visitors[0]
    with ExitStack() as online:
        for (bot, spec), token in zip(bots.items(), tokens, strict=True):
            online.enter_context(in_other_thread(bots_online(server.address, token, **{bot: spec})))
        assert site.post("/organise", {**form, **fields}, cookie=cookie).status == 303
        for bot, (own_cookie, own_form) in zip(bots, visitors, strict=True):
            assert site.post(f"{path}/join", {**own_form, "bot": f"bots/{bot}"}, cookie=own_cookie).status == 303
        assert site.post(f"{path}/start", form, cookie=cookie).status == 303
        eventually(lambda: site.get(f"/api/v1{path}").document["state"] == "finished")


@pytest.mark.processes
def test_the_page_of_an_empty_server_shows_its_first_game(browser: Browser) -> None:
    with serving() as fresh, site_of(fresh.address) as site, page_in(browser, site.address) as page:
        page.goto("/")
        expect(page.locator(".first-steps section")).to_have_count(2)
        with live_game(fresh, site) as game:
            expect(page.locator("#featured")).to_have_attribute("data-live", game.name)
            game.play(0, 3, 1, 4, 2)


@pytest.mark.processes
def test_a_lost_connection_moves_nothing(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.route("**/events", lambda route: route.abort())
        page.goto("/")
        expect(page.locator("#away")).to_have_text("Connection lost. Reconnecting…")
        main = page.locator("main")
        place = main.bounding_box()
        page.evaluate("document.getElementById('away').hidden = true")
        assert main.bounding_box() == place


class Silent(Bot):
    """Never answers, so that it loses on time."""

    async def choose(self, position: Position) -> int:
        await asyncio.Event().wait()
        return position.free[0]


def tournament_names(site: Site) -> set[str]:
    return {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]}


@pytest.mark.processes
def test_the_clock_of_a_loss_on_time_is_at_zero(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    earlier = tournament_names(site)
    server.match(Silent(), "first-free", games=1, time="0.4+0")
    (name,) = tournament_names(site) - earlier
    with page_in(browser, site.address) as page:
        page.goto(f"/{name}/games/1")
        expect(page.locator("#clock-first")).to_have_text("0:00.0")
        expect(page.locator("#clock-second")).to_have_text("0:00.4")


@pytest.mark.processes
def test_error_pages_have_plain_titles_and_pages_print_without_controls(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/tournaments/nothing/games/7")
        expect(page).to_have_title("Not found - Noughts")
        expect(page.locator("main")).not_to_contain_text("`")
        page.goto("/tournaments")
        page.emulate_media(media="print")
        expect(page.locator(".site-header")).to_be_hidden()
        expect(page.locator("form.filters")).to_be_hidden()
        expect(page.get_by_role("heading", name="Tournaments")).to_be_visible()
