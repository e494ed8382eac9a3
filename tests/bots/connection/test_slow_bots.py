"""Slow bots over real gRPC: what the session sends while they think, and where they think."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from noughts_bots.connection.events import Online
from noughts_bots.connection.thinking_thread import Pace, Thinker
from noughts_bots.sdk.bot import Bot, GameInfo
from noughts_referee.rules import Position, game_seed, side_seed
from noughts_referee.work_units import ScheduledGame
from tests.bots.connection.sessions import running_bots
from tests.bots.random_bots import RandomBot, work_hard
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, link_to, loopback, raw_bot, wait_until
from tests.support.patience import PATIENCE


class Pondering(Bot):
    """Thinks about the game with this seed until it is released, and answers other games at once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.pondering = threading.Event()
        self.released = threading.Event()
        self.thinking = 0
        self.most_thinking = 0
        self._slowed = False

    def choose(self, position: Position) -> int:
        self.thinking += 1
        self.most_thinking = max(self.thinking, self.most_thinking)
        if not self._slowed:  # a long first thought moves the bot to its thread
            self._slowed = True
            work_hard(0.03)
        if position.seed == self.seed:
            self.pondering.set()
            assert self.released.wait(PATIENCE)
        self.thinking -= 1
        return position.free[0]


async def test_answers_are_sent_while_the_bot_thinks_about_the_next() -> None:
    async with loopback(heartbeat=0.5) as server:
        shared = conditions("mnk:1,1,1")
        bot = Pondering(side_seed(game_seed(shared.seed, 15), 0))
        async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
            server.referee.add(unit(shared, [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 21)]))
            await wait_until(lambda: len(server.finished) == 14)
            await wait_until(bot.pondering.is_set)
            # Meanwhile it acknowledges frames and echoes heartbeats, so it stays online.
            frames = server.counts.frames_received
            await wait_until(lambda: server.counts.frames_received > frames + 2)
            assert (len(server.finished), server.wire(1).online) == (14, True)
            bot.released.set()
            await server.finished_games(20)


async def test_a_frame_is_acknowledged_while_the_bot_thinks(server: Loopback) -> None:
    shared = conditions("mnk:1,3,3")
    bot = Pondering(side_seed(game_seed(shared.seed, 2), 0))
    async with raw_bot(server, 2) as opponent, running_bots(server.port, bot_1=bot):
        server.referee.add(unit(shared, [ScheduledGame(1, 0, 1), ScheduledGame(2, 0, 1)]))
        assert (await opponent.next_questions())[0].game == 1
        await wait_until(bot.pondering.is_set)
        await opponent.send((1, 1, 1))
        # The question is sent, although the bot still thinks about the other game.
        await wait_until(lambda: server.referee.player(1).games[1].ply == 2)
        await wait_until(lambda: not server.referee.player(1).outbox)
        assert server.referee.player(1).games[2].ply == 0
        bot.released.set()
        await opponent.next_questions()
        await opponent.send((2, 1, 1))
        await server.finished_games(2)


class Preparing(Bot):
    """Thinks for long, and prepares for its second game until it is released."""

    def __init__(self) -> None:
        self.preparing = threading.Event()
        self.released = threading.Event()

    def start(self, game: GameInfo) -> None:
        if game.name.endswith("/2"):
            self.preparing.set()
            assert self.released.wait(PATIENCE)

    def choose(self, position: Position) -> int:
        work_hard(0.03)
        return position.free[0]


async def test_the_clock_of_a_slow_bot_begins_when_it_has_prepared(server: Loopback) -> None:
    bot = Preparing()
    async with raw_bot(server, 2), running_bots(server.port, bot_1=bot):
        slots = [ScheduledGame(1, 0, 1), ScheduledGame(2, 0, 1)]
        server.referee.add(unit(conditions("mnk:1,1,1", "60+1"), slots))
        await wait_until(bot.preparing.is_set)
        await asyncio.sleep(0.2)
        assert server.referee.player(1).outbox.turn_game == [2]
        bot.released.set()
        await server.finished_games(2)


