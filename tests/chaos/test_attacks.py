"""A server with an honest match withstands invalid input and attacks: it answers, and stays small.

Whether the match loses games on time, only a machine tells that does nothing else: `make soak` asks.
"""

from functools import partial
from pathlib import Path

import pytest

from tests.chaos.attacks import all_at_once
from tests.chaos.fuzz import fuzz
from tests.chaos.honest import WORLDS, ClusterWorld, HonestWorld, Siege, UploadWorld, WebWorld, besiege, honest_matches

pytestmark = pytest.mark.at_length

_MOST_MIB = 500
_FRAMES, _CONNECTIONS = 10_000, 100
_PATIENCE = 120.0
_ATTACK_SECONDS = 5.0
_NICE = 2


def faults(siege: Siege) -> list[str]:
    """Log events and states that a server must not have after an attack."""
    said = [what for what in siege.told if what.startswith(("fault", "no answer"))]
    return said + [str(siege)] * (bool(siege.died) or siege.most_mib > _MOST_MIB)


@pytest.mark.timeout(300)
async def test_every_wrong_frame_call_and_connection_gets_a_status_of_its_own(tmp_path: Path) -> None:
    async with honest_matches(tmp_path) as made:
        work = partial(fuzz, seed=1, frames=_FRAMES, connections=_CONNECTIONS)
        siege = await besiege(made, "fuzz", work, _PATIENCE, _NICE)
        assert siege.plies
    assert siege.told["frames"] + siege.told["requests"] > _FRAMES // 2, siege
    assert siege.told["connections"] >= _CONNECTIONS - 8, siege
    assert not faults(siege)
    assert not made.tally.traceback


@pytest.mark.timeout(300)
async def test_a_server_outlives_all_attacks_at_once_and_stays_small(tmp_path: Path) -> None:
    async with honest_matches(tmp_path) as made:
        siege = await besiege(made, "all", all_at_once, _ATTACK_SECONDS, _NICE)
        assert siege.plies
    assert siege.told, siege
    assert not faults(siege)
    assert not made.tally.traceback


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [WebWorld, UploadWorld, ClusterWorld])
async def test_website_uploads_and_bus_withstand_all_their_attacks(kind: type[HonestWorld], tmp_path: Path) -> None:
    names = [name for name, world in WORLDS.items() if world is kind]
    async with honest_matches(tmp_path, kind) as made:
        siege = await besiege(made, "all", partial(all_at_once, names=names), _ATTACK_SECONDS, _NICE)
        assert siege.plies
    # Trials, and requests that a busy website answers late, take as long as the attack.
    assert siege.told or kind is not ClusterWorld, siege
    assert set(siege.visits) <= {"200"}, siege
    assert siege.child_mib < _MOST_MIB, siege
    assert not faults(siege)
    assert not made.tally.traceback
