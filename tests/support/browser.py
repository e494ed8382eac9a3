"""A browser that playwright drives. Without a browser, the tests that need one fail with a hint how to get it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.support.browser_program import use_node_of_wheel
from tests.support.tools import browser_program

PATIENCE_MS = 60_000
"""Milliseconds after which a page or an element counts as missing."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    expect.set_options(timeout=PATIENCE_MS)
    program = browser_program()
    use_node_of_wheel()
    with sync_playwright() as playwright:
        # The sandbox of Chromium does not work as root in a container. The tests load only our own pages.
        browser = playwright.chromium.launch(
            executable_path=program.path,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            env=dict(program.environment),
            timeout=PATIENCE_MS,
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_in(browser: Browser, base: str, **options: Any) -> Iterator[Page]:
    """A page in a browser context of its own. Fails if a script fails or a request goes to another host.

    If the block fails, its error has a note with these problems and with the requests that failed: a page whose scripts
    do not load waits for nothing.
    """
    problems: list[str] = []
    failed_requests: list[str] = []
    context = browser.new_context(base_url=base, **options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: problems.append(f"script: {error}"))

    def check_host(request: Request) -> None:
        if not request.url.startswith((base, "blob:", "data:")):
            problems.append(f"request: {request.url}")

    context.on("request", check_host)
    context.on("requestfailed", lambda request: failed_requests.append(f"failed: {request.url}: {request.failure}"))
    try:
        yield page
    except BaseException as error:
        error.add_note("\n".join([f"At {page.url}:", *problems, *failed_requests]))
        raise
    finally:
        context.close()
    assert problems == []
