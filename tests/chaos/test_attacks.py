"""A server with an honest match withstands invalid input and attacks: it answers, and stays small.

Whether games are lost on time can only be measured on an idle machine: `make soak` does so.
"""

from functools import partial
from pathlib import Path

import pytest

from tests.chaos.attacks import all_at_once
from tests.chaos.fuzz import fuzz
from tests.chaos.honest import (
    WORLDS,
    AttackResult,
    ClusterWorld,
    HonestWorld,
    UploadWorld,
    WebWorld,
    honest_matches,
    measure_attack,
)

pytestmark = pytest.mark.at_length

_MOST_MIB = 500
"""Limit of the memory of the attacked server."""
_FRAMES, _CONNECTIONS = 10_000, 100
_PATIENCE = 120.0
"""Limit of the seconds in which all random input is sent."""
_ATTACK_SECONDS = 5.0
"""Seconds of each attack."""
_NICE = 2


def faults(result: AttackResult) -> list[str]:
    """Return outcomes that are faults of the server, and the result if a process died or the server grew too large."""
    outcomes = [outcome for outcome in result.counts if outcome.startswith(("fault", "no answer"))]
    if result.died or result.most_mib > _MOST_MIB:
        outcomes.append(str(result))
    return outcomes


@pytest.mark.timeout(300)
async def test_random_frames_calls_and_connections_cause_no_server_fault(tmp_path: Path) -> None:
    async with honest_matches(tmp_path) as world:
        work = partial(fuzz, seed=1, frames=_FRAMES, connections=_CONNECTIONS)
        result = await measure_attack(world, "fuzz", work, _PATIENCE, _NICE)
        assert result.plies
    assert result.counts["frames"] + result.counts["requests"] > _FRAMES // 2, result
    assert result.counts["connections"] >= _CONNECTIONS - 8, result
    assert not faults(result)
    assert not world.tally.traceback


@pytest.mark.timeout(300)
async def test_server_withstands_all_attacks_together_and_stays_small(tmp_path: Path) -> None:
    async with honest_matches(tmp_path) as world:
        result = await measure_attack(world, "all", all_at_once, _ATTACK_SECONDS, _NICE)
        assert result.plies
    assert result.counts, result
    assert not faults(result)
    assert not world.tally.traceback


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [WebWorld, UploadWorld, ClusterWorld])
async def test_website_uploads_and_bus_withstand_all_their_attacks(kind: type[HonestWorld], tmp_path: Path) -> None:
    names = [name for name, world in WORLDS.items() if world is kind]
    async with honest_matches(tmp_path, kind) as world:
        result = await measure_attack(world, "all", partial(all_at_once, names=names), _ATTACK_SECONDS, _NICE)
        assert result.plies
    # Trials of uploads and late answers of a busy website can take longer than the attack, so nothing is counted.
    assert result.counts or kind is not ClusterWorld, result
    assert set(result.visits) <= {"200"}, result
    assert result.child_mib < _MOST_MIB, result
    assert not faults(result)
    assert not world.tally.traceback
