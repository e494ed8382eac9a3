"""Requirements of every page: accessible, valid, light, steady, and without requests to other sites."""

import re
import time
from collections.abc import Iterator
from functools import partial

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Response, Route, ViewportSize, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.pages import routes
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.server.web.test_tests_pages import create_test, register_bots
from tests.server.web.test_tunings_pages import tuning_work
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of
from tests.support.stepwise_bots import Stepwise

pytestmark = [pytest.mark.processes, pytest.mark.at_length]
NOT_PAGES = (".atom", ".ics", ".svg", ".png", ".txt", "/state", "/parts", "/analysis", "/opinion", "/around", "/enter")
"""Ends of addresses that are not pages."""
VALUES = {
    "{bot}": "pascal",
    "{key}": "{key}",
    "{number:int}": "1",
    "{opponent}": "random",
    "{test}": "first",
    "{tournament}": "{tournament}",
    "{tuning}": "weights",
}
"""Values of the parameters of addresses; those in braces are known when the site runs."""


def address_of(path: str) -> str:
    """Return the address of a page with values for its parameters."""
    if path == "/tournaments/{tournament}/seasons":
        return "/tournaments/autumn/seasons"  # the tournament that repeats
    if path == "/tournaments/{tournament}/edit":
        return "/tournaments/autumn/edit"  # the open tournament
    return re.sub(r"\{[^}]+\}", lambda parameter: VALUES[parameter[0]], path)


PAGES = (
    *(address_of(path) for path, _ in routes.PAGES if not path.endswith(NOT_PAGES)),
    "/tournaments?challenges=true",
    "/tournaments/{tournament}?tab=standings",
    "/tournaments/{tournament}?tab=crosstable",
    "/tournaments/{tournament}?tab=rules",
    "/explorer?variant=connect4&moves=38",
    "/search?q=pascal",
    "/nothing",
)
"""Every page, some with filters, and one that is missing."""
SIGNED_IN = (
    *(address_of(path) for path, _ in routes.OWN_PAGES),
    "/me?tab=upload",
    "/me?tab=tokens",
    "/tournaments/autumn",
)
"""Pages of users with a token; a tournament has actions for them."""
MOST_BYTES = 150_000
# Limits of the cumulative layout shift. Browsers call 0.1 good.
MOST_SHIFT = 0.02
MOST_SHIFT_LIVE = 0.01
PHONE, DESKTOP = ViewportSize(width=390, height=844), ViewportSize(width=1200, height=900)
LAPTOP = ViewportSize(width=1280, height=720)
LONG_TITLE = "A tournament whose title is longer than its place above the featured game"
OBSERVE_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def site(server: ServerUnderTest) -> Iterator[Site]:
    """A site on which visitors can play."""
    with site_of(server.address, token=server.token("site")) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: ServerUnderTest) -> str:
    return server.token("ada", "admin")


@pytest.fixture(scope="module")
def open_tournament(site: Site, token: str) -> str:
    """The name of an open weekly tournament of ada."""
    cookie = f"noughts_token={token}"
    made = site.post(
        "/organise",
        {"id": "autumn", "csrf": Visitor(token).csrf, "schedule": "swiss", "repeat": "weekly"},
        cookie=cookie,
    )
    return made.headers["location"].removeprefix("/")


@pytest.fixture(scope="module")
def test_path(server: ServerUnderTest) -> str:
    """The path of a test whose bots are offline."""
    create_test(server, register_bots(server), "first", "bots/mia-old")
    return "/tests/first"


@pytest.fixture(scope="module")
def table_path(site: Site) -> str:
    """The path of a table at which a game has begun."""
    wish = {"opponent": "house:random", "variant": "tictactoe", "begins": "they", "mark": "begins"}
    return site.post("/play", wish).headers["location"]


@pytest.fixture(scope="module")
def tuning_path(server: ServerUnderTest) -> str:
    """The path of a tuning with curves."""
    with tuning_work(server, "weights", 60) as work:
        work.play(40)
    return "/tunings/weights"


@pytest.fixture(scope="module")
def parameter_values(
    cup: str, open_tournament: str, table_path: str, test_path: str, tuning_path: str
) -> dict[str, str]:
    """Return the values of the parameters in braces, after all tournaments and the table have been created."""
    assert (open_tournament, test_path, tuning_path) == ("tournaments/autumn", "/tests/first", "/tunings/weights")
    return {"tournament": cup.removeprefix("tournaments/"), "key": table_path.removeprefix("/play/")}


