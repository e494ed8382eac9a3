"""Bots of three kinds that draw their cells, and their login."""

import asyncio
import time

from noughts_bots.bot import Bot
from noughts_bots.session import Login
from noughts_referee.rules import Position
from tests.support.loopback import TOKEN


class Drawn(Bot):
    """Draws its cell; and so do the other two kinds, in their own ways."""

    def choose(self, position: Position) -> int:
        return position.draws().choice(position.free)


class SlowDrawn(Drawn):
    """Thinks for long, now and then."""

    def choose(self, position: Position) -> int:
        if position.draws().below(20) == 0 or position.ply < 2:
            time.sleep(0.025)
        return super().choose(position)


class AsyncDrawn(Bot):
    async def choose(self, position: Position) -> int:
        await asyncio.sleep(0.001 * position.draws().below(5))
        return position.draws().choice(position.free)


def login(port: int, key: int, *, reconnect: bool = True) -> Login:
    return Login(f"127.0.0.1:{port}", TOKEN, name=f"bot-{key}", reconnect=reconnect)
