"""`choose_batch` gets all questions of a frame at once, on each transport, and plays the games of `choose`."""

from array import array
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest

from noughts_bots import Bot, Move, Position, Resign
from noughts_bots.connection.dialogue import Dialogue
from noughts_bots.connection.pipe_session import play_on_pipes
from noughts_bots.reference.first_free import FirstFree
from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.bot import method_of
from noughts_proto.pipes import LARGEST_FROM_BOT, packed, read_message
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Variant, parse_variant
from tests.support.forbidding import centre_later


def frame_of(number: int, variant: str, handles: Sequence[int]) -> pb.PlayResponse:
    """Return a frame that starts these games and asks for the first move in each."""
    frame = pb.PlayResponse(frame=number)
    add_games(frame, variant, handles)
    return frame


def add_games(frame: pb.PlayResponse, variant: str, handles: Sequence[int]) -> None:
    count = len(handles)
    frame.starts.add(
        tournament="tournaments/t", variant=variant, game=handles, number=handles, side=[1] * count,
        seed=[1000 + handle for handle in handles], opponent=[0] * count, opponents=["x"], move_count=[0] * count,
    )  # fmt: skip
    frame.turns.game.extend(handles)
    frame.turns.ply.extend([0] * count)
    frame.turns.cell.extend([0] * count)


