"""Answers of bots over real gRPC: cells, cells that lose, exceptions and resignations."""

import pytest

from noughts_bots.sdk.bot import Bot, Resign
from noughts_referee.rules import Position, Result, Termination, game_seed, side_seed
from tests.bots.connection.sessions import KINDS, game_with_answer, moves_of, running_bots
from tests.bots.random_bots import AsyncRandomBot, RandomBot
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, wait_until


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
