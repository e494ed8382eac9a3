"""The page of a match shows its test live up to the decision."""

import re

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


def test_page_follows_a_match_to_the_decision_of_its_test(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {"id": "lea-test", "schedule": "match", "games_per_pair": "600", "sprt": "elo0=0,elo1=100"}
    refusal = site.post("/organise", {**form, **fields, "sprt": "elo0=9"}, cookie=cookie)
    assert refusal.status == 400
    assert "got no elo1" in refusal.text
    path = site.post("/organise", {**form, **fields}, cookie=cookie).headers["location"]
    with in_other_thread(bots_online(server.address, token, **{"lea-new": "pascal", "lea-old": "random"})):
        for bot in ("lea-new", "lea-old"):
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        with page_in(browser, site.address) as page:
            page.goto(path)
            expect(page.get_by_role("heading", name="Not decided yet")).to_be_visible()
            assert site.post(f"{path}/start", form, cookie=cookie).status == 303
            expect(page.get_by_role("heading", name="lea-new is stronger")).to_be_visible()
            page.get_by_text("Details", exact=True).click()
            expect(page.get_by_role("group", name="LLR over pairs of games").locator("svg")).to_be_visible()
            expect(page.get_by_role("img", name="½: 0, ")).to_be_visible()
            expect(page.get_by_role("heading", name="By ending")).to_be_visible()
            expect(page.locator("code[data-copy]")).to_contain_text("lea-new against lea-old: gain proven")
            page.reload()  # a page that is no longer live
            page.get_by_text("Details", exact=True).click()
            page.get_by_role("button", name="Copy").click()
            expect(page.get_by_role("button", name=re.compile("Copied|Selected"))).to_be_visible()
    statistics = site.get(f"/api/v1{path}").document["match"]
    assert statistics["sprt"]["decision"] == "H1"
    assert statistics["sprt"]["llr"] >= statistics["sprt"]["upper"]
    assert statistics["labels"] == ["lea-new", "lea-old"]
    assert len(statistics["pentanomial"]) == 5
