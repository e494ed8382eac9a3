"""Actions that cannot be undone ask for confirmation, in a real browser."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


def words_of(text: str) -> str:
    """Return the text without line breaks."""
    return re.sub(r"\s+", " ", text)


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


def test_withdrawing_asks_first_and_counts_the_games(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    organiser, author = server.token("otto"), server.token("alma")
    path = "/tournaments/withdrawn-from"

    def send(token: str, address: str, **fields: str) -> None:
        form = {"csrf": Visitor(token).csrf, **fields}
        assert site.post(address, form, cookie=f"noughts_token={token}").status == 303

    send(organiser, "/organise", id="withdrawn-from", schedule="round_robin", games_per_pair="4", rated="on")
    for token, bots in ((organiser, ("otto-bot",)), (author, ("alma-one", "alma-two"))):
        with in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "random"))):
            pass
        for bot in bots:
            send(token, f"{path}/join", bot=f"bots/{bot}")
    before = site.get(path, cookie=f"noughts_token={organiser}").text
    assert "Cancel withdrawn-from for good? It has not started, so no rating changes." in words_of(before)
    assert "Withdraw alma-one from withdrawn-from? It can enter again until the start." in before
    # The bots are offline, so no game begins.
    send(organiser, f"{path}/start")
    running = words_of(site.get(path, cookie=f"noughts_token={organiser}").text)
    assert "for good? It cannot be resumed, and there is no winner. Your bots lose the games that they are" in running
    assert "The games that are over keep their results and count for ratings." in running
    send(organiser, f"{path}/pause")
    paused = site.get(path, cookie=f"noughts_token={organiser}").text
    assert re.findall('name="label" value="([^"]+)"', paused) == ["otto-bot"]
    assert "Your bots play for ratings here. Only its author can withdraw another bot." in paused
    assert (
        paused.index("Paused: no new games begin") < paused.index(">Resume<") < paused.index('id="withdraw-otto-bot"')
    )
    assert "Authors enter their bots on this page until the tournament resumes:" in paused
    assert "They are added to the 4 games of each pair so far." in paused
    assert "Another author" not in paused  # no bot is open to organisers
    assert "The organiser, otto, can resume it. Authors can enter bots while it is paused." in words_of(
        site.get(path).text
    )
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": author, "url": site.address}])
        page.goto(path)
        entries = page.get_by_role("list", name="Entered").get_by_role("listitem")
        expect(entries).to_have_count(2)
        expect(entries.first).to_contain_text("8 games left")
        expect(page.get_by_text("Entered", exact=True)).to_have_count(0)
        question = (
            "Withdraw alma-one from withdrawn-from? It loses the 8 games that it has not finished, and cannot return."
        )
        refuse_then_agree(page, "Withdraw alma-one", question)
        expect(entries).to_have_count(1)
    standings = site.get(path).text.partition('id="standings"')[2]
    assert ">withdrawn</span>" in words_of(standings)
    assert ": on request" not in standings
