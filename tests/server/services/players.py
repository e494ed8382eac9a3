"""Bots for tests of sessions."""

import asyncio

from noughts_bots import Bot, Position
from noughts_proto.v1 import bots_pb2, tournaments_pb2
from tests.support.client import Client
from tests.support.patience import PATIENCE


class Undecided(Bot):
    """A bot that never answers; `was_asked` is set at its first turn."""

    def __init__(self) -> None:
        self.was_asked = asyncio.Event()

    async def choose(self, position: Position) -> int:
        self.was_asked.set()
        await asyncio.Event().wait()
        return 0


async def until_online(client: Client, bot: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            online = await client.bots.ListBots(bots_pb2.ListBotsRequest(online_only=True))
            if f"bots/{bot}" in [online_bot.name for online_bot in online.bots]:
                return
            await asyncio.sleep(0.01)


def withdrawal(label: str) -> tournaments_pb2.WithdrawTournamentRequest:
    """Return the request that withdraws this entry from the tournament `cup`."""
    return tournaments_pb2.WithdrawTournamentRequest(name="tournaments/cup", label=label)
