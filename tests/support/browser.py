"""A browser driven by playwright. Without a browser the tests that need one fail and say how to get it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.support.browser_program import use_node_of_wheel
from tests.support.tools import browser_program

PATIENCE_MS = 60_000
"""A page or an element that does not come within this time is missing."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    expect.set_options(timeout=PATIENCE_MS)
    program = browser_program()
    use_node_of_wheel()
    with sync_playwright() as playwright:
        # Tests run as root in containers, where its sandbox cannot; all that is loaded is ours.
        browser = playwright.chromium.launch(
            executable_path=program.path,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            env=dict(program.environment),
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_in(browser: Browser, base: str, **options: Any) -> Iterator[Page]:
    """A page of a visitor of their own. Fails if a script fails or a request goes to another host."""
    wrong: list[str] = []
    context = browser.new_context(base_url=base, **options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))

    def asked(request: Request) -> None:
        if not request.url.startswith((base, "blob:", "data:")):
            wrong.append(f"request: {request.url}")

    context.on("request", asked)
    try:
        yield page
    finally:
        context.close()
    assert wrong == []
