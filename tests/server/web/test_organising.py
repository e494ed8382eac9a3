"""A tournament organised in a browser: sign in, create it, enter bots, follow it to its end, sign out."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.testing import ServerUnderTest
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


@contextmanager
def in_other_thread(context: AbstractContextManager[None]) -> Iterator[None]:
    """Enter and leave the context in another thread, because playwright's event loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(context.__enter__).result()
        try:
            yield
        finally:
            pool.submit(context.__exit__, None, None, None).result()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_tournament_is_made_and_run_from_the_browser(
    server: ServerUnderTest, site: Site, browser: Browser, scripts: bool
) -> None:
    owner = "ada" if scripts else "bob"
    token = server.token(owner)
    bots = {f"{owner}-one": "random", f"{owner}-two": "first-free"}
    with (
        in_other_thread(bots_online(server.address, token, **bots)),
        page_in(browser, site.address, java_script_enabled=scripts) as page,
    ):
        page.goto("/organise")
        page.get_by_label("Your token").fill("nou_wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("token")
        page.goto("/organise")
        page.get_by_label("Your token").fill(token)
        page.keyboard.press("Enter")
        page.get_by_label("Address").fill(f"{owner}-cup")
        page.get_by_label("Title").fill("From the browser")
        page.get_by_label("Format").select_option("knockout")
        page.get_by_label("On the clock").fill("")
        page.get_by_label("Added after each move").fill("")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name="From the browser")).to_be_visible()
        for bot in bots:
            page.get_by_label("My bot").select_option(f"bots/{bot}")
            page.get_by_role("button", name="Join").click()
            expect(page.get_by_role("row", name=bot)).to_be_visible()
        page.get_by_role("button", name="Start").click()
        if not scripts:
            while not page.locator(".state.finished").count():
                page.reload()
        expect(page.locator(".state.finished")).to_be_visible()
        # A finished knockout cannot be extended.
        expect(page.get_by_role("button", name="Add")).to_have_count(0)
        page.get_by_role("link", name="My page").click()
        page.get_by_role("navigation", name="My page").get_by_role("link", name="Tournaments").click()
        expect(page.get_by_role("link", name="From the browser")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("link", name="Sign in")).to_be_visible()
        assert page.context.cookies() == []


def test_the_error_of_a_wrong_field_is_shown_next_to_it(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        name, increment = page.get_by_label("Address"), page.get_by_label("Added after each move")
        name.fill("Spring Cup!")
        page.get_by_label("On the clock").fill("")
        page.get_by_role("button", name="Create the tournament").click()
        # The form refuses the increment without a base time; then the server refuses the name.
        for field, words in (
            (increment, "Expected a base time (On the clock), to which the increment is added."),
            (name, "Expected 1 to 63 characters from a-z, 0-9 and -."),
        ):
            expect(field).to_have_accessible_description(re.compile(re.escape(words)))
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(field).to_be_focused()
            expect(page.get_by_role("alert")).to_have_text(words)
            assert "tournament.name" not in page.content()
            increment.fill("")
            page.get_by_role("button", name="Create the tournament").click()
        name.fill("spring-cup")
        page.get_by_label("Games a pair").fill("0.5")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("alert")).to_have_text("Expected a whole number.")
        page.get_by_label("Games a pair").fill("2")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name="spring-cup")).to_be_visible()
        page.goto("/organise")
        name.fill("spring-cup")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("alert")).to_have_text("This name is already taken. Choose another.")