class ThreadRecorder(Bot):
    """Records the threads in which it thinks; its first moves call the given functions."""

    def __init__(self, *thoughts: Callable[[], None]) -> None:
        self.threads: list[int] = []
        self._thoughts = list(thoughts)

    def choose(self, position: Position) -> int:
        self.threads.append(threading.get_ident())
        if self._thoughts:
            self._thoughts.pop(0)()
        return position.free[0]


class BatchThreadRecorder(ThreadRecorder):
    def choose_batch(self, positions: Sequence[Position]) -> list[int]:
        return [self.choose(position) for position in positions]


@pytest.mark.long
@pytest.mark.parametrize("kind", [ThreadRecorder, BatchThreadRecorder])
async def test_a_bot_that_was_slow_once_returns_to_the_event_loop(
    server: Loopback, kind: type[ThreadRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine rarely lets a thousand answers in a row be quick.
    monkeypatch.setattr("noughts_bots.connection.session.Thinker", lambda: Thinker(Pace(answers_to_recover=100)))
    bot = kind(partial(work_hard, 0.03))
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions(concurrency=8), 1_000))
        await server.finished_games(1_000)
    assert len(server.finished) == 1_000
    event_loop_thread = threading.get_ident()
    changes = [thread for thread, before in zip(bot.threads, [None, *bot.threads], strict=False) if thread != before]
    # In the event loop, in its thread, and in the loop again; on a busy machine possibly in the thread once more.
    assert changes[0] == changes[2] == event_loop_thread != changes[1]


async def test_one_long_wait_does_not_move_a_bot_to_a_thread(server: Loopback) -> None:
    bot = ThreadRecorder(partial(time.sleep, 0.03))
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions("mnk:1,1,1"), [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 41)]))
        await server.finished_games(40)
    assert bot.threads[1] == threading.get_ident()


async def test_a_bot_that_sleeps_at_each_question_moves_to_a_thread(server: Loopback) -> None:
    bot = ThreadRecorder(*[partial(time.sleep, 0.03)] * 12)
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions("mnk:1,1,1"), [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 13)]))
        await server.finished_games(12)
    event_loop_thread = threading.get_ident()
    assert bot.threads[:3] == [event_loop_thread] * 3
    assert event_loop_thread not in bot.threads[3:]


async def test_an_asynchronous_bot_thinks_about_all_games_at_once(server: Loopback) -> None:
    class Together(Bot):
        def __init__(self) -> None:
            self.all_questions = asyncio.Barrier(20)

        async def choose(self, position: Position) -> int:
            await self.all_questions.wait()
            return position.free[0]

    async with running_bots(server.port, bot_1=Together(), bot_2=RandomBot()):
        server.referee.add(unit(conditions("mnk:1,1,1"), [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 21)]))
        await server.finished_games(20)


async def test_an_unanswered_question_delays_no_other(server: Loopback) -> None:
    shared = conditions("mnk:1,1,1")
    seed = side_seed(game_seed(shared.seed, 1), 0)

    class Absent(Bot):
        async def choose(self, position: Position) -> int:
            if position.seed == seed:
                await asyncio.Event().wait()
            return position.free[0]

    async with running_bots(server.port, bot_1=Absent(), bot_2=RandomBot()):
        server.referee.add(unit(shared, [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 6)]))
        games = await server.finished_games(4)
        assert {game.ordinal for game in games} == {2, 3, 4, 5}


async def test_a_slow_bot_never_thinks_about_two_questions_at_once(server: Loopback) -> None:
    shared = conditions("mnk:1,1,1")
    bot = Pondering(side_seed(game_seed(shared.seed, 3), 0))
    async with link_to(server.port) as link, running_bots(link.port, bot_1=bot, bot_2=RandomBot()) as events:
        server.referee.add(unit(shared, [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 7)]))
        await wait_until(bot.pondering.is_set)
        await server.finished_games(2)
        link.cut()
        await wait_until(lambda: len([event for event in events if isinstance(event, Online)]) == 4)
        await wait_until(lambda: not server.referee.player(1).outbox)
        assert bot.most_thinking == 1
        bot.released.set()
        await server.finished_games(6)
    assert bot.most_thinking == 1
