"""The page for operators with the nodes and what the games of each machine show."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from noughts_server.runtime.machine import host_name
from noughts_server.store.people.tokens import create_token
from tests.support.arena import NOW, open_arena
from tests.support.background import server_in_thread
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes
# A new server forgets machines without games for a month.
RECENTLY = round(datetime.now(UTC).timestamp() * 1000)
GOOD, BAD = (
    f"('{name}', {RECENTLY}, {RECENTLY}, 900, 3, 800, {points}, 520, 180)"
    for name, points in (("fox", 522), ("owl", 420))
)


class SiteWithMachines(NamedTuple):
    """A website, and the tokens of an admin and of alice."""

    site: Site
    admin: str
    alice: str


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteWithMachines]:
    """The site of a server with the games of two machines, of which one stands out."""
    path: Path = tmp_path_factory.mktemp("machines") / "x.sqlite"

    async def create_tokens() -> tuple[str, str]:
        async with open_arena(path) as arena:
            arena.execute(f"INSERT INTO machine_scores VALUES {GOOD}, {BAD}")
            admin = await arena.store.write(partial(create_token, owner="root", scopes=("admin",), now_ms=NOW))
            alice = await arena.store.write(partial(create_token, owner="alice", now_ms=NOW))
            return admin.secret, alice.secret

    admin, alice = asyncio.run(create_tokens())
    with server_in_thread(f"sqlite:///{path}") as address, site_of(address) as site:
        yield SiteWithMachines(site, admin, alice)


def test_admin_sees_the_only_server_and_the_machine_that_stands_out(machines: SiteWithMachines) -> None:
    cookie = f"noughts_token={machines.admin}"
    page = machines.site.get("/nodes", cookie=cookie).text
    assert f'<th scope="row">server-{host_name()}</th>' in page
    assert '<th scope="row">owl <strong class="fault">stands out</strong></th>' in page
    assert '<th scope="row">fox</th>' in page
    assert "-12.5 ± 3.3 %" in page
    assert 'href="/nodes"' in machines.site.get("/me", cookie=cookie).text


def test_nobody_but_an_admin_sees_nodes(machines: SiteWithMachines) -> None:
    cookie = f"noughts_token={machines.alice}"
    assert machines.site.get("/nodes", cookie=cookie).status == 403
    assert 'href="/nodes"' not in machines.site.get("/me", cookie=cookie).text
    assert machines.site.get("/nodes").headers["location"].startswith("/signin")
