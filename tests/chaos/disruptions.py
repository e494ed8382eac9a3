"""Disruptions of servers, bots and the network between them. Each has ended when its function returns."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import psutil

from tests.chaos.child_processes import ForkedProcess
from tests.chaos.league import League
from tests.chaos.world import PATIENCE

Disruption = Callable[[League], Awaitable[None]]
FindProcesses = Callable[[], list[psutil.Process]]

_LONGEST_STOP = 1.5
"""Seconds; shorter than the silence after which a connection is closed."""
_FREEZE = 20.0
"""Seconds; longer than that silence."""
_LOOK = 0.05
"""Seconds between two looks."""
_BLOCK_BYTES = 1 << 16
_YEAR = 365 * 86_400.0
"""Seconds; the clock is set back or forward by at most this time."""


async def kill_server(world: League) -> None:
    """The server is killed and started again."""
    world.server.kill()
    world.start_server()


async def kill_bot(world: League) -> None:
    """A bot is killed and started again."""
    name = world.rng.choice(sorted(world.bots))
    world.bots[name].kill()
    world.start_bot(name)


async def kill_both(world: League) -> None:
    """Server and bots are killed together, and started again in a random order."""
    for process in (world.server, *world.bots.values()):
        process.signal(signal.SIGKILL)
    names = ["server", *world.bots]
    world.rng.shuffle(names)
    for name in names:
        if name == "server":
            await kill_server(world)
        else:
            world.bots[name].kill()  # waits until the process has ended
            world.start_bot(name)


async def kill_child(world: League) -> None:
    """A sandboxed process is killed; another one starts when it is needed."""
    await _kill_one(world, world.sandboxed_processes)


async def kill_web(world: League) -> None:
    """The process of the website is killed; the server starts another one."""
    await _kill_one(world, world.website_processes)


async def _kill_one(world: League, find: FindProcesses) -> None:
    processes = await _wait_for_processes(find)
    with suppress(psutil.NoSuchProcess):
        world.rng.choice(processes).kill()


async def _wait_for_processes(find: FindProcesses) -> list[psutil.Process]:
    """Return the processes as soon as there are some: a server that has just started has none yet."""
    async with asyncio.timeout(PATIENCE):
        while not (processes := find()):  # noqa: ASYNC110  # another process starts them
            await asyncio.sleep(_LOOK)
    return processes


async def stop_server(world: League) -> None:
    """The server is stopped for a while (SIGSTOP)."""
    await _stop(world, [world.server])


async def stop_bots(world: League) -> None:
    """Some bots are stopped for a while."""
    await _stop(world, world.rng.sample(list(world.bots.values()), 2))


async def _stop(world: League, processes: Sequence[ForkedProcess], seconds: float = 0.0) -> None:
    for process in processes:
        process.signal(signal.SIGSTOP)
    await asyncio.sleep(seconds or world.rng.uniform(0.1, _LONGEST_STOP))
    for process in processes:
        process.signal(signal.SIGCONT)


async def cut(world: League) -> None:
    """Every connection breaks."""
    world.link.cut()


async def half_close(world: League) -> None:
    """Each connection is closed in one direction."""
    world.link.half_close()


async def stall(world: League) -> None:
    """No message arrives for a while; then all of them arrive."""
    world.link.stall()
    await asyncio.sleep(world.rng.uniform(0.1, _LONGEST_STOP))
    world.link.restore()


async def swallow(world: League) -> None:
    """Messages are lost for a while; then every connection breaks."""
    world.link.swallow()
    await asyncio.sleep(world.rng.uniform(0.1, _LONGEST_STOP))
    world.link.cut()
    world.link.restore()


async def fill_disk(world: League) -> None:
    """The disk of the database is full for a while."""
    ballast = world.database_folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(_BLOCK_BYTES))
        except OSError:
            pass
    await asyncio.sleep(world.rng.uniform(0.5, _LONGEST_STOP))
    ballast.unlink()


async def jump_clock(world: League) -> None:
    """The server's wall clock jumps, forwards or backwards."""
    world.clock.set(world.rng.uniform(-_YEAR, _YEAR))


async def freeze_server(world: League) -> None:
    """The server is stopped for longer than bots wait for its heartbeat."""
    await _stop(world, [world.server], _FREEZE)


async def freeze_bots(world: League) -> None:
    """All bots are stopped for longer than the server waits for their heartbeat."""
    await _stop(world, list(world.bots.values()), _FREEZE)


async def freeze_child(world: League) -> None:
    """All sandboxed processes are stopped for a long time."""
    await _freeze(await _wait_for_processes(world.sandboxed_processes))


async def freeze_web(world: League) -> None:
    """The website is stopped for a long time."""
    await _freeze(await _wait_for_processes(world.website_processes))


async def _freeze(processes: Sequence[psutil.Process]) -> None:
    _send(signal.SIGSTOP, processes)
    await asyncio.sleep(_FREEZE)
    _send(signal.SIGCONT, processes)


def _send(number: signal.Signals, processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


KILLS: Mapping[str, Disruption] = {
    "kill server": kill_server,
    "kill bot": kill_bot,
    "kill both": kill_both,
    "kill child": kill_child,
    "kill web": kill_web,
}
FREEZES: Mapping[str, Disruption] = {
    "freeze server": freeze_server,
    "freeze bots": freeze_bots,
    "freeze child": freeze_child,
    "freeze web": freeze_web,
}
"""Disruptions that take 20 s each."""
FILL_DISK = "fill disk"
DISRUPTIONS: Mapping[str, Disruption] = {
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
