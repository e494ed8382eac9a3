"""The list of bots of a server with house bots: the levels are apart, so that they do not hide the bots of authors."""

import asyncio
from pathlib import Path

import pytest

from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.anchors import register_anchor
from noughts_server.store.people.tokens import HOUSE_OWNER, create_token
from tests.support.arena import NOW
from tests.support.background import bots_online, server_in_thread
from tests.support.databases import make_file, url_of
from tests.support.site import site_of

pytestmark = pytest.mark.processes
LEVELS = ("level-1000", "level-1200", "level-1500")


async def prepare(url: str) -> str:
    """Register the levels in the database, and return a token of an author."""

    def write(connection: Connection) -> str:
        for name in LEVELS:
            rating = float(name.removeprefix("level-"))
            register_anchor(connection, owner=HOUSE_OWNER, name=name, rating=rating, now_ms=NOW)
        return create_token(connection, owner="mia", now_ms=NOW).secret

    store = await Store.open(url)
    try:
        return await store.write(write)
    finally:
        await store.close()


def test_levels_are_folded_below_the_bots_of_authors(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    make_file(path)
    token = asyncio.run(prepare(url_of(path)))
    with server_in_thread(url_of(path)) as server, site_of(server) as site:
        empty = site.get("/bots").text
        assert "There are no bots of authors yet." in empty
        assert '<details class="describe" open><summary>3 bots of measured strengths</summary>' in empty
        with bots_online(server, token, mine="random"):
            table, _, rest = site.get("/bots").text.partition("</table>")
            assert "bots/mine" in table
            assert not [name for name in LEVELS if name in table]
            assert '<details class="describe"><summary>3 bots of measured strengths</summary>' in rest
            places = [rest.index(f'href="/bots/{name}"') for name in LEVELS]
            assert places == sorted(places)
            # Those who search for a level find it.
            found = site.get("/bots?search=level-12").text
            assert "bots/level-1200" in found.partition("</table>")[0]
            assert "measured strength" not in found
            assert "level-" not in site.get("/bots?online_only=true").text