@pytest.mark.parametrize("page_address", [*PAGES, *SIGNED_IN])
def test_page_is_accessible_small_and_steady(
    site: Site, browser: Browser, parameter_values: dict[str, str], token: str, page_address: str
) -> None:
    path = page_address.format_map(parameter_values)
    with page_in(browser, site.address, reduced_motion="reduce") as page:
        if page_address in SIGNED_IN:
            page.context.add_cookies([{"name": "noughts_token", "value": token, "url": site.address}])
        weights: list[int] = []
        console_lines: list[str] = []
        page.on("response", partial(_add_bytes, weights))
        page.on("console", partial(_add_message, console_lines))
        page.add_init_script(OBSERVE_SHIFTS)
        for window in (DESKTOP, PHONE):
            weights.clear()
            page.set_viewport_size(window)
            page.goto(path, wait_until="load")
            assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
            if window == DESKTOP:
                assert accessibility_errors(page) == []
            else:
                page.emulate_media(color_scheme="dark")
                assert accessibility_errors(page, "color-contrast", "target-size", "scrollable-region-focusable") == []
            assert page.evaluate("window.shifted") < MOST_SHIFT
            assert sum(weights) < MOST_BYTES
        # Chromium itself reports the status 404 of the missing page.
        assert [line for line in console_lines if path != "/nothing" or "404" not in line] == []


