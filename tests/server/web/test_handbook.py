"""The documentation under /docs: built by Sphinx without warnings, served by the website, searched in a browser."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, expect

from noughts_server.web import handbook
from tests.server.web.test_every_page import accessibility_errors
from tests.support.browser import page_in
from tests.support.root import ROOT
from tests.support.shared import make_once
from tests.support.site import Site

BUILD_SECONDS = 400

pytestmark = [pytest.mark.processes, pytest.mark.timeout(BUILD_SECONDS + 100), pytest.mark.at_length]


def build(folder: Path) -> None:
    """Build the documentation into a folder."""
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-d", folder / "trees", "docs", folder / "html"],
        cwd=ROOT, check=True, timeout=BUILD_SECONDS,
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def documentation_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The documentation in a folder of its own, served in the place of the installed one."""
    folder = make_once(tmp_path_factory, "documentation", build)
    handbook.contents.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handbook, "FOLDER", folder / "html")
        yield folder / "html"
    handbook.contents.cache_clear()


def test_documentation_is_searched_and_read_under_its_policy(site: Site, browser: Browser) -> None:
    console_errors: list[str] = []

    def add_error(message: ConsoleMessage) -> None:
        if message.type == "error":
            console_errors.append(message.text)

    with page_in(browser, site.address) as page:
        page.on("console", add_error)
        page.goto("/docs")
        expect(page.locator("h1")).to_contain_text("Documentation")
        page.locator(".sidebar-search").fill("double-three")
        page.keyboard.press("Enter")
        expect(page.locator("#search-results li").first).to_be_visible()
        page.locator("#search-results li a").first.click()
        expect(page.locator("article h1")).to_be_visible()
        assert console_errors == []
        page.get_by_role("navigation", name="Site").get_by_role("link", name="Leaderboard").click()
        expect(page).to_have_url(f"{site.address}/leaderboard")


def test_pages_run_only_their_own_scripts_and_unknown_pages_are_missing(site: Site) -> None:
    policy = site.get("/docs/index.html").headers["content-security-policy"]
    scripts = policy.split("script-src ")[1].split(";")[0]
    assert "unsafe" not in scripts
    assert "'sha256-" in scripts
    assert site.get("/docs/%2e%2e/handbook.py").status == 404
    assert site.get("/docs/nothing.html").status == 404


def test_language_models_find_all_pages_as_markdown(site: Site) -> None:
    index = site.get("/llms.txt")
    assert index.headers["content-type"].startswith("text/plain")
    links = re.findall(r"^- \[.+\]\((/docs/(.+)\.md)\)", index.text, re.MULTILINE)
    assert {name for _, name in links} == {
        str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")
    }
    assert "`noughts mcp`" in index.text.split("\n\n")[2]  # where agents begin
    full_text = site.get("/llms-full.txt").text
    assert full_text.count("<!-- /docs/") == len(links)
    page = site.get("/docs/how-to/agents.md")
    assert page.headers["content-type"].startswith("text/markdown")
    assert page.text in full_text
    assert "noughts match" in site.get("/docs/reference/commands/start-here.md").text  # a generated part


def test_header_links_to_the_documentation_only_if_it_was_built(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = '<a href="/docs/">Docs</a>'
    assert link in site.get("/").text
    monkeypatch.setattr(handbook, "FOLDER", tmp_path)
    assert link not in site.get("/").text


def test_links_out_of_the_documentation_lead_to_files_of_the_project() -> None:
    pages = (*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"))
    missing = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in links_of(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def links_of(text: str) -> list[str]:
    """Return the files that a page links to."""
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL))
    return [target for target in targets if "://" not in target]


@pytest.mark.parametrize("address", ["/docs/", "/docs/how-to/web.md", "/llms.txt"])
def test_installation_without_documentation_says_how_to_get_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    monkeypatch.setattr(handbook, "FOLDER", tmp_path)
    handbook.contents.cache_clear()
    try:
        answer = site.get(address)
    finally:
        handbook.contents.cache_clear()
    assert answer.status == 404
    assert "run make docs and then pip install" in answer.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_documentation_is_accessible_in_the_colours_of_the_website(
    site: Site, browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    with page_in(browser, site.address, color_scheme=scheme, reduced_motion="reduce") as page:
        page.goto("/")
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        for path in ("/docs/", "/docs/how-to/web.html", "/docs/reference/messages.html"):
            page.goto(path)
            assert accessibility_errors(page) == [], path
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == color
