"""Whole games of bots of every kind, and the messages that bots get, over real gRPC."""

import asyncio
import time
from itertools import product

import pytest
from google.rpc.status_pb2 import Status

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import play
from noughts_bots.sdk.bot import Bot, GameEnd, GameInfo
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import Position, Result, Termination
from tests.bots.connection.sessions import KINDS, expected_moves, moves_of, running_bots
from tests.bots.random_bots import ArrayRandomBot, RandomBot, login
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, PlayContext, scripted_server, wait_until


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
    assert server.counts.frames_sent < 1_000


async def test_the_hello_has_the_bots_name_and_version(server: Loopback) -> None:
    class Modest(RandomBot):
        max_games = 2

    async with running_bots(server.port, bot_1=Modest(), bot_2=RandomBot()) as events:
        server.referee.add(unit(conditions(), 5))
        await wait_until(lambda: len(events) == 2)
        assert sorted(map(str, events)) == ["online as bots/bot-1/versions/1", "online as bots/bot-2/versions/1"]
        await server.finished_games(5)
        assert "Modest" in server.agents[1]
        assert server.agents[1].startswith("noughts-python/")


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
