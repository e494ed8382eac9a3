"""Games that bots lost through their own fault, on the pages of their tournament and of the games."""

import pytest
from playwright.sync_api import Browser

from noughts_server.testing import ServerUnderTest
from tests.support.browser import page_in
from tests.support.site import Site
from tests.support.stepwise_bots import Failing

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def failed(server: ServerUnderTest, site: Site) -> str:
    """The tournament of a bot that raises an exception in each of its two games."""
    known = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]}
    server.match(Failing(), "first-free", variant="gomoku", games=2)
    (name,) = {tournament["name"] for tournament in site.get("/api/v1/tournaments").document["tournaments"]} - known
    return f"/{name}"


def test_exceptions_of_bots_count_as_faults_on_all_pages(site: Site, failed: str) -> None:
    overview = site.get(failed).text
    assert "Lost by a fault" in overview
    assert '<td class="how">Failing&#39;s program failed. RuntimeError: the search failed' in overview
    standings = site.get(f"/api/v1{failed}").document["standings"]
    assert {row["label"]: row["faults"] for row in standings} == {"Failing": 2, "first-free": 0}
    assert site.get(f"/api/v1{failed}/games?faults_only=true").document["games"][1]["name"].endswith("/games/2")
    assert "2 games, numbers 1 to 2" in site.get(f"{failed}/games?faults_only=true").text
    game = site.get(f"{failed}/games/1").text
    assert "won: Failing&#39;s program failed." in game
    assert "Failing&#39;s program failed. RuntimeError" in game


def test_author_sees_at_once_that_a_bot_loses_by_faults(server: ServerUnderTest, site: Site, failed: str) -> None:
    owner = site.get("/api/v1/bots/Failing").document["owner"]
    page = site.get("/me", cookie=f"noughts_token={server.token(owner)}").text
    link, _, words = page.partition("2 of 2 lost by faults")
    assert words
    assert f'href="{failed}/games/' in link[-300:]


def test_rows_of_faults_fit_on_phones(site: Site, browser: Browser, failed: str) -> None:
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto(failed)
        rows = page.locator(".games .how")
        assert rows.count() == 2
        for row in rows.all():
            assert row.evaluate("row => row.getBoundingClientRect().right <= innerWidth")
        # The dash between the names of the players has the same space on both sides.
        second = page.locator(".games .who + .who").first
        gap = """cell => {
            const range = document.createRange();
            range.selectNodeContents(cell.previousElementSibling);
            return cell.getBoundingClientRect().left - range.getBoundingClientRect().right;
        }"""
        assert second.evaluate(gap) < 8
        assert page.evaluate("[...document.querySelectorAll('.games .how')].every(e => e.scrollWidth <= e.clientWidth)")
