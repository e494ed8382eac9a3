"""Bots of five kinds that draw their cells, and their login."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from noughts_bots.connection.session import Login
from noughts_bots.sdk.arrays import ArrayBot, Batch
from noughts_bots.sdk.bot import Bot
from noughts_referee.rules import Position
from tests.support.loopback import TOKEN


class Drawn(Bot):
    """Draws its cell; and so do the other kinds, in their own ways."""

    def choose(self, position: Position) -> int:
        return position.rng().choice(position.free)


class BatchDrawn(Bot):
    def choose_batch(self, positions: Sequence[Position]) -> list[int]:
        return [position.rng().choice(position.free) for position in positions]


class ArrayDrawn(ArrayBot):
    def choose_arrays(self, batch: Batch) -> npt.NDArray[np.int64]:
        return batch.pick(batch.legal)


def work_hard(seconds: float) -> None:
    """Uses so much of the processor, however long that takes."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class SlowDrawn(Drawn):
    """Thinks for long, now and then."""

    def choose(self, position: Position) -> int:
        if position.rng().below(20) == 0 or position.ply < 2:
            work_hard(0.025)
        return super().choose(position)


class AsyncDrawn(Bot):
    async def choose(self, position: Position) -> int:
        await asyncio.sleep(0.001 * position.rng().below(5))
        return position.rng().choice(position.free)


def login(port: int, key: int, *, reconnect: bool = True) -> Login:
    return Login(f"127.0.0.1:{port}", TOKEN, name=f"bot-{key}", reconnect=reconnect)
