"""Actions that cannot be undone ask for confirmation, in a real browser."""

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


def refuse_then_agree(page: Page, button: str, question: str) -> None:
    """Press the button twice: leave the first question with Escape, answer the second."""
    dialog = page.get_by_role("dialog", name=question)
    page.evaluate("window.sameDocument = true")
    page.get_by_role("button", name=button, exact=True).click()
    expect(dialog.get_by_role("button", name="No, go back")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert page.evaluate("window.sameDocument") is True
    page.get_by_role("button", name=button, exact=True).click()
    dialog.locator("button.danger").click()


def test_confirmation_applies_to_the_action_that_was_asked_about(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    token, bots = server.token("dora"), ("dora-one", "dora-two")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    with (
        in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "random"))),
        page_in(browser, site.address) as page,
    ):
        page.context.add_cookies([{"name": "noughts_token", "value": token, "url": site.address}])
        fields = {**form, "id": "dora-cup", "schedule": "round_robin", "games_per_pair": "1000000"}
        path = site.post("/organise", fields, cookie=cookie).headers["location"]
        for name in bots:
            site.post(f"{path}/join", {**form, "bot": f"bots/{name}"}, cookie=cookie)
        page.goto(path)
        page.get_by_role("button", name="Cancel tournament").click()
        dialog = page.get_by_role("dialog", name="Cancel dora-cup for good?")
        site.post(f"{path}/start", form, cookie=cookie)
        # A running tournament has a form to extend it, so the form of the open question is not the second one any more.
        expect(page.locator(".state")).to_have_text("running")
        dialog.locator("button.danger").click()
        expect(page.locator(".state")).to_have_text("cancelled")


def test_cancel_retire_and_revoke_ask_first(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    token, spare = server.token("cora"), server.token("cora")
    assert spare
    with (
        in_other_thread(bots_online(server.address, token, **{"cora-bot": "random"})),
        page_in(browser, site.address) as page,
    ):
        page.context.add_cookies([{"name": "noughts_token", "value": token, "url": site.address}])
        page.goto("/organise")
        page.get_by_label("Address").fill("cora-cup")
        page.get_by_role("button", name="Create the tournament").click()
        refuse_then_agree(page, "Cancel tournament", "Cancel cora-cup for good?")
        expect(page.locator(".state")).to_have_text("cancelled")
        page.goto("/me")
        refuse_then_agree(page, "Retire cora-bot", "Retire cora-bot?")
        page.get_by_role("button", name="Restore cora-bot").click()
        expect(page.get_by_role("button", name="Retire cora-bot")).to_be_visible()
        page.goto("/me?tab=tokens")
        tokens = page.locator("section[aria-labelledby='tokens'] tbody tr")
        number = max(int(text) for text in tokens.locator("th").all_inner_texts())
        refuse_then_agree(page, f"Revoke token {number}", f"Revoke token {number}")
        expect(tokens.filter(has_text="revoked")).to_have_count(1)
