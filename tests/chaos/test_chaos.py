"""Under kills, stops, broken connections and clock jumps no game is missing, stored twice or different."""

import asyncio
import random
from itertools import cycle, islice
from pathlib import Path

import pytest

from noughts_server.competition.formats import FORMATS as ALL_FORMATS
from tests.chaos.disruptions import DISRUPTIONS, FILL_DISK, FREEZES, KILLS
from tests.chaos.honest import honest_matches
from tests.chaos.run import run_chaos
from tests.chaos.world import FORMATS

pytestmark = pytest.mark.at_length

_KILLS = 10
_YEAR, _JUMPS, _JUMP_SECONDS = 365 * 86_400.0, 20, 0.2
_PLIES = 100
"""The least number of plies while the clock jumps, whatever time they take."""


def test_chaos_plays_every_format() -> None:
    assert {settings["schedule"] for settings in FORMATS.values()} == {
        tournament_format.number for tournament_format in ALL_FORMATS
    }


@pytest.mark.timeout(600)
async def test_kills_change_no_result_of_any_format(tmp_path: Path) -> None:
    other_disruptions = DISRUPTIONS.keys() - KILLS.keys() - FREEZES.keys() - {FILL_DISK}
    disruptions = [*islice(cycle(KILLS), _KILLS), *sorted(other_disruptions)]
    random.Random(3).shuffle(disruptions)
    tally = await run_chaos(tmp_path, disruptions)
    assert not tally.traceback, tally.traceback
    assert tally.is_clean, (tally.lost, tally.doubled, tally.differing)
    assert not tally.died, tally
    assert tally.disruptions.total() == len(disruptions)
    assert tally.replayed, "no unit was claimed again: no kill came while games were running"


@pytest.mark.timeout(300)
async def test_jumps_of_the_wall_clock_cost_no_game_its_time(tmp_path: Path) -> None:
    rng = random.Random(5)
    async with honest_matches(tmp_path) as world:
        plies, lost = counts = world.counts()
        jumps = 0
        while jumps < _JUMPS or counts[0] < plies + _PLIES:  # other processes play
            world.clock.set(rng.uniform(-_YEAR, _YEAR))
            jumps += 1
            await asyncio.sleep(_JUMP_SECONDS)
            counts = world.counts()
        # A busy machine can make a few games late; if the jumps counted, all games would be lost.
        assert counts[1] - lost <= (counts[0] - plies) / 100
    assert not world.tally.traceback
