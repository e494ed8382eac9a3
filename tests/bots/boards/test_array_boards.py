"""The boards that an `ArrayBot` gets, compared with positions, and the treatment of its answers."""

import dataclasses
from collections.abc import Iterable, Sequence
from io import BytesIO
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noughts_bots import Bot, Move, Resign
from noughts_bots.connection.dialogue import Dialogue
from noughts_bots.connection.pipe_session import play_on_pipes
from noughts_bots.sdk.arrays import RESIGN, ArrayBot, Batch, batch_of
from noughts_bots.sdk.bot import method_of
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import OWN_NAMES, Position, Variant, members, parse_variant
from tests.support.forbidding import centre_later, corners_only, no_overline

VARIANTS = (*OWN_NAMES, "mnk:7,6,4", "mnk:30,1,3", "gomoku+pro", "renju+long-pro")


@dataclasses.dataclass
class Game:
    """A game of the bot with a scripted referee."""

    handle: int
    position: Position
    side: int
    was_asked: bool = False
    index: int = -1

    def play(self, cell: int) -> None:
        self.position.play(cell)

    @property
    def over(self) -> bool:
        return self.position.outcome() is not None


class CheckingBot(ArrayBot):
    """Compares its batches with the positions of the games, which it finds by their seeds."""

    def __init__(self) -> None:
        self.games: dict[int, Game] = {}

    def choose_arrays(self, batch: Batch) -> Any:
        games = [self.games[seed] for seed in batch.seed.tolist()]
        assert len(batch) == len(games) == len(set(batch.games.tolist()))
        assert {game.position.variant for game in games} == {batch.variant}
        for row, game in enumerate(games):
            check(batch, row, game.position)
            assert batch.new[row] == (not game.was_asked)
            assert game.index in (-1, batch.games[row])
            game.was_asked, game.index = True, int(batch.games[row])
        return batch.pick(batch.legal)


def check(batch: Batch, row: int, position: Position) -> None:
    """Compare a row of the batch with its position."""
    board = [0] * position.variant.cells
    for value, stones in enumerate((position.own, position.opponent), 1):
        for cell in members(stones):
            board[cell] = value
    assert batch.boards[row].tolist() == board
    assert np.flatnonzero(batch.legal[row]).tolist() == list(position.free)
    last = position.moves[-1] if position.moves else -1
    assert (batch.last[row], batch.ply[row], batch.side[row]) == (last, position.ply, position.side)
    clocks = batch.own_clock_us[row], batch.opponent_clock_us[row], batch.limit_us[row]
    assert clocks == (position.own_clock_us, position.opponent_clock_us, position.limit_us)
    rng = position.rng()
    assert batch.bits(3)[row].tolist() == [rng.bits() for _ in range(3)]
    assert 0 <= batch.random()[row, 0] < 1


