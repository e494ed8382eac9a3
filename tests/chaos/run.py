"""Tournaments of every format, round after round, under one disruption after the other."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import psutil

from tests.chaos.disruptions import DISRUPTIONS
from tests.chaos.league import UPLOADS, League
from tests.chaos.world import FORMATS, LADDER, PATIENCE, Tally, check_ladder, compare, running_world
from tests.support.mounts import small_disk

_LONGEST_PAUSE = 0.3
"""Limit of the random pause between two disruptions, in seconds."""
_LOOK = 0.02
"""Seconds between two looks at the league."""


async def run_chaos(
    folder: Path,
    disruptions: Iterable[str],
    *,
    seconds: float = float("inf"),
    seed: int = 1,
    disk_mib: int = 0,
    on_disruption: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Cause one disruption after the other, for at most `seconds`. Return differences from undisturbed results.

    The database has a disk of its own of `disk_mib`; 0: it is in `folder`.
    """
    undisturbed, disturbed = folder / "undisturbed", folder / "disturbed"
    undisturbed.mkdir()
    disturbed.mkdir()
    async with running_world(League(undisturbed)) as undisturbed_world:
        await asyncio.wait_for(undisturbed_world.play_round(1), PATIENCE)
        expected = {name: undisturbed_world.records_of(f"{name}-1") for name in (*FORMATS, UPLOADS) if name != LADDER}
    with small_disk(disturbed / "disk", f"size={disk_mib}m") if disk_mib else nullcontext(None) as disk:
        async with running_world(League(disturbed, seed, disk.own_path if disk else None)) as world:
            last_round = asyncio.Event()
            async with world.visited_by_others(), asyncio.TaskGroup() as tasks:
                rounds = tasks.create_task(_play_rounds(world, last_round))
                deadline = time.monotonic() + seconds
                for name in disruptions:
                    if time.monotonic() > deadline:
                        break
                    await _cause(world, name, rounds)
                    on_disruption(world.tally)
                last_round.set()
                while not rounds.done():
                    world.restart_dead_processes()
                    await asyncio.sleep(_LOOK)
            for number in range(1, world.tally.rounds + 1):
                for name, stored in expected.items():
                    check = world.check_uploads if name == UPLOADS else partial(compare, world)
                    check(f"{name}-{number}", stored)
                check_ladder(world, f"{LADDER}-{number}")
            world.check_versions()
        world.tally.left += [f"folder {path.name}" for path in world.temporary.iterdir()]
    return world.tally


async def _play_rounds(world: League, last_round: asyncio.Event) -> None:
    while not last_round.is_set():
        await world.play_round(world.tally.rounds + 1)


async def _cause(world: League, name: str, rounds: "asyncio.Task[None]") -> None:
    """Cause a disruption in the middle of play: after the current process of the server has stored some games."""
    games, deadline = world.stored_games(), time.monotonic() + PATIENCE
    while world.stored_games() == games and not rounds.done():
        assert time.monotonic() < deadline, f"no game is stored any more\n{world.log()[-4000:]}"
        world.restart_dead_processes()
        await asyncio.sleep(_LOOK)
    await asyncio.sleep(world.rng.uniform(0.0, _LONGEST_PAUSE))
    if world.server.alive:
        size_mib = psutil.Process(world.server.pid).memory_info().rss / 2**20
        world.tally.server_mib = max(world.tally.server_mib, size_mib)
    world.tally.disruptions[name] += 1
    await DISRUPTIONS[name](world)
