"""An honest match with clocks while somebody attacks its server: who loses on time, and what does the server use?"""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from noughts_bots import Bot
from noughts_bots.session import Login, play
from noughts_proto.security import Dialling
from noughts_proto.v1 import tournaments_pb2, types_pb2
from noughts_referee.rules import Position, Termination
from tests.chaos.attacks import Attack, Target, attack_for
from tests.chaos.nursery import Forked
from tests.chaos.world import World, going
from tests.support.proxy import proxy_before

_NICE = 15
_SHARE = 0.2
"""Of its limit that an honest bot thinks for."""
_CLOCKS = {"fast": (100_000, 16), "slow": (1_000_000, 8)}
"""Microseconds a move, and games at once."""
_LOOK = 0.1
_UNDER_WAY = 100
_FAILURES = (Termination.TIMEOUT, Termination.DISCONNECTED, Termination.CRASHED)


@dataclass(slots=True)
class Siege:
    """What an attack has done."""

    attack: str
    seconds: float = 0.0
    plies: int = 0
    """Of honest bots, in games with clocks."""
    lost: int = 0
    """Games of honest bots that ended on time, or by an absence."""
    before_mib: float = 0.0
    most_mib: float = 0.0
    after_mib: float = 0.0
    died: int = 0
    told: Counter[str] = field(default_factory=Counter)
    """What the attacker was told."""


class Paced(Bot):
    """A bot that uses a part of its time for each move, and plays several games at once."""

    max_games = 32

    async def choose(self, position: Position) -> int:
        await asyncio.sleep(_SHARE * (position.limit_us or 0) / 1e6)
        return position.draws().choice(position.free)


class HonestWorld(World):
    """Four bots that play two matches with clocks, and an attacker with an account of its own."""

    names = tuple(f"honest{number}" for number in range(4))
    others = ("mallory",)
    door: tuple[str, Dialling]
    """Where all but the organiser dial, and how."""

    async def begin(self) -> None:
        """Also opens the door: the server's own."""
        await super().begin()
        self.door = (self.address, Dialling())

    def start_bot(self, name: str) -> None:
        """Starts one of the honest bots."""
        self.bots[name] = Forked(self.folder / name, _play, *self.door, self.tokens[name], name)

    async def close(self) -> None:
        """Ends everything at once: the matches have no end, and games of attackers who are gone would be waited for."""
        for process in (self.server, *self.bots.values()):
            process.kill()
        await super().close()

    async def begin_matches(self) -> None:
        """Begins a match for each clock; neither ends by itself."""
        for name, (move_us, concurrency) in _CLOCKS.items():
            settings = {
                "schedule": tournaments_pb2.Schedule.SCHEDULE_ROUND_ROBIN,
                "games_per_pair": 100_000,
                "concurrency": concurrency,
                "time": types_pb2.TimeControl(move_us=move_us),
            }
            await self.organise(name, settings)

    def counts(self) -> tuple[int, int]:
        """Plies of the honest matches, and games in them that were lost by what no honest bot does."""
        of_honest = "FROM games WHERE tournament_id IN (SELECT id FROM tournaments WHERE slug IN ('fast', 'slow'))"
        failures = ", ".join(str(int(each)) for each in _FAILURES)
        plies = self.rows(f"SELECT coalesce(sum(length(moves)), 0) {of_honest}")[0][0]
        return int(plies), int(self.rows(f"SELECT count(*) {of_honest} AND termination IN ({failures})")[0][0])


class ProxiedWorld(HonestWorld):
    """The same behind the reverse proxy of docs/operations.md, through which bots and attackers come."""

    served_with = ("--proxy", "127.0.0.1")

    async def begin(self) -> None:
        """Also starts the proxy, whose door it is."""
        await super().begin()
        self._proxy = ExitStack()
        self.door = self._proxy.enter_context(proxy_before(self.address, self.folder))

    async def close(self) -> None:
        """Ends the proxy, too."""
        self._proxy.close()
        await super().close()


def _play(address: str, dialling: Dialling, token: str, name: str) -> None:
    asyncio.run(play(Paced(), Login(address, token, name, dialling=dialling), lambda event: None))


def _attack(
    attack: Attack, seconds: float, address: str, dialling: Dialling, token: str, victims: tuple[str, ...]
) -> None:
    os.nice(_NICE)
    told = asyncio.run(attack_for(seconds, attack, Target(address, token, victims, dialling)))
    sys.stdout.write(json.dumps(told))


@asynccontextmanager
async def honest_matches(folder: Path, *, proxied: bool = False) -> AsyncIterator[HonestWorld]:
    """A server in this folder, at which the matches go on."""
    async with going((ProxiedWorld if proxied else HonestWorld)(folder)) as made:
        await made.begin_matches()
        while made.counts()[0] < _UNDER_WAY:  # noqa: ASYNC110  # another process plays
            await asyncio.sleep(_LOOK)
        yield made


async def besiege(made: HonestWorld, name: str, attack: Attack, seconds: float) -> Siege:
    """Lets somebody attack for so long, or until he has done."""

    def memory() -> float:
        return psutil.Process(made.server.pid).memory_info().rss / 2**20 if made.server.alive else 0.0

    siege = Siege(name, before_mib=memory())
    began, (plies, lost) = time.monotonic(), made.counts()
    mallory = (*made.door, made.tokens["mallory"], made.names)
    attacker = Forked(made.folder / "attacker", _attack, attack, seconds, *mallory)
    while attacker.alive:
        await asyncio.sleep(_LOOK)
        siege.most_mib = max(siege.most_mib, memory())
    siege.seconds = time.monotonic() - began
    siege.died += not made.server.alive
    made.mend()
    now = made.counts()
    siege.plies, siege.lost = now[0] - plies, now[1] - lost
    siege.after_mib = memory()
    siege.told.update(json.loads(attacker.said.read_text() or '{"the attacker died": 1}'))
    return siege
