"""Debian's Chromium, driven by playwright; a machine without it fails the tests that need it, saying how to get it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.fail(f"no browser: got none of {', '.join(_NAMES)} in PATH, expected one; apt-get install chromium")
    with sync_playwright() as playwright:
        # Tests run as root in containers, where its sandbox cannot; all that is loaded is ours.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_in(browser: Browser, base: str, **options: Any) -> Iterator[Page]:
    """A page of a visitor of their own. Fails when a script fails, or something is asked of another host."""
    wrong: list[str] = []
    context = browser.new_context(base_url=base, **options)
    page = context.new_page()
    page.set_default_timeout(60_000)
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
