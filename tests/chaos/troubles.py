"""Troubles of servers, bots and the network between them: each is over when its function returns."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import psutil

from tests.chaos.child_processes import Forked
from tests.chaos.league import League
from tests.chaos.world import PATIENCE

Trouble = Callable[[League], Awaitable[None]]
Found = Callable[[], list[psutil.Process]]

_LONGEST_STOP = 1.5
_FREEZE = 20.0
_LOOK = 0.05
_FILLING = 1 << 16
_YEAR = 365 * 86_400.0


async def kill_server(world: League) -> None:
    """The server is killed and started again."""
    world.server.kill()
    world.start_server()


async def kill_bot(world: League) -> None:
    """A bot is killed and started again."""
    name = world.chance.choice(sorted(world.bots))
    world.bots[name].kill()
    world.start_bot(name)


async def kill_both(world: League) -> None:
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


async def kill_child(world: League) -> None:
    """A sandboxed process is killed; another one starts when it is needed."""
    await _kill_one(world, world.children)


async def kill_web(world: League) -> None:
    """The process of the website is killed; the server starts another one."""
    await _kill_one(world, world.sites)


async def _kill_one(world: League, found: Found) -> None:
    processes = await _some(found)
    with suppress(psutil.NoSuchProcess):
        world.chance.choice(processes).kill()


async def _some(found: Found) -> list[psutil.Process]:
    """Return such processes as soon as there are any, because a server may just have started."""
    async with asyncio.timeout(PATIENCE):
        while not (processes := found()):  # noqa: ASYNC110  # another process starts them
            await asyncio.sleep(_LOOK)
    return processes


async def stop_server(world: League) -> None:
    """The server is stopped for a while (SIGSTOP)."""
    await _stop(world, [world.server])


async def stop_bots(world: League) -> None:
    """Some bots are stopped for a while."""
    await _stop(world, world.chance.sample(list(world.bots.values()), 2))


async def _stop(world: League, processes: Sequence[Forked], seconds: float = 0.0) -> None:
    for process in processes:
        process.signal(signal.SIGSTOP)
    await asyncio.sleep(seconds or world.chance.uniform(0.1, _LONGEST_STOP))
    for process in processes:
        process.signal(signal.SIGCONT)


async def cut(world: League) -> None:
    """Every connection breaks."""
    world.link.cut()


async def half_close(world: League) -> None:
    """One end of every connection hears that the other has no more to say."""
    world.link.half_close()


async def stall(world: League) -> None:
    """Nothing arrives for a while; then all of it."""
    world.link.stall()
    await asyncio.sleep(world.chance.uniform(0.1, _LONGEST_STOP))
    world.link.restore()


async def swallow(world: League) -> None:
    """Messages are lost for a while; then every connection breaks."""
    world.link.swallow()
    await asyncio.sleep(world.chance.uniform(0.1, _LONGEST_STOP))
    world.link.cut()
    world.link.restore()


async def fill_disk(world: League) -> None:
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


async def jump_clock(world: League) -> None:
    """The server's wall clock jumps, forwards or backwards."""
    world.clock.set(world.chance.uniform(-_YEAR, _YEAR))


async def freeze_server(world: League) -> None:
    """The server stands still for longer than a heartbeat."""
    await _stop(world, [world.server], _FREEZE)


async def freeze_bots(world: League) -> None:
    """All bots stand still for longer than a heartbeat."""
    await _stop(world, list(world.bots.values()), _FREEZE)


async def freeze_child(world: League) -> None:
    """All sandboxed processes stand still."""
    await _freeze(await _some(world.children))


async def freeze_web(world: League) -> None:
    """The website stands still."""
    await _freeze(await _some(world.sites))


async def _freeze(processes: Sequence[psutil.Process]) -> None:
    for number, seconds in ((signal.SIGSTOP, _FREEZE), (signal.SIGCONT, 0.0)):
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        await asyncio.sleep(seconds)


KILLS: Mapping[str, Trouble] = {
    "kill server": kill_server,
    "kill bot": kill_bot,
    "kill both": kill_both,
    "kill child": kill_child,
    "kill web": kill_web,
}
FREEZES: Mapping[str, Trouble] = {
    "freeze server": freeze_server,
    "freeze bots": freeze_bots,
    "freeze child": freeze_child,
    "freeze web": freeze_web,
}
"""They take 20 s each."""
FILL_DISK = "fill disk"
TROUBLES: Mapping[str, Trouble] = {
    **KILLS,
    **FREEZES,
    "stop server": stop_server,
    "stop bots": stop_bots,
    "cut": cut,
    "half-close": half_close,
    "stall": stall,
    "swallow": swallow,
    FILL_DISK: fill_disk,
    "jump clock": jump_clock,
}
