"""`last_move`: how the last move of a sequence ends the game, and which sequences are impossible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import LastMove, MovesError, Position, Termination, last_move, parse_variant
from tests.support.settings import examples

ILLEGAL = LastMove(Termination.ILLEGAL_MOVE)


@pytest.mark.long
@examples(120)
@given(st.data())
def test_last_move_agrees_with_a_game_played_to_its_end(data: st.DataObject) -> None:
    names = ["tictactoe", "mnk:5,4,3", "gomoku:exact", "renju", "caro", "connect4", "qubic"]
    variant = parse_variant(data.draw(st.sampled_from(names)))
    position = Position(variant)
    assert last_move(variant, []) == LastMove(None)
    while (outcome := position.outcome()) is None:
        position.play(data.draw(st.sampled_from(position.free[:9])))
        outcome = position.outcome()
        assert last_move(variant, position.moves) == LastMove(outcome.termination if outcome else None)


def test_a_forbidden_last_move_is_illegal_and_has_its_kind() -> None:
    moves = [110, 0, 111, 14, 82, 210, 97, 224]
    renju = parse_variant("renju")
    assert last_move(renju, [*moves, 112]) == LastMove(Termination.ILLEGAL_MOVE, "double-three")
    assert last_move(renju, [*moves, 110]) == ILLEGAL
    assert last_move(parse_variant("caro"), [*moves, 112]) == LastMove(None)


@pytest.mark.parametrize("cell", [112, 113, 225, -1, 1 << 70])
def test_an_impossible_last_move_is_illegal_without_a_kind(cell: int) -> None:
    assert last_move(parse_variant("renju"), [112, 113, cell]) == ILLEGAL


def test_a_win_before_the_last_move_is_ignored() -> None:
    won = [0, 10, 1, 11, 2, 12, 3, 13, 4]
    gomoku = parse_variant("gomoku")
    assert last_move(gomoku, won) == LastMove(Termination.LINE)
    assert last_move(gomoku, [*won, 200]) == LastMove(None)


@pytest.mark.parametrize(
    "name, moves, got",
    [
        ("caro", [7, 7, 1], "cell 7 as move 2, which is occupied"),
        ("caro", [7, 1, 7, 2], "cell 7 as move 3, which is occupied"),
        ("caro", [225, 1], "cell 225 as move 1, which is not on the board of caro"),
        ("caro", [3, -1, 1], "cell -1 as move 2, which is not on the board of caro"),
        ("connect4", [38, 30, 31], "cell 30 as move 2, where a stone would have no support"),
        ("connect4", [38, 42, 31], "cell 42 as move 2, which is not on the board of connect4"),
    ],
)
def test_the_first_impossible_earlier_move_is_an_error(name: str, moves: list[int], got: str) -> None:
    with pytest.raises(MovesError) as raised:
        last_move(parse_variant(name), moves)
    assert raised.value.got == got
