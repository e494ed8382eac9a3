"""`noughts db analyses rebuild`."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from noughts_server.store.games.analyses import GameToAnalyse, store_failure
from tests.server.cli.conftest import Noughts
from tests.support.arena import open_arena
from tests.support.random_games import store_random_games

pytestmark = pytest.mark.processes


async def _store_failed_analysis(file: Path) -> None:
    async with open_arena(file) as arena:
        await store_random_games(arena, "tictactoe", 2)
        game = GameToAnalyse(1, 2, "tictactoe", (), 0, counts=True)
        await arena.store.write(partial(store_failure, game=game, reason="it is a test"))


def test_failed_analysis_is_replaced(noughts: Noughts, tmp_path: Path) -> None:
    asyncio.run(_store_failed_analysis(tmp_path / "games.sqlite"))
    database = f"sqlite:///{tmp_path / 'games.sqlite'}"
    assert json.loads(noughts(f"db analyses rebuild --db {database} --format json").stdout) == {"analyses": 1}
    assert noughts(f"db analyses rebuild --db {database}").stdout == "1 game analysed\n"
