"""Pages with the opinions of a website's analyst about the positions that visitors watch, apart from proofs."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.analyst import AnalystSettings
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of

pytestmark = pytest.mark.processes
ENGINE = Path(__file__).parents[2] / "support" / "children" / "reporting_engine.py"
MARKUP = "<b>&"
SPEC = f"{MARKUP}=gomocup:{shlex.quote(sys.executable)} {ENGINE} 35"


@pytest.fixture(scope="module")
def watched(server: ServerUnderTest) -> Iterator[Site]:
    """A site whose analyst is an engine that reports the score 35, and the two lowest free cells as its line."""
    with site_of(server.address, analyst=AnalystSettings(name=MARKUP, spec=SPEC, seconds=0.1)) as running:
        yield running


@pytest.fixture(scope="module")
def large(server: ServerUnderTest, site: Site) -> str:
    """The name of a finished game of gomoku."""
    server.match("fives", "first-free", games=1, variant="gomoku", seed=7)
    for tournament in site.get("/api/v1/tournaments").document["tournaments"]:
        if tournament["title"] == "fives - first-free":
            return f"{tournament['name']}/games/1"
    raise AssertionError("the match is missing")


def section_of(page: str) -> str:
    """Return the text of the opinion on a page."""
    section = page[page.index('id="opinion"') :]
    return " ".join(re.sub(r"<[^>]+>", " ", section[: section.index("</section>")]).split())


def test_page_without_scripts_has_a_link_to_each_opinion(watched: Site, large: str) -> None:
    first = watched.get(f"/{large}?ply=0").text
    assert f'href="/{large}?ply=0&amp;opinion=true#opinion"' in first
    eventually(lambda: 'data-state="done"' in watched.get(f"/{large}?ply=0&opinion=true").text)
    page = watched.get(f"/{large}?ply=0").text
    text = section_of(page)
    assert "Opinion of &lt;b&gt;&amp;" in text
    assert f"Opinion of {MARKUP}" not in page
    assert "Move 1, fives: score +35, depth 1, 1,000 nodes, expects a15" in text
    assert "An estimate of this engine, and no proof." in text


def test_last_position_of_a_game_has_no_opinion(watched: Site, large: str) -> None:
    assert "The game is over in this position." in section_of(watched.get(f"/{large}?opinion=true").text)


def test_page_of_another_site_starts_no_opinion(watched: Site, large: str) -> None:
    for address in (f"/{large}?ply=4&opinion=true", f"/{large}/opinion?ply=4"):
        assert 'id="opinion" data-state="none"' in watched.get(address, sec_fetch_site="cross-site").text
    assert "Disallow: /*opinion=" in watched.get("/robots.txt").text.splitlines()


def test_site_without_an_analyst_shows_no_opinion(site: Site, large: str) -> None:
    assert 'id="opinion"' not in site.get(f"/{large}?opinion=true").text
    assert site.get(f"/{large}/opinion").status == 404


def test_opinion_follows_the_position_on_the_board(watched: Site, large: str, browser: Browser) -> None:
    with page_in(browser, watched.address) as page:
        page.goto(f"/{large}?ply=2")
        opinion = page.locator("#opinion")
        expect(opinion).to_contain_text("Move 3, fives: score +35, depth 2")
        page.locator("#back").click()
        expect(opinion).to_contain_text("Move 2, first-free: score +35, depth 1")
        page.locator("#opinion .variation").hover()
        expect(page.locator("#board .expected")).to_have_count(2)
        page.locator("h1").hover()
        expect(page.locator("#board .expected")).to_have_count(0)
        page.locator("#end").click()
        expect(opinion).to_contain_text("The game is over in this position.")


def test_live_game_is_judged_only_if_the_organiser_allows_it(watched: Site, server: ServerUnderTest) -> None:
    with live_game(server, watched, variant="gomoku") as game:
        game.play(112)
        page = watched.get(f"/{game.name}?opinion=true").text
        assert "its organiser has not allowed analysis before the end" in section_of(page)
        game.play(0, 113, 1, 114, 2, 115, 3, 116)


def test_live_page_gets_opinions_and_the_analysis_without_a_reload(
    watched: Site, server: ServerUnderTest, browser: Browser
) -> None:
    with (
        live_game(server, watched, variant="gomoku", live_analysis=True) as game,
        page_in(browser, watched.address) as page,
    ):
        page.goto(f"/{game.name}")
        page.evaluate("window.isFirstPage = true")
        expect(page.locator("#opinion")).to_contain_text("Move 1, First: score +35")
        expect(page.locator("#analysis")).to_be_hidden()
        game.play(112)
        expect(page.locator("#opinion")).to_contain_text("Move 2, Second: score +35")
        game.play(0, 113, 1, 114, 2, 115, 3, 116)
        expect(page.locator("#analysis")).to_have_attribute("data-state", "done")
        expect(page.locator("#analysis")).to_contain_text("found a forced win at move")
        expect(page.locator("#opinion")).to_contain_text("The game is over")
        assert page.evaluate("window.isFirstPage")
