"""What may befall servers, bots and the network between them: each trouble is over when its function returns."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence

from tests.chaos.nursery import Forked
from tests.chaos.world import World

Trouble = Callable[[World], Awaitable[None]]

_LONGEST_STOP = 1.5
_FILLING = 1 << 16
_YEAR = 365 * 86_400.0


async def kill_server(world: World) -> None:
    """The server is killed and started again."""
    world.server.kill()
    world.start_server()


async def kill_bot(world: World) -> None:
    """A bot is killed and started again."""
    name = world.chance.choice(sorted(world.bots))
    world.bots[name].kill()
    world.start_bot(name)


async def kill_both(world: World) -> None:
    """Server and bots are killed at once, and come back in any order."""
    for process in (world.server, *world.bots.values()):
        process.signal(signal.SIGKILL)
    comers = [None, *world.bots]
    world.chance.shuffle(comers)
    for name in comers:
        (world.server if name is None else world.bots[name]).kill()
        if name is None:
            world.start_server()
        else:
            world.start_bot(name)


async def stop_server(world: World) -> None:
    """The server is stopped for a while (SIGSTOP)."""
    await _stop(world, [world.server])


async def stop_bots(world: World) -> None:
    """Some bots are stopped for a while."""
    await _stop(world, world.chance.sample(list(world.bots.values()), 2))


async def _stop(world: World, processes: Sequence[Forked]) -> None:
    for process in processes:
        process.signal(signal.SIGSTOP)
    await asyncio.sleep(world.chance.uniform(0.1, _LONGEST_STOP))
    for process in processes:
        process.signal(signal.SIGCONT)


async def cut(world: World) -> None:
    """Every connection breaks."""
    world.link.cut()


async def half_close(world: World) -> None:
    """One end of every connection hears that the other has no more to say."""
    world.link.half_close()


async def stall(world: World) -> None:
    """Nothing arrives for a while; then all of it."""
    world.link.stall()
    await asyncio.sleep(world.chance.uniform(0.1, _LONGEST_STOP))
    world.link.restore()


async def swallow(world: World) -> None:
    """What is sent for a while is lost; then every connection breaks."""
    world.link.swallow()
    await asyncio.sleep(world.chance.uniform(0.1, _LONGEST_STOP))
    world.link.cut()
    world.link.restore()


async def fill_disk(world: World) -> None:
    """The disk of the database is full for a while."""
    filling = world.database_folder / "filling"
    with filling.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(_FILLING))
        except OSError:
            pass
    await asyncio.sleep(world.chance.uniform(0.5, _LONGEST_STOP))
    filling.unlink()


async def jump_clock(world: World) -> None:
    """The server's wall clock jumps, forwards or backwards."""
    world.clock.set(world.chance.uniform(-_YEAR, _YEAR))


KILLS: Mapping[str, Trouble] = {"kill server": kill_server, "kill bot": kill_bot, "kill both": kill_both}
FILL_DISK = "fill disk"
TROUBLES: Mapping[str, Trouble] = {
    **KILLS,
    "stop server": stop_server,
    "stop bots": stop_bots,
    "cut": cut,
    "half-close": half_close,
    "stall": stall,
    "swallow": swallow,
    FILL_DISK: fill_disk,
    "jump clock": jump_clock,
}
