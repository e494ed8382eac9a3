"""The page of a game and `noughts game explain` find the same mistakes, with the same words."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from noughts_server.records.explaining import better, continuation, effect, sentences
from tests.support.arena import open_arena
from tests.support.background import server_in_thread
from tests.support.patience import PATIENCE
from tests.support.processes import eventually, json_of
from tests.support.random_games import store_random_games
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes
VARIANTS = {
    "three": "tictactoe",
    "four": "connect4",
    "five": "gomoku",
    "small": "mnk:4,4,3",
    "cube": "tictactoe3d",
}
"""Variants by the name of their tournament."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Site]]:
    """The address of a server with two games of each variant, and its site."""
    file = tmp_path_factory.mktemp("games") / "games.sqlite"
    asyncio.run(_store_games(file))
    with server_in_thread(f"sqlite:///{file}") as address, site_of(address) as site:
        yield address, site


async def _store_games(file: Path) -> None:
    async with open_arena(file) as arena:
        for slug, variant in VARIANTS.items():
            await store_random_games(arena, variant, 2, slug=slug)


@pytest.mark.at_length
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("slug", VARIANTS)
def test_page_and_command_say_the_same(served: tuple[str, Site], slug: str, number: int) -> None:
    address, site = served
    name = f"tournaments/{slug}/games/{number}"
    explained = json_of(f"game explain {slug}/{number}", {"NOUGHTS_SERVER": address})
    eventually(lambda: 'data-state="done"' in site.get(f"/{name}?analysis=true").text, seconds=5 * PATIENCE)
    page = site.get(f"/{name}").text
    section = page[page.index('<section class="analysis"') :]
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", section)).split())
    turns = explained["turns"]
    # The page begins with the mistakes that matter most.
    plies = sorted(int(ply) + 1 for ply in re.findall(r'data-ply="(\d+)"', section))
    assert plies == [turn["ply"] for turn in turns]
    for turn in turns:
        assert f"{turn['ply']}. {turn['move']}?" in text
        assert f"{turn['bot']} {effect(turn)}." in text
        if turn["better"]:
            assert f"{better(turn)}: {' '.join(turn['better'])}." in text
        if turn["line"]:
            assert f"{continuation(turn)}: {' '.join(turn['line'])}." in text
    if not turns:
        assert sentences(explained)[-1] in text
