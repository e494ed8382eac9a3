"""Visitors switch between light and dark colours, whatever their device prefers."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.web.app import static_files
from noughts_server.web.theme import with_theme_switch
from tests.support.browser import page_in
from tests.support.site import Site

STYLE = """\
:root {
  --page: white;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: black;
  }
}
a {
  color: red;
}
"""
LIGHT, DARK = "rgb(247, 245, 241)", "rgb(19, 20, 23)"


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_dark_colours_follow_the_device_or_the_choice() -> None:
    style = with_theme_switch(STYLE)
    assert style.count("--page: black;") == 2
    assert ':root:not([data-theme="light"])' in style
    assert '@media not print {\n  :root[data-theme="dark"] {\n    --page: black;' in style
    assert style.endswith("a {\n  color: red;\n}\n")


def test_every_style_sheet_with_dark_colours_has_the_switch() -> None:
    _, contents = static_files()
    for name, (kind, body) in contents.items():
        if kind == "text/css":
            text = body.decode()
            assert text.count("prefers-color-scheme: dark") == text.count(':root[data-theme="dark"] {\n   '), name


@pytest.mark.processes
def test_choice_of_colours_stays_on_all_pages_and_in_other_tabs(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address, color_scheme="light") as page:
        other = page.context.new_page()
        other.goto(f"{site.address}/{cup}/games/1")
        page.goto("/bots")
        switch = page.get_by_role("button", name="Colours: as the device")
        assert background(page) == LIGHT
        switch.click()
        page.get_by_role("button", name="Colours: light").click()
        expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
        assert background(page) == DARK
        expect(other.locator("html")).to_have_attribute("data-theme", "dark")
        assert background(other) == DARK
        page.goto("/leaderboard")
        assert background(page) == DARK
        page.goto("/tv")
        assert background(page) == DARK
        page.goto("/")
        page.get_by_role("button", name="Colours: dark").click()
        assert background(page) == LIGHT


@pytest.mark.processes
def test_documentation_uses_the_key_and_values_of_the_switch() -> None:
    spec = find_spec("furo")
    assert spec is not None
    assert spec.origin is not None
    script = Path(spec.origin).parent / "theme/furo/static/scripts/furo.js"
    text = script.read_text(encoding="utf-8")
    assert 'localStorage.setItem("theme"' in text
    assert all(f'"{value}"' in text for value in ("light", "dark", "auto"))
