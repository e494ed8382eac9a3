"""What holds for every page: people can use it, it is HTML, it is light, it stays where it is, it asks nobody else."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import html5lib
import pytest
from axe_playwright_python.sync_playwright import Axe
from html5lib.html5parser import ParseError
from playwright.sync_api import Browser, ConsoleMessage, Page, Response
from starlette.routing import compile_path

from noughts_server.web.pages import Pages
from tests.support.browser import chromium, page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes
PAGES = (
    "/",
    "/tournaments",
    "/tournaments?challenges=true",
    "/{cup}",
    "/{cup}/games",
    "/{cup}/games/1",
    "/{cup}/games/1/embed",
    "/leaderboard",
    "/bots",
    "/bots/pascal",
    "/bots/pascal/against/random",
    "/nothing",
)
"""Every address that is a page, and one that is none."""
MOST_BYTES = 150_000
# Half of what is called good: the sum of how far things move after they were seen, as a share of the window.
MOST_SHIFTED = 0.05
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1200, "height": 900}
SEEN_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def test_every_address_that_is_a_page_is_looked_at() -> None:
    addresses = [address.path for address in Pages(Any, Any, "").addresses() if not address.path.endswith(".atom")]  # type: ignore[arg-type]
    patterns = [compile_path(address)[0] for address in addresses]
    paths = [page.format(cup="tournaments/cup").partition("?")[0] for page in PAGES]
    assert [pattern.pattern for pattern in patterns if not any(map(pattern.match, paths))] == []


@pytest.mark.parametrize("page_address", PAGES)
def test_a_page_can_be_used_by_everybody_and_keeps_to_its_bounds(
    site: Site, browser: Browser, cup: str, page_address: str
) -> None:
    path = page_address.format(cup=cup)
    for window in (DESK, PHONE):
        with page_in(browser, site.address, viewport=window, reduced_motion="reduce") as page:
            weights: list[int] = []
            said: list[str] = []
            page.on("response", partial(_weigh, weights))
            page.on("console", partial(_hear, said))
            page.add_init_script(SEEN_SHIFTS)
            page.goto(path, wait_until="load")
            assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
            if window == DESK:
                assert hindrances(page) == []
            else:
                page.emulate_media(color_scheme="dark")
                assert hindrances(page, "color-contrast", "target-size", "scrollable-region-focusable") == []
            assert page.evaluate("window.shifted") < MOST_SHIFTED
            assert sum(weights) < MOST_BYTES
            # Chromium itself tells of a page that is not there.
            assert [line for line in said if path != "/nothing" or "404" not in line] == []


@pytest.mark.parametrize("page_address", PAGES)
def test_a_page_is_html(site: Site, cup: str, page_address: str) -> None:
    text = site.get(page_address.format(cup=cup), accept="text/html").text
    assert mistakes(text) == []


def test_the_checks_find_what_is_wrong(site: Site, browser: Browser) -> None:
    assert mistakes("<!doctype html><title>x</title><p><div></p>") != []
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        page.evaluate("document.querySelector('h1').style.color = '#ccc'")
        assert hindrances(page) == ["serious color-contrast: h1"]


def _weigh(weights: list[int], answer: Response) -> None:
    # A stream of events has no length.
    weights.append(int(answer.headers.get("content-length", 0)))


def _hear(said: list[str], message: ConsoleMessage) -> None:
    said.append(f"{message.type}: {message.text}")


def hindrances(page: Page, *rules: str) -> list[str]:
    """What axe finds serious or critical: by all its rules, or these."""
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['impact']} {each['id']}: {', '.join(str(node['target'][0]) for node in each['nodes'])}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def mistakes(text: str) -> list[str]:
    """What a strict reader of HTML stumbles over first."""
    try:
        html5lib.HTMLParser(strict=True).parse(text)
    except ParseError as error:
        return [str(error)]
    return []
