"""The page for operators that lists results which look arranged."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, ViewportSize

from noughts_server.store.people.tokens import create_token
from tests.server.web.test_every_page import accessibility_errors
from tests.support.arena import NOW, open_arena
from tests.support.arranged import ROUNDS, arrange
from tests.support.background import server_in_thread
from tests.support.browser import page_in
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


class SuspiciousSite(NamedTuple):
    """A website, and the tokens of an admin and of alice."""

    site: Site
    admin: str
    alice: str


@pytest.fixture(scope="module")
def suspicious(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SuspiciousSite]:
    """The site of a server with games that were arranged."""
    path: Path = tmp_path_factory.mktemp("arranged") / "x.sqlite"

    async def play_and_create_tokens() -> tuple[str, str]:
        async with open_arena(path) as arena:
            await arrange(arena)
            admin = await arena.store.write(partial(create_token, owner="root", scopes=("admin",), now_ms=NOW))
            alice = await arena.store.write(partial(create_token, owner="alice", now_ms=NOW))
            return admin.secret, alice.secret

    admin, alice = asyncio.run(play_and_create_tokens())
    with server_in_thread(f"sqlite:///{path}") as address, site_of(address) as site:
        yield SuspiciousSite(site, admin, alice)


def test_admin_sees_suspicious_results_with_links_to_games(suspicious: SuspiciousSite) -> None:
    cookie = f"noughts_token={suspicious.admin}"
    page = suspicious.site.get("/suspicious", cookie=cookie).text
    for title in ("Moved ratings", "Games given up", "Short losses", "Conceded games"):
        assert f">{title}</h2>" in page
    assert page.count('<a href="/bots/eve/against/ada">all</a>') >= 2
    assert f'<td class="number" data-word="counted">{ROUNDS}</td>' in page
    newest = page.partition('">newest</a>')[0].rpartition('<a href="')[2]
    assert suspicious.site.get(newest).status == 200
    assert 'href="/suspicious"' in suspicious.site.get("/me", cookie=cookie).text


def test_nobody_but_an_admin_sees_suspicious_results(suspicious: SuspiciousSite) -> None:
    cookie = f"noughts_token={suspicious.alice}"
    assert suspicious.site.get("/suspicious", cookie=cookie).status == 403
    assert 'href="/suspicious"' not in suspicious.site.get("/me", cookie=cookie).text
    assert suspicious.site.get("/suspicious").headers["location"].startswith("/signin")


@pytest.mark.parametrize("width", [390, 1280])
def test_suspicious_results_can_be_read_on_any_screen(suspicious: SuspiciousSite, browser: Browser, width: int) -> None:
    with page_in(browser, suspicious.site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": suspicious.admin, "url": suspicious.site.address}])
        page.set_viewport_size(ViewportSize(width=width, height=900))
        page.goto("/suspicious")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert accessibility_errors(page) == []