class BatchAnswers(Bot):
    """Gives these answers one batch after another, and records the questions."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.questions: list[tuple[str, list[int]]] = []

    def choose_batch(self, positions: Sequence[Position]) -> Any:
        (variant,) = {position.variant.name for position in positions}
        self.questions.append((variant, [position.seed - 1000 for position in positions]))
        return self.answers.pop(0)


def moves_for(bot: Bot, frame: pb.PlayResponse) -> pb.Moves:
    dialogue = Dialogue(bot, lambda event: None)
    assert dialogue.in_batches
    dialogue.answer_all(dialogue.take(frame))
    return dialogue.reply().moves


def test_questions_of_a_frame_are_asked_at_once_and_answered_in_order() -> None:
    bot = BatchAnswers([8, 4, 0])
    moves = moves_for(bot, frame_of(1, "tictactoe", [1, 2, 3]))
    assert bot.questions == [("tictactoe", [1, 2, 3])]
    assert (list(moves.game), list(moves.ply), list(moves.cell)) == ([1, 2, 3], [0, 0, 0], [8, 4, 0])


def test_a_frame_of_several_variants_is_asked_variant_by_variant() -> None:
    frame = frame_of(1, "tictactoe", [1, 2])
    add_games(frame, "connect4", [3])
    add_games(frame, "tictactoe", [4])
    bot = BatchAnswers([0, 1, 2], [35])
    moves = moves_for(bot, frame)
    assert bot.questions == [("tictactoe", [1, 2, 4]), ("connect4", [3])]
    assert dict(zip(moves.game, moves.cell, strict=True)) == {1: 0, 2: 1, 4: 2, 3: 35}


@pytest.mark.parametrize("answers", [(3, 4), array("h", [3, 4]), iter([3, 4])], ids=["tuple", "array", "iterator"])
def test_answers_can_be_any_iterable(answers: Any) -> None:
    assert list(moves_for(BatchAnswers(answers), frame_of(1, "tictactoe", [1, 2])).cell) == [3, 4]


def test_choose_and_play_handle_scores_and_illegal_cells_alike(caplog: pytest.LogCaptureFixture) -> None:
    answers = [Move(4, score=0.5), Resign(), 99, "four", -1, 2]
    moves = moves_for(BatchAnswers(answers), frame_of(1, "tictactoe", [1, 2, 3, 4, 5, 6]))
    assert list(moves.resigned) == [1, 3]
    assert (list(moves.scored), list(moves.score)) == ([0], [0.5])
    assert [moves.cell[row] for row in (0, 2, 4, 5)] == [4, 0xFFFFFFFF, 0xFFFFFFFF, 2]
    assert caplog.text.count("the bot failed") == 1, "a resignation on purpose is no failure"


def test_row_numbers_continue_in_a_second_batch(caplog: pytest.LogCaptureFixture) -> None:
    frame = frame_of(1, "tictactoe", [1, 2])
    add_games(frame, "connect4", [3, 4])
    moves = moves_for(BatchAnswers([0, 1], [Move(35, 2.0), Resign()]), frame)
    assert (list(moves.scored), list(moves.resigned)) == ([2], [3])


@pytest.mark.parametrize("answers", [[1], [1, 2, 3], []])
def test_a_wrong_number_of_answers_resigns_the_batch_with_a_reason(
    caplog: pytest.LogCaptureFixture, answers: list[int]
) -> None:
    moves = moves_for(BatchAnswers(answers), frame_of(1, "tictactoe", [1, 2]))
    assert (list(moves.game), list(moves.resigned)) == ([1, 2], [0, 1])
    assert f"got {len(answers)} answers, expected 2" in caplog.text


def test_a_batch_that_raises_resigns_its_games_and_the_next_one_is_asked() -> None:
    class Once(BatchAnswers):
        def choose_batch(self, positions: Sequence[Position]) -> Any:
            answers = super().choose_batch(positions)
            if answers is None:
                raise Resign
            return answers

    dialogue = Dialogue(Once(None, [4]), lambda event: None)
    dialogue.answer_all(dialogue.take(frame_of(1, "tictactoe", [1, 2])))
    assert list(dialogue.reply().moves.resigned) == [0, 1]
    dialogue.answer_all(dialogue.take(frame_of(2, "tictactoe", [3])))
    moves = dialogue.reply().moves
    assert (list(moves.game), list(moves.cell), list(moves.resigned)) == ([3], [4], [])


def test_the_nearest_class_decides_which_method_is_asked() -> None:
    class Batching(BatchAnswers):
        pass

    class Choosing(BatchAnswers):
        def choose(self, position: Position) -> int:
            return position.free[0]

    class BatchingAgain(Choosing):
        def choose_batch(self, positions: Sequence[Position]) -> list[int]:
            return [0] * len(positions)

    kinds = (Batching(), Choosing(), BatchingAgain(), Bot(), Random())
    assert [method_of(bot) for bot in kinds] == ["choose_batch", "choose", "choose_batch", "choose", "choose_batch"]


def test_choose_of_a_batch_bot_is_a_batch_of_one() -> None:
    position = Position(parse_variant("tictactoe"))
    assert BatchAnswers([7]).choose(position) == 7
    with pytest.raises(Resign):
        BatchAnswers([Resign()]).choose(position)
    with pytest.raises(ValueError, match="got 2 answers, expected 1"):
        BatchAnswers([7, 8]).choose(position)


def test_an_asynchronous_choose_batch_is_refused() -> None:
    class Later(Bot):
        async def choose_batch(self, positions: Sequence[Position]) -> list[int]:  # type: ignore[override]
            return [0] * len(positions)

    with pytest.raises(TypeError, match="choose_batch: got `async def`"):
        play_on_pipes(Later(), BytesIO(), BytesIO())


def test_a_batch_bot_on_pipes_sends_all_answers_together() -> None:
    bot = BatchAnswers(list(range(9)) * 20)
    down = BytesIO(packed(frame_of(1, "tictactoe", range(1, 181)).SerializeToString()))
    up = BytesIO()
    play_on_pipes(bot, down, up)
    up.seek(0)
    hello, reply = (pb.PlayRequest.FromString(read_message(up, LARGEST_FROM_BOT) or b"") for _ in range(2))
    assert hello.HasField("hello")
    assert (reply.done_through, len(reply.moves.game), len(bot.questions)) == (1, 180, 1)
    assert read_message(up, LARGEST_FROM_BOT) is None


@pytest.mark.parametrize("bot", [Random(), FirstFree()])
@pytest.mark.parametrize(
    "variant",
    [*map(parse_variant, ("tictactoe", "connect4", "gomoku")), centre_later()],
    ids=lambda variant: variant.name,
)
def test_the_reference_bots_choose_the_same_either_way(bot: Any, variant: Variant) -> None:
    positions = []
    for seed in range(60):
        position = Position(variant, seed=seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
        for _ in range(seed % (variant.cells - 1)):
            position.play(position.rng().choice(position.free))
        positions.append(position)
    for count in (1, 5, 60):
        assert bot.choose_batch(positions[:count]) == [bot.choose(position) for position in positions[:count]]
