"""Kills, stops, broken connections and a clock that jumps: no game is lost, none played twice, none another."""

import asyncio
import random
from pathlib import Path

import pytest

from noughts_server.competition.formats import FORMATS as ALL_FORMATS
from tests.chaos.honest import honest_matches
from tests.chaos.run import run_chaos
from tests.chaos.troubles import FILL_DISK, FREEZES, KILLS, TROUBLES
from tests.chaos.world import FORMATS

pytestmark = pytest.mark.at_length

_KILLS = 10
_YEAR, _JUMPS, _JUMP_SECONDS = 365 * 86_400.0, 20, 0.2
_PLAYED = 100
"""Plies that are played while the clock jumps: a busy machine takes longer for them."""


def test_every_format_is_played_under_kills() -> None:
    assert {settings["schedule"] for settings in FORMATS.values()} == {each.number for each in ALL_FORMATS}


@pytest.mark.timeout(600)
async def test_kills_change_no_result_of_any_format(
    tmp_path: Path,
) -> None:
    others = TROUBLES.keys() - KILLS.keys() - FREEZES.keys() - {FILL_DISK}
    troubles = [*(list(KILLS) * _KILLS)[:_KILLS], *sorted(others)]
    random.Random(3).shuffle(troubles)
    tally = await run_chaos(tmp_path, troubles)
    assert not tally.traceback, tally.traceback
    assert tally.is_clean, tally
    assert not tally.died, tally
    assert tally.troubles.total() == len(troubles)
    assert tally.replayed, "no unit was ever played again: the kills came at the wrong moments"


@pytest.mark.timeout(300)
async def test_jumps_of_the_wall_clock_cost_no_game_its_time(tmp_path: Path) -> None:
    chance = random.Random(5)
    async with honest_matches(tmp_path) as made:
        plies, lost = now = made.counts()
        jumps = 0
        while jumps < _JUMPS or now[0] < plies + _PLAYED:  # other processes play
            made.clock.set(chance.uniform(-_YEAR, _YEAR))
            jumps += 1
            await asyncio.sleep(_JUMP_SECONDS)
            now = made.counts()
        # Whether a loaded machine costs games their time is another question: jumps of a year would cost all of them.
        assert now[1] - lost <= (now[0] - plies) / 100
    assert not made.tally.traceback