class RandomReferee:
    """A referee that plays random games with a bot, all at once; it can ask again and end games early."""

    LARGEST_COUNT = 6

    def __init__(self, variants: Sequence[Variant], seed: int, timed: bool) -> None:
        self.random = Random(seed)
        self.variants = variants
        self.timed = timed
        self.bot = CheckingBot()
        self.dialogue = Dialogue(self.bot, lambda event: None)
        self.running: list[Game] = []
        self.frames = 0
        self.handles = 0

    def frame(self) -> None:
        """Send one frame with starts, questions in random order and ends, and check the answers."""
        frame = pb.PlayResponse(frame=self.frames)
        while len(self.running) < self.LARGEST_COUNT and self.random.random() < 0.7:
            self.start(frame)
        games_to_ask = [game for game in self.running if game.side == game.position.side and self.random.random() < 0.8]
        self.random.shuffle(games_to_ask)
        for game in games_to_ask:
            self.ask(frame.turns, game)
        self.dialogue.answer_all(self.dialogue.take(frame))
        moves = self.dialogue.reply().moves
        assert sorted(moves.game) == sorted(game.handle for game in games_to_ask)
        by_handle = {game.handle: game for game in games_to_ask}
        for handle, ply, cell in zip(moves.game, moves.ply, moves.cell, strict=True):
            game = by_handle[handle]
            assert (ply, cell) == (game.position.ply, game.position.rng().choice(game.position.free))
            if self.random.random() < 0.9:  # the other answers are lost, and the questions are repeated
                game.play(cell)
        ends = pb.PlayResponse(frame=self.frames)
        for game in list(self.running):
            if not game.over and game.side != game.position.side:
                game.play(self.random.choice(game.position.free))
            if game.over or self.random.random() < 0.03:
                self.running.remove(game)
                ends.ends.game.append(game.handle)
                # The bot must ignore a question for a game that has ended.
                self.ask(ends.turns, game)
        self.dialogue.end_games(ends)
        ends.ClearField("ends")
        assert not self.dialogue.take(ends)

    def start(self, frame: pb.PlayResponse) -> None:
        variant = self.random.choice(self.variants)
        seed, side = self.random.getrandbits(64), self.random.randrange(2)
        position = Position(variant, seed=seed)
        for _ in range(self.random.choice((0, 0, 1, 2, 5, variant.cells // 2))):
            position.play(self.random.choice(position.free))
            if position.outcome() is not None:
                position = Position(variant, seed=seed)
        self.handles += self.random.randrange(1, 5)
        game = self.bot.games[seed] = Game(self.handles, position, side)
        self.running.append(game)
        frame.starts.add(
            tournament="tournaments/t", variant=variant.name, game=[game.handle], number=[game.handle],
            side=[(types_pb2.SIDE_FIRST, types_pb2.SIDE_SECOND)[side]], seed=[seed], opponent=[0], opponents=["x"],
            move_count=[position.ply], moves=position.moves,
            time=types_pb2.TimeControl(bank_us=10**6, move_us=10**5) if self.timed else None,
        )  # fmt: skip
        if side != position.side:
            game.play(self.random.choice(position.free))

    def ask(self, turns: pb.Turns, game: Game) -> None:
        position = game.position
        turns.game.append(game.handle)
        turns.ply.append(position.ply)
        turns.cell.append(position.moves[-1] if position.moves else 0)
        if self.timed:
            position.own_clock_us, position.opponent_clock_us = (self.random.randrange(1, 10**6) for _ in range(2))
            position.limit_us = min(position.own_clock_us, 10**5)
            turns.own_clock_us.append(position.own_clock_us)
            turns.opponent_clock_us.append(position.opponent_clock_us)


@settings(deadline=None)
@given(
    names=st.lists(st.sampled_from(VARIANTS), min_size=1, max_size=3, unique=True),
    seed=st.integers(0, 2**32),
    timed=st.booleans(),
    frames=st.integers(1, 12),
)
def test_boards_of_a_batch_are_those_of_the_positions(names: list[str], seed: int, timed: bool, frames: int) -> None:
    script = RandomReferee([parse_variant(name) for name in names], seed, timed)
    for _ in range(frames):
        script.frame()


@pytest.mark.parametrize("name", VARIANTS)
def test_boards_of_each_variant_are_those_of_the_positions(name: str) -> None:
    script = RandomReferee([parse_variant(name)], 7, timed=False)
    for _ in range(40):
        script.frame()
    assert script.handles > script.LARGEST_COUNT


@pytest.mark.parametrize("variant", [centre_later(), corners_only(), no_overline()], ids=lambda variant: variant.name)
@given(seed=st.integers(0, 2**64 - 1))
@settings(deadline=None, max_examples=20)
def test_a_batch_has_the_values_of_its_positions(variant: Variant, seed: int) -> None:
    position, positions = Position(variant, seed=seed), []
    while position.outcome() is None:
        positions.append(position.copy())
        position.play(position.rng().choice(position.free))
    batch = batch_of(positions)
    for row, expected in enumerate(positions):
        check(batch, row, expected)
    assert batch.pick(batch.legal).tolist() == [expected.rng().choice(expected.free) for expected in positions]
    assert batch.new.all()


class ScriptedAnswers(ArrayBot):
    """A bot that gives these answers one after another."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def choose_arrays(self, batch: Batch) -> Any:
        return self.answers.pop(0)


def questions_frame(games: Iterable[int], ply: int = 0, cell: int = 0) -> pb.PlayResponse:
    """Return a frame that asks for a move in these games, and starts them if the ply is 0."""
    games = list(games)
    frame = pb.PlayResponse(frame=1)
    if not ply:
        frame.starts.add(
            tournament="tournaments/t", variant="tictactoe", game=games, number=games, side=[1] * len(games),
            seed=games, opponent=[0] * len(games), opponents=["x"], move_count=[0] * len(games),
        )  # fmt: skip
    frame.turns.game.extend(games)
    frame.turns.ply.extend([ply] * len(games))
    frame.turns.cell.extend([cell] * len(games))
    return frame


def moves_for(bot: Bot, frame: pb.PlayResponse) -> pb.Moves:
    dialogue = Dialogue(bot, lambda event: None)
    dialogue.answer_all(dialogue.take(frame))
    return dialogue.reply().moves


@pytest.mark.parametrize("cells", [[3, 4], np.array([3, 4], np.uint8), np.array([3, 4], np.int32)])
def test_cells_can_be_a_list_or_any_array_of_whole_numbers(cells: Any) -> None:
    moves = moves_for(ScriptedAnswers(cells), questions_frame([1, 2]))
    assert (list(moves.game), list(moves.ply), list(moves.cell)) == ([1, 2], [0, 0], [3, 4])


def test_scores_that_are_not_finite_count_as_none() -> None:
    scores = [0.5, float("nan"), float("inf"), -2]
    moves = moves_for(ScriptedAnswers(([0, 1, 2, 3], scores)), questions_frame([1, 2, 3, 4]))
    assert (list(moves.scored), list(moves.score)) == ([0, 3], [0.5, -2.0])


def test_illegal_cells_and_resignations_affect_only_their_game(caplog: pytest.LogCaptureFixture) -> None:
    cells = np.array([9, -1, RESIGN, 4, 2**40])
    moves = moves_for(ScriptedAnswers((cells, np.arange(5.0))), questions_frame([1, 2, 3, 4, 5]))
    assert list(moves.resigned) == [2]
    assert [moves.cell[row] for row in (0, 1, 3, 4)] == [0xFFFFFFFF, 0xFFFFFFFF, 4, 0xFFFFFFFF]
    assert (list(moves.scored), list(moves.score)) == ([3], [3.0])
    assert caplog.text == "", "a resignation on purpose is no failure"


@pytest.mark.parametrize(
    "answer, reason",
    [
        ([1], "got 1 cells, expected 2, one for each game, in the same order"),
        ([1, 2, 3], "got 3 cells, expected 2"),
        (4, "got an array of shape (), expected 2"),
        ([[1, 2]], "got an array of shape (1, 2), expected 2"),
        ([0.0, 1.0], "got cells of type float64, expected whole numbers"),
        ([None, 1], "got cells of type object, expected whole numbers"),
        ((1, 2, 3), "got a 3-tuple, expected an array of cells, or (cells, scores)"),
        (([1, 2], [0.5]), "got scores of shape (1,), expected (2,)"),
    ],
)
def test_wrong_answers_resign_the_batch_with_a_reason(
    answer: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    moves = moves_for(ScriptedAnswers(answer), questions_frame([1, 2]))
    assert (list(moves.game), list(moves.resigned)) == ([1, 2], [0, 1])
    assert f"choose_arrays: {reason}" in caplog.text
    assert "2 games, the first of them game 1 of t at ply 0 (tictactoe), after [], and resigns" in caplog.text


def test_a_bot_can_change_the_arrays_of_its_batch() -> None:
    boards: list[list[int]] = []

    class Changing(ArrayBot):
        def choose_arrays(self, batch: Batch) -> Any:
            boards.append(batch.boards[0].tolist())
            cells = batch.legal.argmax(axis=1)
            for array in (batch.boards, batch.games, batch.ply, batch.side, batch.last, batch.seed):
                array[:] = 1
            return cells

    dialogue = Dialogue(Changing(), lambda event: None)
    for frame in (questions_frame([5]), questions_frame([5], 2, 8), questions_frame([5], 4, 7)):
        dialogue.answer_all(dialogue.take(frame))
    assert boards == [[0] * 9, [1] + [0] * 7 + [2], [1, 1] + [0] * 5 + [2, 2]]
    assert list(dialogue.reply().moves.cell) == [0, 1, 2]


def test_the_nearest_class_decides_which_method_is_asked() -> None:
    class Choosing(ScriptedAnswers):
        def choose(self, position: Position) -> int:
            return 0

    class AgainArrays(Choosing):
        def choose_arrays(self, batch: Batch) -> Any:
            return [8]

    bots = (ArrayBot(), ScriptedAnswers(), Choosing(), AgainArrays())
    assert [method_of(bot) for bot in bots] == ["choose_arrays", "choose_arrays", "choose", "choose_arrays"]
    assert list(moves_for(AgainArrays(), questions_frame([1])).cell) == [8]


def test_an_array_bot_without_choose_arrays_gets_a_clear_error(caplog: pytest.LogCaptureFixture) -> None:
    class Empty(ArrayBot):
        pass

    assert list(moves_for(Empty(), questions_frame([1])).resigned) == [0]
    assert "Empty needs a method `choose_arrays(self, batch)`" in caplog.text


def test_a_single_position_is_a_batch_of_one() -> None:
    position = Position(parse_variant("tictactoe"))
    assert ScriptedAnswers([7]).choose(position) == 7
    assert ScriptedAnswers(([7], [0.5])).choose(position) == Move(7, 0.5)
    assert ScriptedAnswers(([7], [float("nan")])).choose(position) == 7
    with pytest.raises(Resign):
        ScriptedAnswers([RESIGN]).choose(position)


def test_choose_arrays_of_any_other_bot_is_refused() -> None:
    class Other(Bot):
        def choose_arrays(self, batch: Batch) -> Any:
            return []

    with pytest.raises(TypeError, match="got a Other, expected a subclass of ArrayBot"):
        Dialogue(Other(), lambda event: None)


def test_an_asynchronous_choose_arrays_is_refused() -> None:
    class Later(ArrayBot):
        async def choose_arrays(self, batch: Batch) -> Any:
            return []

    with pytest.raises(TypeError, match="choose_arrays: got `async def`"):
        play_on_pipes(Later(), BytesIO(), BytesIO())
