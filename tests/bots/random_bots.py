"""Bots that choose free cells at random, one for each kind of bot of the SDK, and their login."""

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


class RandomBot(Bot):
    """Chooses a free cell by the position's seed; the other classes choose the same cells."""

    def choose(self, position: Position) -> int:
        return position.rng().choice(position.free)


class BatchRandomBot(Bot):
    def choose_batch(self, positions: Sequence[Position]) -> list[int]:
        return [position.rng().choice(position.free) for position in positions]


class ArrayRandomBot(ArrayBot):
    def choose_arrays(self, batch: Batch) -> npt.NDArray[np.int64]:
        return batch.pick(batch.legal)


def work_hard(seconds: float) -> None:
    """Use the processor for this time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class SlowRandomBot(RandomBot):
    """Takes 25 ms for the first two plies of each game and for about one later move in 20."""

    def choose(self, position: Position) -> int:
        if position.rng().below(20) == 0 or position.ply < 2:
            work_hard(0.025)
        return super().choose(position)


class AsyncRandomBot(Bot):
    async def choose(self, position: Position) -> int:
        await asyncio.sleep(0.001 * position.rng().below(5))
        return position.rng().choice(position.free)


def login(port: int, key: int, *, reconnect: bool = True) -> Login:
    return Login(f"127.0.0.1:{port}", TOKEN, name=f"bot-{key}", reconnect=reconnect)
