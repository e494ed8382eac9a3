"""A cluster gets through whatever may happen to its parts, one after the other, with nothing lost but time."""

import pytest

from noughts_referee.rules import ON_THE_BOARD
from tests.cluster.run import Scenario, run
from tests.cluster.troubles import CUT_LINK, MOST_SECONDS, TROUBLES, Tally


@pytest.mark.timeout(300)
async def test_kills_freezes_and_cut_links_cost_nothing_but_time() -> None:
    tally = Tally()
    # With clocks: nobody may lose on time for what happens to others. Those who sleep leave the cores to other tests.
    scenario = Scenario(400, "mnk:9,9,5", "Unhurried", "Unhurried", referees=2, move_seconds=20, rest=0.2)
    await run(scenario, tally)
    assert tally.seconds.keys() == {*TROUBLES, CUT_LINK}
    assert all(seconds < MOST_SECONDS for seconds in tally.seconds.values()), tally.seconds
    assert tally.endings.keys() <= ON_THE_BOARD, tally.endings
    assert tally.again, "no unit was ever played again: the troubles came at the wrong moments"
    assert tally.gaps == []
    assert tally.plies
