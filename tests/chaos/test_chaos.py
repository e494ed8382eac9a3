"""Kills, stops, broken connections and a clock that jumps: no game is lost, none played twice, none another."""

import random
from pathlib import Path

import pytest

from tests.chaos.run import run_chaos
from tests.chaos.troubles import FILL_DISK, KILLS, TROUBLES

_KILLS = 20


@pytest.mark.timeout(600)
async def test_tournaments_of_every_format_get_through_kills_and_troubles_as_if_nothing_had_been(
    tmp_path: Path,
) -> None:
    others = TROUBLES.keys() - KILLS.keys() - {FILL_DISK}
    troubles = [*(list(KILLS) * _KILLS)[:_KILLS], *sorted(others)]
    random.Random(3).shuffle(troubles)
    tally = await run_chaos(tmp_path, troubles)
    assert tally.is_clean, tally
    assert not tally.died, tally
    assert tally.troubles.total() == len(troubles)
    assert tally.replayed, "no unit was ever played again: the kills came at the wrong moments"
