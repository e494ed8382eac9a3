"""SWAP2BOARD: openings by agreement in the Gomocup protocol, with reference bots as engines."""

import pytest

from noughts_bots import Bot, Position
from noughts_bots.gomocup.engine import GomocupEngine
from noughts_bots.gomocup.swap2 import Swap2Answer, question, read_answer, read_stones, written_answer
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import Choice, OpeningChoice, Put, Take, parse_variant

GOMOKU = parse_variant("gomoku")
# 7,7 8,7 9,9 and 8,8 8,6 on 15x15.
THREE, TWO = (112, 113, 144), (128, 98)
STONES: tuple[tuple[int, ...], ...] = ((), THREE, THREE + TWO)
CHOICES = {stones: OpeningChoice(GOMOKU, "swap2", stones) for stones in STONES}


def test_a_question_has_ordered_stones_and_colours_on_request() -> None:
    assert question(CHOICES[()]) == ["SWAP2BOARD", "DONE"]
    assert question(CHOICES[THREE]) == ["SWAP2BOARD", "7,7", "8,7", "9,9", "DONE"]
    assert question(CHOICES[THREE + TWO], colours=True) == [
        "SWAP2BOARD", "7,7,1", "8,7,2", "9,9,1", "8,8,2", "8,6,1", "DONE",
    ]  # fmt: skip


@pytest.mark.parametrize("stones", CHOICES)
@pytest.mark.parametrize("colours", [False, True])
def test_the_stones_of_a_question_are_read_back(stones: tuple[int, ...], colours: bool) -> None:
    assert read_stones(question(CHOICES[stones], colours=colours)[1:-1], 15, 15) == stones


@pytest.mark.parametrize("line", ["", "7", "7,x", "15,0", "-1,3", "SWAP"])
def test_a_line_without_a_point_of_the_board_is_not_a_stone(line: str) -> None:
    assert read_stones(["7,7", line], 15, 15) is None


@pytest.mark.parametrize(
    "stones, line, answer",
    [
        ((), "7,7 8,7 9,9", Swap2Answer(Put(THREE))),
        (THREE, "SWAP", Swap2Answer(Take(0))),
        (THREE, " swap ", Swap2Answer(Take(0))),
        (THREE, "8,8", Swap2Answer(Take(1), 128)),
        (THREE, "8,8 8,6", Swap2Answer(Put(TWO))),
        (THREE + TWO, "SWAP", Swap2Answer(Take(0))),
        (THREE + TWO, "6,8", Swap2Answer(Take(1), 126)),
        ((), "SWAP", None),
        ((), "7,7", None),
        (THREE, "", None),
        (THREE, "MESSAGE 8,8", None),
        (THREE, "ok 8,8", None),
        (THREE, "UNKNOWN", None),
    ],
)
def test_answers_have_the_meaning_of_the_protocol(
    stones: tuple[int, ...], line: str, answer: Swap2Answer | None
) -> None:
    assert read_answer(line, CHOICES[stones]) == answer
    if answer is not None:
        assert written_answer(answer, 15).lower() == line.strip().lower()


def test_text_after_an_answer_is_ignored() -> None:
    assert read_answer("SWAP eval=3", CHOICES[THREE]) == Swap2Answer(Take(0))
    assert read_answer("+8,+8 eval=3", CHOICES[THREE]) == Swap2Answer(Take(1), 128)
    assert read_answer("8,8 8,6 (balanced)", CHOICES[THREE]) == Swap2Answer(Put(TWO))


def test_a_point_off_the_board_is_an_answer_that_is_not_allowed() -> None:
    answer = read_answer("7,7 8,7 15,15", CHOICES[()])
    assert answer is not None
    assert not CHOICES[()].allows(answer.choice)


class Chooser(Bot):
    """Makes these choices one after another."""

    def __init__(self, *choices: Choice) -> None:
        self.choices = list(choices)
        self.openings: list[OpeningChoice] = []

    def open(self, opening: OpeningChoice) -> Choice:
        self.openings.append(opening)
        return self.choices.pop(0)

    def choose(self, position: Position) -> int:
        assert position.side == 1
        return 126


def test_a_bot_answers_swap2board_as_an_engine() -> None:
    bot = Chooser(Put(THREE), Take(0), Take(1), Put(TWO), Take(1))
    engine = GomocupEngine(bot, name="chooser", version="1")
    engine.answer("START 15")
    answers = []
    for stones in ((), THREE, THREE, THREE, THREE + TWO):
        *lines, last = [engine.answer(line) for line in question(CHOICES[stones])]
        assert lines == [None] * len(lines)
        answers.append(last)
    assert answers == ["7,7 8,7 9,9", "SWAP", "6,8", "8,8 8,6", "6,8"]
    assert [opening.stones for opening in bot.openings] == [(), THREE, THREE, THREE, THREE + TWO]
    assert {(opening.rule, opening.variant.name) for opening in bot.openings} == {("swap2", "gomoku")}


def test_an_invalid_opening_is_an_error_and_the_game_can_continue() -> None:
    engine = GomocupEngine(make_bot(parse_spec("first-free")), name="first", version="1")
    assert str([engine.answer(line) for line in ("SWAP2BOARD", "DONE")][-1]).startswith("ERROR no board yet")
    engine.answer("START 15")
    for lines in (["7,7"], ["7,7", "7,7", "8,8"], ["7,7", "8,8", "x"]):
        answer = [engine.answer(line) for line in ("SWAP2BOARD", *lines, "DONE")][-1]
        assert str(answer).startswith("ERROR expected zero, three or five different points")
    assert engine.answer("BEGIN") == "0,0"
