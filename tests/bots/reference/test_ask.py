"""The output of `noughts bot ask` for a position."""

import json
from typing import Any

import pytest

from noughts_bots.reference.ask import answer, document
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, PositionError, Variant, parse_variant

TICTACTOE = parse_variant("tictactoe")


class Lowest(Bot):
    def choose(self, position: Position) -> int:
        return position.free[0]


class Thinker(Bot):
    async def choose(self, position: Position) -> int:
        return position.free[-1]


def ask(bot: Bot, variant: Variant, text: str, *, seed: int = 0) -> dict[str, Any]:
    position = Position.parse(variant, text, seed=seed)
    return document(position, answer(bot, position))


def bot_of(spec: str) -> Bot:
    return make_bot(parse_spec(spec), TICTACTOE)


def test_the_answer_of_a_reference_bot_has_candidates_and_scores() -> None:
    answer = ask(bot_of("nextstep"), TICTACTOE, "X../.O./..X O")
    assert answer.pop("move") in (1, 3, 5, 7)
    assert answer == {
        "position": "X...O...X O",
        "candidates": [1, 3, 5, 7],
        "scores": {"1": 24, "2": 11, "3": 24, "5": 24, "6": 11, "7": 24},
    }


def test_answer_is_plain_json() -> None:
    answer = ask(bot_of("pascal"), TICTACTOE, "X........")
    assert json.loads(json.dumps(answer)) == answer
    assert list(answer) == ["position", "move", "candidates", "scores"]


@pytest.mark.parametrize("bot, move", [(Lowest(), 1), (Thinker(), 8)])
def test_a_bot_without_candidates_has_its_move_as_candidate(bot: Bot, move: int) -> None:
    answer = ask(bot, TICTACTOE, "X........ O")
    assert answer == {"position": "X........ O", "move": move, "candidates": [move], "scores": {}}


def test_the_seed_determines_random_moves() -> None:
    bot = bot_of("random")
    moves = [ask(bot, TICTACTOE, ".........", seed=seed)["move"] for seed in range(50)]
    assert set(moves) == set(range(9))
    assert ask(bot, TICTACTOE, ".........")["move"] == moves[0]


def test_position_that_play_cannot_reach_is_answered() -> None:
    assert ask(bot_of("minimax"), TICTACTOE, "XXXXX.... O")["scores"] == {"5": -10, "6": -10, "7": -10, "8": -10}


@pytest.mark.parametrize("text", ["XOXOXOXOX", "XOXOXOXOX O"])
def test_full_board_is_an_error(text: str) -> None:
    with pytest.raises(PositionError, match="the board is full"):
        ask(bot_of("random"), TICTACTOE, text)


def test_unreadable_position_is_an_error() -> None:
    with pytest.raises(PositionError, match="expected 9 cells"):
        ask(bot_of("random"), TICTACTOE, "X.. X")


def test_other_variant_is_refused() -> None:
    with pytest.raises(VariantRefused, match="expected tictactoe"):
        ask(bot_of("pascal"), parse_variant("mnk:4,4,4"), "." * 16)
