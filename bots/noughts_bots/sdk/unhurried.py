"""A bot that plays slowly enough for spectators."""

import asyncio
from collections.abc import Awaitable

from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.rules import Position


class Unhurried(Bot):
    """Plays the moves of another bot after a wait. That bot thinks in a thread, so that the event loop continues."""

    def __init__(self, bot: Bot, seconds: float, *, max_games: int = 1, accepts_challenges: bool = True) -> None:
        """`bot` must not be asynchronous. `seconds` is the wait before each move."""
        self._bot = bot
        self._seconds = seconds
        self.variants = bot.variants
        self.max_games = max_games
        self.accepts_challenges = accepts_challenges

    async def choose(self, position: Position) -> int | Move:
        await asyncio.sleep(self._seconds)
        answer = await asyncio.to_thread(self._bot.choose, position)
        assert not isinstance(answer, Awaitable)
        return answer
