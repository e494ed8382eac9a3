"""The page of a tournament of candidates shows each candidate's test, live up to the decision."""

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


def test_page_follows_candidates_to_the_decision(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {"id": "lea-pick", "schedule": "candidates", "games_per_pair": "600", "sprt": "elo0=0,elo1=100"}
    refusal = site.post("/organise", {**form, **fields, "sprt": ""}, cookie=cookie)
    assert refusal.status == 400
    assert "it decides which candidates are dropped" in refusal.text
    path = site.post("/organise", {**form, **fields}, cookie=cookie).headers["location"]
    bots = {"lea-base": "random", "lea-one": "pascal", "lea-two": "first-free"}
    with in_other_thread(bots_online(server.address, token, **bots)):
        for bot in bots:
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        with page_in(browser, site.address) as page:
            page.goto(path)
            expect(page.get_by_role("heading", name="No candidate is accepted yet")).to_be_visible()
            assert site.post(f"{path}/start", form, cookie=cookie).status == 303
            expect(page.get_by_role("heading", name=" is accepted")).to_be_visible()
            expect(page.get_by_role("cell", name="accepted", exact=True)).to_be_visible()
    candidates = site.get(f"/api/v1{path}").document["candidates"]
    assert [candidate["labels"] for candidate in candidates] == [["lea-one", "lea-base"], ["lea-two", "lea-base"]]
    assert [candidate["sprt"]["decision"] for candidate in candidates].count("H1") == 1