def test_layout_does_not_shift_when_boards_of_live_games_arrive(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with live_game(server, site) as game:
        game.play(0, 3, 1)
        tournament = game.name.partition("/games")[0]
        # A page reserves the space of boards that the site knows; the feed reports them a moment after their begin.
        eventually(lambda: f'data-live="{game.name}"' in site.get("/").text)
        eventually(lambda: 'class="small-game' in site.get(f"/{tournament}").text)
        for window in (DESKTOP, PHONE):
            for path, boards in (("/", "#board"), (f"/{tournament}", "#grid a > .board"), (f"/{game.name}", "#board")):
                with page_in(browser, site.address, viewport=window) as page:
                    page.add_init_script(OBSERVE_SHIFTS)
                    page.goto(path)
                    expect(page.locator(f"{boards} .stone")).to_have_count(3)
                    # The observer has seen all shifts of frames before this one.
                    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
                    assert page.evaluate("window.shifted") < MOST_SHIFT_LIVE, path
        game.play(4, 2)


def test_layout_does_not_shift_when_another_game_is_featured(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    token = server.token("una")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    for window in (LAPTOP, PHONE):
        bots = {f"una-{window['width']}-{place}": Stepwise() for place in ("one", "two")}
        with in_other_thread(bots_online(server.address, token, **bots)):
            path = f"/tournaments/featured-{window['width']}"
            with live_game(server, site) as first, page_in(browser, site.address, viewport=window) as page:
                eventually(lambda: f'data-live="{first.name}"' in site.get("/").text)  # called at once
                page.add_init_script(OBSERVE_SHIFTS)
                page.goto("/")
                fields = {"id": path.rpartition("/")[2], "title": LONG_TITLE, "variant": "connect4"}
                usual = {"schedule": "round_robin", "games_per_pair": "1", "bank": "600", "increment": "5"}
                assert site.post("/organise", {**form, **fields, **usual}, cookie=cookie).status == 303
                for name in bots:
                    site.post(f"{path}/join", {**form, "bot": f"bots/{name}"}, cookie=cookie)
                assert site.post(f"{path}/start", form, cookie=cookie).status == 303
                first.play(0, 3, 1, 4, 2)
                expect(page.locator("#featured")).to_have_attribute("data-live", f"{path[1:]}/games/1")
                page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
                assert page.evaluate("window.shifted") < MOST_SHIFT, window
            for bot in bots.values():
                bot.steps.release(42)
            eventually(lambda: site.get(f"/api/v1{path}").document["state"] == "finished")  # noqa: B023


def test_layout_does_not_shift_when_a_late_script_converts_times(site: Site, browser: Browser, cup: str) -> None:
    def late(route: Route) -> None:
        time.sleep(0.3)
        route.continue_()

    with page_in(browser, site.address, viewport=PHONE) as page:
        page.add_init_script(OBSERVE_SHIFTS)
        page.route("**/page.js", late)
        page.goto(f"/{cup}", wait_until="load")
        expect(page.locator("time").first).to_have_attribute("title", re.compile("UTC"))
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert page.evaluate("window.shifted") < MOST_SHIFT_LIVE


def test_a_wide_crosstable_scrolls_in_its_own_box(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address) as page:
        for window in (DESKTOP, PHONE):
            page.set_viewport_size(window)
            page.goto(f"/{cup}?tab=crosstable", wait_until="load")
            widen = "row => { for (let i = 0; i < 60; i++) row.append(row.lastElementChild.cloneNode(true)); }"
            page.evaluate(f"document.querySelectorAll('.heat tr').forEach({widen})")
            assert page.evaluate("document.querySelector('.heat').scrollWidth") > 1500
            assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]


@pytest.fixture(scope="module")
def long_names(server: ServerUnderTest, site: Site) -> tuple[str, str]:
    """The names of a finished Swiss tournament and of a bot in it, both as long as is legal."""
    token = server.token("lena")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    bots, name = [letter * 63 for letter in "wxyz"], "t" * 63
    # The widest name wins its pairings, so it is printed bold.
    specs = dict.fromkeys(bots, "random") | {bots[0]: "minimax"}
    with in_other_thread(bots_online(server.address, token, **specs)):
        fields = {**form, "id": name, "schedule": "swiss", "rounds": "2", "rated": "on"}
        path = site.post("/organise", fields, cookie=cookie).headers["location"]
        for bot in bots:
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        site.post(f"{path}/start", form, cookie=cookie)
        eventually(lambda: "finished" in site.get(path).text)
    return path, f"/bots/{bots[0]}"


def test_long_names_do_not_hide_the_numbers_of_tables(
    site: Site, browser: Browser, long_names: tuple[str, str]
) -> None:
    tournament, bot = long_names
    lists = ("/tournaments", "/leaderboard?variant=tictactoe&search=ww", "/bots?search=ww")
    wide = """limit => [...document.querySelectorAll("tbody th, .who")].filter((cell) =>
        (cell.clientWidth > limit * 16 + 1
            && cell.closest("table").clientWidth > cell.closest(".scroll").clientWidth) ||
        (cell.textContent.length > 40 && !cell.title)).length"""
    with page_in(browser, site.address) as page:
        for window, most in ((DESKTOP, 16), (PHONE, 9)):
            page.set_viewport_size(window)
            for path in (*lists, f"{tournament}?tab=rounds", bot):
                page.goto(path, wait_until="load")
                assert page.locator("tbody th[title], tbody .who[title]").count(), path
                assert page.evaluate(wide, most) == 0, path
            for path in (tournament, f"{tournament}?tab=chart"):
                page.goto(path, wait_until="load")
                shown = page.locator("tbody th a:has(.middle)")
                assert shown.count() >= 4, path
                assert {name.text_content() for name in shown.all()} == {letter * 63 for letter in "wxyz"}, path
                assert page.evaluate(wide, 20) == 0, path


def test_ends_of_long_names_stay_visible(site: Site, browser: Browser, long_names: tuple[str, str]) -> None:
    tournament, _ = long_names
    with page_in(browser, site.address, viewport=PHONE) as page:
        for path in (tournament, f"{tournament}/games/1"):
            page.goto(path, wait_until="load")
            names = page.locator(":is(th, td, .label, .pair) .cut:visible")
            assert names.count() > 1, path
            for name in names.all():
                assert name.evaluate(
                    """name => {
                      const end = name.lastElementChild.getBoundingClientRect();
                      const cell = name.closest("th, td, .label, .pair > span").getBoundingClientRect();
                      return end.width > 0 && end.right <= cell.right + 1;
                    }"""
                ), path


@pytest.mark.parametrize("page_address", [*PAGES, *SIGNED_IN])
def test_page_is_valid_html(site: Site, parameter_values: dict[str, str], token: str, page_address: str) -> None:
    cookie = f"noughts_token={token}" if page_address in SIGNED_IN else ""
    path = page_address.format_map(parameter_values)
    answer = site.get(path, accept="text/html", cookie=cookie)
    text = site.get(answer.headers.get("location", path), accept="text/html", cookie=cookie).text
    assert html_errors(text) == []


def test_the_checks_of_pages_find_errors(site: Site, browser: Browser) -> None:
    assert html_errors("<!doctype html><title>x</title><p><div></p>") != []
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        page.evaluate("document.querySelector('h1').style.color = '#ccc'")
        assert accessibility_errors(page) == ["serious color-contrast: h1"]


def _add_bytes(weights: list[int], answer: Response) -> None:
    # A stream of events has no content-length, and counts as 0.
    weights.append(int(answer.headers.get("content-length", 0)))


def _add_message(console_lines: list[str], message: ConsoleMessage) -> None:
    console_lines.append(f"{message.type}: {message.text}")


def accessibility_errors(page: Page, *rules: str) -> list[str]:
    """Return the findings of axe: by all its rules, or these."""
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    violations = Axe().run(page, options=options).response["violations"]
    return [
        f"{violation['impact']} {violation['id']}: {', '.join(str(node['target'][0]) for node in violation['nodes'])}"
        for violation in violations
    ]


def html_errors(text: str) -> list[str]:
    """Return the first error of a strict reader of HTML."""
    import html5lib
    from html5lib.html5parser import ParseError

    try:
        html5lib.HTMLParser(strict=True).parse(text)
    except ParseError as error:
        return [str(error)]
    return []
