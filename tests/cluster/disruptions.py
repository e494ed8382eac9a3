"""The disruptions that a cluster must survive, one after the other, while it plays."""

import asyncio
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.cluster import Cluster, distant_addresses, postgresql_killed
from tests.cluster.slow import holder
from tests.cluster.watching import Observer
from tests.support.databases import rows_of

FROZEN_SECONDS = 6.0
MOST_SECONDS = 10.0
"""The longest pause of play, on a machine without other work."""
_COMPUTED_SECONDS = 0.01
"""Processor seconds of each measurement of how much slower the machine is under load."""
_LOOK = 0.05
"""Seconds between two looks at the database."""


@dataclass
class Tally:
    """The results of a run with disruptions."""

    seconds: dict[str, float] = field(default_factory=dict)
    """From each disruption to the next game that was stored."""
    refused: int = 0
    """Games that came too late."""
    games: int = 0
    games_a_second: float = 0.0
    observers: list[Observer] = field(default_factory=list)
    again: int = 0
    """Units that were claimed more than once."""
    endings: Counter[int] = field(default_factory=Counter)
    """The endings of games, by `Termination`."""
    checked: dict[str, int] = field(default_factory=dict)
    """Counts of errors, as `Cluster.counted` has them."""
    say: Callable[[str], object] = lambda line: None
    slowness: float = 1.0
    """The time of a computation on this machine, divided by the processor time that it needs."""

    @property
    def most_seconds(self) -> float:
        """The longest pause of play on this machine."""
        return MOST_SECONDS * self.slowness

    async def measure_slowness(self) -> None:
        """Compute a little again and again, until it is cancelled."""
        took = needed = 0.0
        while True:
            began, computed = time.monotonic(), time.thread_time()
            while time.thread_time() - computed < _COMPUTED_SECONDS:
                pass
            took += time.monotonic() - began
            needed += time.thread_time() - computed
            self.slowness = max(1.0, took / needed)
            await asyncio.sleep(0.5)

    @property
    def gaps(self) -> list[str]:
        """The messages that watchers missed."""
        return [gap for observer in self.observers for gap in observer.gaps]

    @property
    def messages(self) -> int:
        """The messages to all watchers."""
        return sum(observer.messages for observer in self.observers)

    @property
    def plies(self) -> int:
        """The plies in these messages."""
        return sum(observer.plies for observer in self.observers)

    @property
    def resyncs(self) -> int:
        """The number of restarts of watchers."""
        return sum(observer.resyncs for observer in self.observers)


CUT_LINK = "a cut link to a referee"
Disruption = Callable[[Cluster], Coroutine[Any, Any, None]]


async def kill_referee(cluster: Cluster) -> None:
    """The holder of a unit ends at once; another referee comes."""
    referee = await holder(cluster)
    cluster.referees.remove(referee)
    referee.kill()
    await cluster.start_referee()


async def kill_server(cluster: Cluster) -> None:
    """A server ends at once, and its bots find the other; another comes."""
    cluster.servers[0].kill()
    cluster.servers.append(cluster.servers.pop(0))
    await cluster.start_server()


async def kill_bus(cluster: Cluster) -> None:
    """NATS ends at once, and is started again."""
    await asyncio.to_thread(cluster.nats.kill)
    await asyncio.sleep(0.5)
    await asyncio.to_thread(cluster.nats.start)


async def kill_database(cluster: Cluster) -> None:
    """PostgreSQL ends at once, and is started again."""
    async with postgresql_killed():
        await asyncio.sleep(0.5)


async def freeze_referee(cluster: Cluster) -> None:
    """Stop a referee long enough for it to count as lost, then let it continue."""
    referee = next(running for running in cluster.referees if running.alive)
    referee.signal(signal.SIGSTOP)
    await asyncio.sleep(FROZEN_SECONDS)
    referee.signal(signal.SIGCONT)


DISRUPTIONS: dict[str, Disruption] = {
    "kill -9 of a referee": kill_referee,
    "kill -9 of a server": kill_server,
    "kill -9 of NATS": kill_bus,
    "kill -9 of PostgreSQL": kill_database,
    f"a referee frozen for {FROZEN_SECONDS:g} s": freeze_referee,
}


async def cause_disruptions(cluster: Cluster, tally: Tally, disruptions: Sequence[str], rest: float) -> None:
    """Cause these disruptions one after another, with a rest of seconds after each."""
    for name in disruptions:
        if name == CUT_LINK:
            await _cut_link(cluster, tally)
        else:
            async with asyncio.TaskGroup() as tasks:
                began = time.monotonic()
                tasks.create_task(DISRUPTIONS[name](cluster))
                await _measure(cluster, tally, name, began)
        await asyncio.sleep(rest)


async def _measure(cluster: Cluster, tally: Tally, name: str, began: float) -> None:
    """Record the seconds until games are stored again."""
    before = _stored_or(cluster, 0)
    # Games that were being stored at the beginning do not count. They are stored within this time.
    await asyncio.sleep(0.6)
    before = max(before, _stored_or(cluster, before))
    tally.seconds[name] = await _wait_until_stored(cluster, tally, before) - began
    tally.say(f"{name}: {tally.seconds[name]:.1f} s")


async def _wait_until_stored(cluster: Cluster, tally: Tally, games: int) -> float:
    """Wait until more than this number of games is stored, and return the time."""
    began = time.monotonic()
    while time.monotonic() - began < 2 * tally.most_seconds:
        try:
            if cluster.stored() > games:
                return time.monotonic()
        except Exception:  # PostgreSQL is away
            pass
        await asyncio.sleep(_LOOK)
    raise AssertionError(f"nothing is stored any more\n{cluster.logs()[-30_000:]}")


def _stored_or(cluster: Cluster, games: int) -> int:
    try:
        return cluster.stored()
    except Exception:  # PostgreSQL is away
        return games


async def _cut_link(cluster: Cluster, tally: Tally) -> None:
    """A referee far away, whose cable is pulled for longer than it may be silent."""
    async with distant_addresses(cluster) as (bus, database, cables):
        referee = await cluster.start_referee(bus=bus, database=database)
        await asyncio.sleep(2)
        began = time.monotonic()
        for cable in cables:
            cable.cut()
        await _measure(cluster, tally, CUT_LINK, began)
        await asyncio.sleep(max(0.0, FROZEN_SECONDS - (time.monotonic() - began)))
        for cable in cables:
            cable.restore()
        await asyncio.sleep(2)
        await asyncio.to_thread(referee.stop)


@asynccontextmanager
async def watch_tournament(cluster: Cluster, slug: str, ordinals: Sequence[int] = ()) -> AsyncIterator[list[Observer]]:
    """Watch the tournament at each server, and some of its games at each."""
    name = f"tournaments/{slug}"
    names = [name, *(f"{name}/games/{ordinal}" for ordinal in ordinals)]
    observers = [Observer(address, watched) for address in cluster.addresses.values() for watched in names]
    async with asyncio.TaskGroup() as tasks:
        watching = [tasks.create_task(observer.watch()) for observer in observers]
        yield observers
        for task in watching:
            task.cancel()


def count_refused_games(cluster: Cluster) -> int:
    """Return the number of games that came too late because another referee had taken over their units."""
    return sum(int(number) for number in re.findall(r"games_refused[^\n]*games=(\d+)", cluster.logs()))


def count_repeated_units(cluster: Cluster) -> int:
    """Return the number of units that were claimed more than once."""
    return int(rows_of(cluster.database, "SELECT count(*) FROM units WHERE attempt > 1")[0][0])
