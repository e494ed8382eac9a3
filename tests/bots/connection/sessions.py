"""Bots of the SDK that play at a real server, and the moves that they must play."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import play
from noughts_bots.sdk.bot import Bot
from noughts_referee.rules import Position, Variant, game_seed, side_seed
from noughts_referee.work_units import FinishedGame, GameConditions, ScheduledGame, unpack_moves
from tests.bots.random_bots import ArrayRandomBot, AsyncRandomBot, BatchRandomBot, RandomBot, SlowRandomBot, login
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback

KINDS: list[type[Bot]] = [RandomBot, SlowRandomBot, AsyncRandomBot, BatchRandomBot, ArrayRandomBot]


def expected_moves(shared: GameConditions, slot: ScheduledGame) -> list[int]:
    """Return the moves that two random bots must play in this scheduled game."""
    seeds = [side_seed(game_seed(shared.seed, slot.ordinal), side) for side in (0, 1)]
    position = Position(shared.variant)
    while position.free and not shared.variant.has_line(position.opponent):
        position.seed = seeds[position.side]
        position.play(position.rng().choice(position.free))
    return position.moves


def moves_of(game: FinishedGame, variant: Variant) -> list[int]:
    return unpack_moves(game.moves, variant.cells)


@asynccontextmanager
async def running_bots(port: int, **bots: Bot) -> AsyncIterator[list[SessionEvent]]:
    """Run these bots (`bot_1=...`) inside the block, which gets their events."""
    events: list[SessionEvent] = []
    async with asyncio.TaskGroup() as tasks:
        sessions = [
            tasks.create_task(play(bot, login(port, int(name.removeprefix("bot_"))), events.append))
            for name, bot in bots.items()
        ]
        yield events
        for session in sessions:
            session.cancel()


async def game_with_answer(server: Loopback, answer: Callable[[Position], object]) -> FinishedGame:
    """Return the game in which bot-1 gives this answer to each question."""

    class Answering(Bot):
        def choose(self, position: Position) -> int:
            return answer(position)  # type: ignore[return-value]  # on purpose

    async with running_bots(server.port, bot_1=Answering(), bot_2=RandomBot()):
        server.referee.add(unit(conditions(), 1))
        (game,) = await server.finished_games(1)
        return game
