"""The scores of a rating list, pair by pair."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from noughts_server.competition.score import Score
from noughts_server.core.errors import InvalidArgument
from noughts_server.store.games.bot_games import head_to_head
from noughts_server.store.ratings.leaderboards import leaderboard
from noughts_server.store.ratings.rated_pairs import rated_pairs
from tests.support.arena import Arena, open_arena


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """Two tournaments of one list, one of another, and an unrated one."""
    async with open_arena(tmp_path / "noughts.db") as arena:
        await arena.commit(await arena.play(await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=20)))
        await arena.commit(await arena.play(await arena.tournament("two", bots=("bob", "ada"), games_per_pair=4)))
        await arena.commit(await arena.play(await arena.tournament("other", variant="mnk:4,4,3", games_per_pair=4)))
        yield arena


async def test_pairs_of_a_list_are_summed_over_its_tournaments(arena: Arena) -> None:
    pairs = await arena.store.read(rated_pairs)
    # Each game that has a result counts for both bots.
    board = await arena.store.read(leaderboard)
    assert 0 < 2 * sum(pair.score.games for pair in pairs) == sum(row.games for row in board.items)
    assert len({(pair.first, pair.second) for pair in pairs}) == len(pairs) == 6
    other = await arena.store.read(partial(rated_pairs, variant="mnk:4,4,3"))
    assert 0 < sum(pair.score.games for pair in other) <= 4
    # Scores head to head count all variants.
    scores_of_ada_and_bob = {
        (pair.first, pair.second): pair.score for pair in pairs + other if {pair.first, pair.second} == {"ada", "bob"}
    }
    assert len(scores_of_ada_and_bob) == 2
    scores = await arena.store.read(partial(head_to_head, bot="ada", opponent="bob", last_games=0))
    expected = sum((pair.score for pair in pairs + other if (pair.first, pair.second) == ("ada", "bob")), Score())
    assert scores.total.first == expected


async def test_bots_with_few_games_can_be_left_out(arena: Arena) -> None:
    games = {row.bot: row.games for row in (await arena.store.read(leaderboard)).items}
    assert games["cleo"] < min(games["ada"], games["bob"])
    pairs = await arena.store.read(partial(rated_pairs, min_games=games["cleo"] + 1))
    assert {name for pair in pairs for name in (pair.first, pair.second)} == {"ada", "bob"}
    assert await arena.store.read(partial(rated_pairs, min_games=1000)) == []


async def test_lists_without_games_are_empty_and_unknown_ones_refused(arena: Arena) -> None:
    assert await arena.store.read(partial(rated_pairs, time_class="blitz")) == []
    with pytest.raises(InvalidArgument, match="time_class"):
        await arena.store.read(partial(rated_pairs, time_class="slow"))
