"""Tournaments of every format, round after round, while one trouble after the other befalls them."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import psutil

from tests.chaos.league import UPLOADS, League
from tests.chaos.troubles import TROUBLES
from tests.chaos.world import FORMATS, LADDER, PATIENCE, Tally, check_ladder, compare, going
from tests.support.mounts import small_disk

_LONGEST_PAUSE = 0.3
_LOOK = 0.02


async def run_chaos(
    folder: Path,
    troubles: Iterable[str],
    *,
    seconds: float = float("inf"),
    seed: int = 1,
    disk_mib: int = 0,
    on_trouble: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """One trouble after the other, for as long as there is time; what came of it, compared with an undisturbed round.

    The database has a disk of its own of `disk_mib`; 0: it lies in the folder.
    """
    undisturbed, disturbed = folder / "undisturbed", folder / "disturbed"
    undisturbed.mkdir()
    disturbed.mkdir()
    async with going(League(undisturbed)) as quiet:
        await asyncio.wait_for(quiet.play_round(1), PATIENCE)
        expected = {name: quiet.of(f"{name}-1") for name in (*FORMATS, UPLOADS) if name != LADDER}
    with small_disk(disturbed / "disk", f"size={disk_mib}m") if disk_mib else nullcontext(None) as disk:
        async with going(League(disturbed, seed, disk.here if disk else None)) as troubled:
            over = asyncio.Event()
            async with troubled.visited(), asyncio.TaskGroup() as tasks:
                rounds = tasks.create_task(_rounds(troubled, over))
                latest = time.monotonic() + seconds
                for name in troubles:
                    if time.monotonic() > latest:
                        break
                    await _befall(troubled, name, rounds)
                    on_trouble(troubled.tally)
                over.set()
                while not rounds.done():
                    troubled.mend()
                    await asyncio.sleep(_LOOK)
            for number in range(1, troubled.tally.rounds + 1):
                for name, stored in expected.items():
                    check = troubled.check_uploads if name == UPLOADS else partial(compare, troubled)
                    check(f"{name}-{number}", stored)
                check_ladder(troubled, f"{LADDER}-{number}")
            troubled.check_versions()
        troubled.tally.left += [f"folder {path.name}" for path in troubled.temporary.iterdir()]
    return troubled.tally


async def _rounds(troubled: League, over: asyncio.Event) -> None:
    while not over.is_set():
        await troubled.play_round(troubled.tally.rounds + 1)


async def _befall(troubled: League, name: str, rounds: "asyncio.Task[None]") -> None:
    """Waits for the middle of play: not before some games of this life of the server are stored."""
    games, latest = troubled.stored(), time.monotonic() + PATIENCE
    while troubled.stored() == games and not rounds.done():
        assert time.monotonic() < latest, f"nothing is played any more\n{troubled.log()[-4000:]}"
        troubled.mend()
        await asyncio.sleep(_LOOK)
    await asyncio.sleep(troubled.chance.uniform(0.0, _LONGEST_PAUSE))
    if troubled.server.alive:
        used = psutil.Process(troubled.server.pid).memory_info().rss / 2**20
        troubled.tally.server_mib = max(troubled.tally.server_mib, used)
    troubled.tally.troubles[name] += 1
    await TROUBLES[name](troubled)
