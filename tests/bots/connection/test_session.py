"""Bots written with the SDK, playing over real gRPC: quick ones, slow ones, asynchronous ones, and broken ones."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import product

import grpc
import pytest
from google.rpc.status_pb2 import Status

from noughts_bots import run
from noughts_bots.connection.events import ConnectionLost, Online, SessionEvent
from noughts_bots.connection.session import BotRefused, Login, play
from noughts_bots.sdk.bot import Bot, GameEnd, GameInfo, Resign
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import Position, Result, Termination, Variant, game_seed, side_seed
from noughts_referee.work_units import FinishedGame, GameConditions, Slot, unpack_moves
from tests.bots.random_bots import (
    ArrayRandomBot,
    AsyncRandomBot,
    BatchRandomBot,
    RandomBot,
    SlowRandomBot,
    login,
    work_hard,
)
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, PlayContext, link_to, loopback, raw_bot, scripted_server, wait_until
from tests.support.patience import PATIENCE

KINDS: list[type[Bot]] = [RandomBot, SlowRandomBot, AsyncRandomBot, BatchRandomBot, ArrayRandomBot]


def expected_moves(shared: GameConditions, slot: Slot) -> list[int]:
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


# Whole games.


def next_kind(kind: type[Bot]) -> type[Bot]:
    return KINDS[(KINDS.index(kind) + 1) % len(KINDS)]


@pytest.mark.long
@pytest.mark.parametrize(
    "first, second",
    [
        *(
            pytest.param(first, second, marks=[] if next_kind(first) is second else pytest.mark.at_length)
            for first, second in product(KINDS, KINDS)
        ),
    ],
)
async def test_all_kinds_of_bots_play_the_games_that_follow_from_the_seed(
    server: Loopback, first: type[Bot], second: type[Bot]
) -> None:
    shared = conditions("mnk:4,4,3", seed=5)
    slots = unit(shared, 12).slots
    async with running_bots(server.port, bot_1=first(), bot_2=second()):
        server.referee.add(unit(shared, slots))
        games = await server.finished_games(12)
    assert {game.ordinal: moves_of(game, shared.variant) for game in games} == {
        slot.ordinal: expected_moves(shared, slot) for slot in slots
    }
    assert {game.termination for game in games} <= {Termination.LINE, Termination.BOARD_FULL}
    assert server.counts.complaints == server.referee.arbiter.late_answers == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_timed_games_are_played_one_after_the_other(server: Loopback, kind: type[Bot]) -> None:
    shared = conditions(time="10+1")
    async with running_bots(server.port, bot_1=kind(), bot_2=kind()):
        server.referee.add(unit(shared, 4))
        games = await server.finished_games(4)
    assert [game.ordinal for game in games] == [1, 2, 3, 4]
    assert [moves_of(game, shared.variant) for game in games] == [
        expected_moves(shared, slot) for slot in unit(shared, 4).slots
    ]


async def test_a_thousand_games_at_once_are_played_in_few_frames(server: Loopback) -> None:
    async with running_bots(server.port, bot_1=RandomBot(), bot_2=RandomBot()):
        server.referee.add(unit(conditions(), 1_000))
        await server.finished_games(1_000)
    assert server.counts.frames_down < 1_000


async def test_the_hello_has_the_bots_name_version_and_capacity(server: Loopback) -> None:
    class Modest(RandomBot):
        max_games = 2

    async with running_bots(server.port, bot_1=Modest(), bot_2=RandomBot()) as events:
        server.referee.add(unit(conditions(), 5))
        await wait_until(lambda: len(events) == 2)
        assert sorted(map(str, events)) == ["online as bots/bot-1/versions/1", "online as bots/bot-2/versions/1"]
        await server.finished_games(5)
        assert "Modest" in server.agents[1]
        assert server.agents[1].startswith("noughts-python/")


# Answers of bots.


class Number:
    """An integer type of a library, like those of numpy."""

    def __index__(self) -> int:
        return 4


@pytest.mark.parametrize("answer, cell", [(4, 4), (True, 1), (Number(), 4)])
async def test_any_integer_type_is_played(server: Loopback, answer: object, cell: int) -> None:
    game = await game_with_answer(server, lambda position: answer if position.ply == 0 else position.free[0])
    assert moves_of(game, conditions().variant)[0] == cell


@pytest.mark.parametrize("cell", [9, 255, 256, 2**32 - 1, 2**32, 2**80, -1, -9, -(2**31), -(2**80)])
async def test_a_cell_that_does_not_exist_loses(server: Loopback, cell: int) -> None:
    game = await game_with_answer(server, lambda _: cell)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.ILLEGAL_MOVE)
    assert game.moves == b""


async def test_an_occupied_cell_loses(server: Loopback) -> None:
    game = await game_with_answer(server, lambda _: 4)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.ILLEGAL_MOVE)
    assert game.moves[0] == 4
    assert len(game.moves) == 2
    assert game.fault == "placed a stone on b2 (cell 4), which is occupied"


async def test_a_bots_log_has_the_reason_for_a_loss(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(Bot):
        def choose(self, position: Position) -> int:
            return 4

    message = "the bot lost game 1 of 1 at ply 2 (tictactoe): it placed a stone on b2 (cell 4), which is occupied"
    async with running_bots(server.port, bot_1=Stubborn(), bot_2=RandomBot()):
        server.referee.add(unit(conditions(), 1))
        await wait_until(lambda: message in caplog.text)
    assert caplog.text.count("the bot lost") == 1


async def test_the_reason_for_a_resignation_reaches_the_referee_in_one_line(server: Loopback) -> None:
    class Lost(Exception):
        pass

    def choose(position: Position) -> int:
        raise Lost("no\nidea\0")

    assert (await game_with_answer(server, choose)).fault.startswith("resigned: ")
    assert (await game_with_answer(server, choose)).fault.endswith("Lost: no idea\N{REPLACEMENT CHARACTER}")


@pytest.mark.parametrize("answer", [None, "4", 4.0, [4], float("nan")])
async def test_an_answer_that_is_not_an_integer_resigns_and_is_logged(
    server: Loopback, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    game = await game_with_answer(server, lambda _: answer)
    assert (game.result, game.termination) == (Result.SECOND_WINS, Termination.RESIGNED)
    assert "the bot failed in game 1 of 1 at ply 0 (tictactoe), after [], and resigns" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bot_that_raises_resigns_only_this_game(
    server: Loopback, kind: type[Bot], caplog: pytest.LogCaptureFixture
) -> None:
    shared = conditions(seed=3)
    unlucky = side_seed(game_seed(3, 2), 1)

    def fail(position: Position) -> None:
        if position.seed == unlucky:
            raise ZeroDivisionError("there is nothing to divide")

    class Failing(kind):  # type: ignore[misc,valid-type]  # of each kind
        def choose(self, position: Position) -> object:
            fail(position)
            return super().choose(position)

    class AsyncFailing(AsyncRandomBot):
        async def choose(self, position: Position) -> int:
            fail(position)
            return await super().choose(position)

    bot = AsyncFailing() if kind is AsyncRandomBot else Failing()
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(shared, 6))
        games = await server.finished_games(6)
    assert {game.ordinal for game in games if game.termination == Termination.RESIGNED} == {2}
    assert "there is nothing to divide" in caplog.text


@pytest.mark.parametrize("kind", [RandomBot, AsyncRandomBot])
async def test_a_deliberate_resignation_is_not_logged_as_a_failure(
    server: Loopback, kind: type[Bot], caplog: pytest.LogCaptureFixture
) -> None:
    class Resigning(Bot):
        def choose(self, position: Position) -> int:
            raise Resign

    class AsyncResigning(Bot):
        async def choose(self, position: Position) -> int:
            raise Resign

    bot = AsyncResigning() if kind is AsyncRandomBot else Resigning()
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions(), 2))
        games = await server.finished_games(2)
    assert {(game.result, game.termination) for game in games} == {
        (Result.SECOND_WINS, Termination.RESIGNED),
        (Result.FIRST_WINS, Termination.RESIGNED),
    }
    assert "failed" not in caplog.text


async def test_a_bot_without_choose_gets_a_clear_error(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    async with running_bots(server.port, bot_1=Bot(), bot_2=RandomBot()):
        server.referee.add(unit(conditions(), 1))
        await server.finished_games(1)
    assert "Bot needs a method `choose(self, position)`" in caplog.text


# Messages to a bot.


class Listening(RandomBot):
    def __init__(self) -> None:
        self.notices: list[tuple[GameInfo, GameEnd | None]] = []

    def start(self, game: GameInfo) -> None:
        self.notices.append((game, None))

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self.notices.append((game, end))


class SlowListening(Listening):
    def choose(self, position: Position) -> int:
        time.sleep(0.021)
        return super().choose(position)


class AsyncListening(Listening):
    async def choose(self, position: Position) -> int:  # type: ignore[override]  # as every bot may
        await asyncio.sleep(0)
        return position.rng().choice(position.free)


class ArrayListening(ArrayRandomBot, Listening):
    pass


@pytest.mark.parametrize("kind", [Listening, SlowListening, AsyncListening, ArrayListening])
async def test_start_and_end_are_called_for_each_game(server: Loopback, kind: type[Listening]) -> None:
    shared = conditions(tournament=9, concurrency=1)
    bots = [kind(), kind()]
    async with running_bots(server.port, bot_1=bots[0], bot_2=bots[1]):
        server.referee.add(unit(shared, 2))
        games = await server.finished_games(2)
        await wait_until(lambda: [len(bot.notices) for bot in bots] == [4, 4])
    for key, bot in enumerate(bots):
        infos = [
            GameInfo(f"tournaments/9/games/{number}", shared.variant, side, f"bot-{2 - key}")
            for number, side in ((1, key), (2, 1 - key))
        ]
        ends = [
            GameEnd(Result(game.result), Termination(game.termination), tuple(moves_of(game, shared.variant)))
            for game in games
        ]
        assert bot.notices == [(infos[0], None), (infos[0], ends[0]), (infos[1], None), (infos[1], ends[1])]


async def test_the_end_has_the_played_moves_without_an_illegal_one(server: Loopback) -> None:
    class Stubborn(Listening):
        def choose(self, position: Position) -> int:
            return 4

    bots = [Stubborn(), Listening()]
    async with running_bots(server.port, bot_1=bots[0], bot_2=bots[1]):
        server.referee.add(unit(conditions(), 1))
        (game,) = await server.finished_games(1)
        await wait_until(lambda: [len(bot.notices) for bot in bots] == [2, 2])
    for bot in bots:
        end = bot.notices[1][1]
        assert end is not None
        assert (end.termination, end.moves) == (Termination.ILLEGAL_MOVE, tuple(game.moves))
        assert len(end.moves) == 2


async def test_errors_in_start_and_end_are_logged_and_the_bot_plays_on(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    class Deaf(RandomBot):
        def start(self, game: GameInfo) -> None:
            raise ValueError("heard nothing of the start")

        def end(self, game: GameInfo, end: GameEnd) -> None:
            raise ValueError("heard nothing of the end")

    async with running_bots(server.port, bot_1=Deaf(), bot_2=RandomBot()):
        server.referee.add(unit(conditions(), 3))
        games = await server.finished_games(3)
        await wait_until(lambda: caplog.text.count("heard nothing of the end") >= 3)
    assert {game.termination for game in games} <= {Termination.LINE, Termination.BOARD_FULL}
    assert caplog.text.count("heard nothing of the start") >= 3


# Slow bots.


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
    async with loopback(heartbeat=0.05) as server:
        shared = conditions("mnk:1,1,1")
        bot = Pondering(side_seed(game_seed(shared.seed, 15), 0))
        async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
            server.referee.add(unit(shared, [Slot(ordinal, 0, 1) for ordinal in range(1, 21)]))
            await wait_until(lambda: len(server.finished) == 14)
            assert bot.pondering.is_set()
            # Meanwhile it acknowledges frames and echoes heartbeats, so it stays online.
            frames = server.counts.frames_up
            await wait_until(lambda: server.counts.frames_up > frames + 3)
            assert (len(server.finished), server.wire(1).online) == (14, True)
            bot.released.set()
            await server.finished_games(20)


async def test_a_frame_is_acknowledged_while_the_bot_thinks(server: Loopback) -> None:
    shared = conditions("mnk:1,3,3")
    bot = Pondering(side_seed(game_seed(shared.seed, 2), 0))
    async with raw_bot(server, 2) as opponent, running_bots(server.port, bot_1=bot):
        server.referee.add(unit(shared, [Slot(1, 0, 1), Slot(2, 0, 1)]))
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
async def test_a_bot_that_was_slow_once_returns_to_the_event_loop(server: Loopback, kind: type[ThreadRecorder]) -> None:
    bot = kind(partial(work_hard, 0.03))
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions(concurrency=8), 1_000))
        await server.finished_games(1_000)
    assert len(server.finished) == 1_000
    here = threading.get_ident()
    changes = [thread for thread, before in zip(bot.threads, [None, *bot.threads], strict=False) if thread != before]
    # In the event loop, in its thread, and in the loop again; on a busy machine possibly in the thread once more.
    assert changes[0] == changes[2] == here != changes[1]


async def test_one_long_wait_does_not_move_a_bot_to_a_thread(server: Loopback) -> None:
    bot = ThreadRecorder(partial(time.sleep, 0.03))
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions("mnk:1,1,1"), [Slot(ordinal, 0, 1) for ordinal in range(1, 41)]))
        await server.finished_games(40)
    assert bot.threads[1] == threading.get_ident()


async def test_a_bot_that_sleeps_at_each_question_moves_to_a_thread(server: Loopback) -> None:
    bot = ThreadRecorder(*[partial(time.sleep, 0.03)] * 12)
    async with running_bots(server.port, bot_1=bot, bot_2=RandomBot()):
        server.referee.add(unit(conditions("mnk:1,1,1"), [Slot(ordinal, 0, 1) for ordinal in range(1, 13)]))
        await server.finished_games(12)
    here = threading.get_ident()
    assert bot.threads[:3] == [here] * 3
    assert here not in bot.threads[3:]


async def test_an_asynchronous_bot_thinks_about_all_games_at_once(server: Loopback) -> None:
    class Together(Bot):
        def __init__(self) -> None:
            self.all_questions = asyncio.Barrier(20)

        async def choose(self, position: Position) -> int:
            await self.all_questions.wait()
            return position.free[0]

    async with running_bots(server.port, bot_1=Together(), bot_2=RandomBot()):
        server.referee.add(unit(conditions("mnk:1,1,1"), [Slot(ordinal, 0, 1) for ordinal in range(1, 21)]))
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
        server.referee.add(unit(shared, [Slot(ordinal, 0, 1) for ordinal in range(1, 6)]))
        games = await server.finished_games(4)
        assert {game.ordinal for game in games} == {2, 3, 4, 5}


# Lost connections.


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bot_reconnects_after_its_server_restarted(kind: type[Bot]) -> None:
    async with loopback() as server:
        port = server.port
        events: list[SessionEvent] = []
        async with asyncio.TaskGroup() as tasks:
            sessions = [tasks.create_task(play(kind(), login(port, key), events.append)) for key in (1, 2)]
            server.referee.add(unit(conditions("mnk:4,4,4"), 400))
            await wait_until(lambda: server.referee.plies > 0)
            await server.stop()
            await wait_until(lambda: len([event for event in events if isinstance(event, ConnectionLost)]) >= 2)
            async with loopback(port=port) as restarted:
                restarted.referee.add(unit(conditions(), 3))
                await restarted.finished_games(3)
                for session in sessions:
                    session.cancel()


async def test_bot_that_was_online_reconnects_without_limit() -> None:
    async with loopback() as server:
        port = server.port
        events: list[SessionEvent] = []
        async with asyncio.TaskGroup() as tasks:
            session = tasks.create_task(play(RandomBot(), replace(login(port, 1), wait=0.0), events.append))
            await wait_until(lambda: any(isinstance(event, Online) for event in events))
            await server.stop()
            await wait_until(lambda: len([event for event in events if isinstance(event, ConnectionLost)]) >= 2)
            async with loopback(port=port):
                await wait_until(lambda: len([event for event in events if isinstance(event, Online)]) == 2)
                session.cancel()


async def test_bot_moves_to_the_next_address() -> None:
    async with loopback() as first, loopback() as second:
        events: list[SessionEvent] = []
        both = replace(login(first.port, 1), server=f"127.0.0.1:{first.port}, 127.0.0.1:{second.port}")
        async with asyncio.TaskGroup() as tasks:
            sessions = [
                tasks.create_task(play(RandomBot(), both, events.append)),
                tasks.create_task(play(RandomBot(), login(second.port, 2))),
            ]
            await wait_until(lambda: any(isinstance(event, Online) for event in events))
            await first.stop()
            second.referee.add(unit(conditions(), 3))
            await second.finished_games(3)
            for session in sessions:
                session.cancel()


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
async def test_a_cut_connection_changes_no_game(server: Loopback, kind: type[Bot]) -> None:
    shared = conditions("mnk:5,5,5", seed=8)
    slots = unit(shared, 40).slots
    async with link_to(server.port) as link, running_bots(link.port, bot_1=kind(), bot_2=kind()) as events:
        server.referee.add(unit(shared, slots))
        for share in (50, 200, 400):
            await wait_until(lambda share=share: server.referee.plies >= share)  # type: ignore[misc]
            link.cut()
        await wait_until(lambda: len(server.finished) == 40)
        assert len([event for event in events if isinstance(event, ConnectionLost)]) >= 2
    assert {game.ordinal: moves_of(game, shared.variant) for game in server.finished} == {
        slot.ordinal: expected_moves(shared, slot) for slot in slots
    }


async def test_a_slow_bot_never_thinks_about_two_questions_at_once(server: Loopback) -> None:
    shared = conditions("mnk:1,1,1")
    bot = Pondering(side_seed(game_seed(shared.seed, 3), 0))
    async with link_to(server.port) as link, running_bots(link.port, bot_1=bot, bot_2=RandomBot()) as events:
        server.referee.add(unit(shared, [Slot(ordinal, 0, 1) for ordinal in range(1, 7)]))
        await wait_until(bot.pondering.is_set)
        await server.finished_games(2)
        link.cut()
        await wait_until(lambda: len([event for event in events if isinstance(event, Online)]) == 4)
        await wait_until(lambda: not server.referee.player(1).outbox)
        assert bot.most_thinking == 1
        bot.released.set()
        await server.finished_games(6)
    assert bot.most_thinking == 1


async def test_without_reconnect_a_lost_server_is_an_error(server: Loopback) -> None:
    async with link_to(server.port) as link, asyncio.TaskGroup() as tasks:
        session = tasks.create_task(refusal_of_session(RandomBot(), login(link.port, 1, reconnect=False)))
        await wait_until(lambda: server.wire(1).online)
        link.cut()
        assert (await session).code is grpc.StatusCode.UNAVAILABLE


async def refusal_of_session(bot: Bot, session_login: Login) -> BotRefused:
    with pytest.raises(BotRefused) as raised:
        await play(bot, session_login)
    return raised.value


# Refusals.


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refused_login_raises_the_message_of_the_server(server: Loopback, kind: type[Bot]) -> None:
    refusal = await refusal_of_session(kind(), Login(server.address, "not-this-one", name="bot-1"))
    assert refusal.code is grpc.StatusCode.UNAUTHENTICATED
    assert str(refusal) == "this token is not known here: ask for a new one"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bot_replaced_by_a_newer_session_stays_away(server: Loopback, kind: type[Bot]) -> None:
    async with asyncio.TaskGroup() as tasks:
        session = tasks.create_task(refusal_of_session(kind(), login(server.port, 1)))
        await wait_until(lambda: server.wire(1).online)
        async with raw_bot(server, 1):
            refusal = await session
        assert refusal.code is grpc.StatusCode.ABORTED
        assert "logged in again elsewhere" in str(refusal)


async def test_nine_of_ten_simultaneous_logins_are_replaced() -> None:
    # A server that measures the network asks at once. Some bots answer when their stream ends, and grpc.aio then
    # replaces the server's status by its own.
    events: list[SessionEvent] = []

    async def session(port: int) -> grpc.StatusCode | None:
        try:
            await play(RandomBot(), login(port, 1), events.append)
        except BotRefused as refusal:
            return refusal.code
        return None

    async with loopback(network_cap_us=100_000) as server:
        for _ in range(40):
            async with asyncio.TaskGroup() as tasks:
                sessions = [tasks.create_task(session(server.port)) for _ in range(10)]
                await wait_until(lambda: sum(task.done() for task in sessions) == 9)  # noqa: B023
                [last_session] = [task for task in sessions if not task.done()]
                last_session.cancel()
            assert {task.result() for task in sessions if task is not last_session} == {grpc.StatusCode.ABORTED}
    assert not any(isinstance(event, ConnectionLost) for event in events)


async def test_a_bot_waits_for_a_server_that_is_not_running(caplog: pytest.LogCaptureFixture) -> None:
    async with loopback() as server:
        port = server.port
    caplog.set_level(logging.INFO)
    async with running_bots(port, bot_1=RandomBot(), bot_2=RandomBot()) as events:
        await wait_until(lambda: len(events) >= 2)
        assert all("rying again in" in str(event) for event in events)
        async with loopback(port=port) as server:
            server.referee.add(unit(conditions(), 1))
            await server.finished_games(1)


async def test_run_plays_without_an_event_loop(server: Loopback) -> None:
    with pytest.raises(BotRefused, match="this token is not known here"):
        await asyncio.to_thread(partial(run, RandomBot(), server=server.address, token="not-this-one"))


# Other messages of the server.


@pytest.mark.parametrize("kind", KINDS)
async def test_a_session_that_the_server_ends_with_ok_returns(kind: type[Bot]) -> None:
    async def script(context: PlayContext) -> None:
        await context.write(start_of_a_game(frame=1))
        # Read the answer first: a stream that ends during a write has no status for grpc.aio, and the bot reconnects.
        while not (await context.read()).moves.game:
            pass

    async with scripted_server(script) as port:
        await play(kind(), login(port, 1))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_question_asked_again_gets_the_same_answer(kind: type[Bot]) -> None:
    answers: list[pb.Moves] = []

    async def answer(context: PlayContext) -> None:
        while len((moves := (await context.read()).moves).game) == 0:
            pass
        answers.append(moves)

    async def script(context: PlayContext) -> None:
        await context.write(start_of_a_game(frame=1))
        await answer(context)
        first_cell = answers[0].cell[0]
        opponents_cell = (first_cell + 1) % 9
        for frame, (ply, cell) in enumerate([(0, 0), (0, 0), (2, opponents_cell), (2, opponents_cell)], start=2):
            await context.write(pb.PlayResponse(frame=frame, turns=pb.Turns(game=[1], ply=[ply], cell=[cell])))
            await answer(context)

    async with scripted_server(script) as port:
        await play(kind(), login(port, 1))
    expected = Position(conditions().variant, seed=99)
    first = expected.rng().choice(expected.free)
    expected.play(first)
    expected.play((first + 1) % 9)
    second = expected.rng().choice(expected.free)
    assert [(moves.ply[0], moves.cell[0]) for moves in answers] == [(0, first)] * 3 + [(2, second)] * 2


async def test_complaints_of_the_referee_are_logged_and_are_events(caplog: pytest.LogCaptureFixture) -> None:
    async def script(context: PlayContext) -> None:
        await context.write(pb.PlayResponse(statuses=[Status(message="answer for game 7, ply 0: never asked")]))

    events: list[SessionEvent] = []
    async with scripted_server(script) as port:
        await play(RandomBot(), login(port, 1), events.append)
    assert "answer for game 7, ply 0: never asked" in caplog.text
    assert str(events[-1]) == "the referee complains: answer for game 7, ply 0: never asked"


async def test_a_heartbeat_is_echoed_and_a_frame_acknowledged() -> None:
    echoed: list[tuple[int, int]] = []

    async def script(context: PlayContext) -> None:
        for frame in (1, 2):
            await context.write(pb.PlayResponse(frame=frame, heartbeat=pb.Heartbeat(id=frame + 40)))
            request = await context.read()
            echoed.append((request.done_through, request.heartbeat.id))

    async with scripted_server(script) as port:
        await play(RandomBot(), login(port, 1))
    assert echoed == [(1, 41), (2, 42)]


def start_of_a_game(frame: int) -> pb.PlayResponse:
    """Return a frame that starts a game with the seed 99 and asks for its first move."""
    starts = pb.Starts(
        tournament="tournaments/1",
        variant="tictactoe",
        game=[1],
        number=[1],
        side=[types_pb2.SIDE_FIRST],
        seed=[99],
        opponent=[0],
        opponents=["nobody"],
        move_count=[0],
    )
    return pb.PlayResponse(frame=frame, starts=[starts], turns=pb.Turns(game=[1], ply=[0], cell=[0]))
