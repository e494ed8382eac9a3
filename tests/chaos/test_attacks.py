"""A server with an honest match withstands invalid input and attacks: it answers, and stays small.

Whether the match loses games on time, only a machine tells that does nothing else: `make soak` asks.
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
_FRAMES, _CONNECTIONS = 10_000, 100
_PATIENCE = 120.0
_ATTACK_SECONDS = 5.0
_NICE = 2


def faults(result: AttackResult) -> list[str]:
    """Log events and states that a server must not have after an attack."""
    said = [what for what in result.counts if what.startswith(("fault", "no answer"))]
    return said + [str(result)] * (bool(result.died) or result.most_mib > _MOST_MIB)


@pytest.mark.timeout(300)
async def test_every_wrong_frame_call_and_connection_gets_a_status_of_its_own(tmp_path: Path) -> None:
    async with honest_matches(tmp_path) as made:
        work = partial(fuzz, seed=1, frames=_FRAMES, connections=_CONNECTIONS)
        result = await measure_attack(made, "fuzz", work, _PATIENCE, _NICE)
        assert result.plies
    assert result.counts["frames"] + result.counts["requests"] > _FRAMES // 2, result
    assert result.counts["connections"] >= _CONNECTIONS - 8, result
    assert not faults(result)
    assert not made.tally.traceback


@pytest.mark.timeout(300)
async def test_a_server_outlives_all_attacks_at_once_and_stays_small(tmp_path: Path) -> None:
    async with honest_matches(tmp_path) as made:
        result = await measure_attack(made, "all", all_at_once, _ATTACK_SECONDS, _NICE)
        assert result.plies
    assert result.counts, result
    assert not faults(result)
    assert not made.tally.traceback


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [WebWorld, UploadWorld, ClusterWorld])
async def test_website_uploads_and_bus_withstand_all_their_attacks(kind: type[HonestWorld], tmp_path: Path) -> None:
    names = [name for name, world in WORLDS.items() if world is kind]
    async with honest_matches(tmp_path, kind) as made:
        result = await measure_attack(made, "all", partial(all_at_once, names=names), _ATTACK_SECONDS, _NICE)
        assert result.plies
    # Trials, and requests that a busy website answers late, take as long as the attack.
    assert result.counts or kind is not ClusterWorld, result
    assert set(result.visits) <= {"200"}, result
    assert result.child_mib < _MOST_MIB, result
    assert not faults(result)
    assert not made.tally.traceback
