"""Positions: their text, the side to move, moves, copies and random numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import Position, PositionError, Variant, parse_variant
from tests.support.settings import examples

TICTACTOE = parse_variant("tictactoe")
variants = st.sampled_from(["tictactoe", "mnk:1,1,1", "mnk:4,3,3", "mnk:2,5,4", "mnk:15,15,5"]).map(parse_variant)


@st.composite
def set_up_positions(draw: st.DrawFn) -> Position:
    """Return any board, also one that legal play cannot reach."""
    variant: Variant = draw(variants)
    own = draw(st.integers(0, variant.full))
    opponent = draw(st.integers(0, variant.full)) & ~own
    return Position(variant, own=own, opponent=opponent, side=draw(st.integers(0, 1)))


def stones(position: Position) -> tuple[int, int, int]:
    return position.own, position.opponent, position.side


@examples(200)
@given(set_up_positions())
def test_a_position_is_read_back_from_its_text(position: Position) -> None:
    assert stones(Position.parse(position.variant, str(position))) == stones(position)


@examples(100)
@given(set_up_positions())
def test_slashes_between_rows_change_nothing(position: Position) -> None:
    board, _, mover = str(position).partition(" ")
    columns = position.variant.columns
    rows = [board[start : start + columns] for start in range(0, len(board), columns)]
    assert stones(Position.parse(position.variant, f"{'/'.join(rows)} {mover}")) == stones(position)


@examples(100)
@given(variants, st.data())
def test_played_positions_alternate_sides_and_keep_their_moves(variant: Variant, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(variant.cells)))
    moves = order[: data.draw(st.integers(0, variant.cells))]
    position = Position.after(variant, moves, seed=7)
    assert position.moves == list(moves)
    assert (position.ply, position.side, position.seed) == (len(moves), len(moves) % 2, 7)
    assert position.free == tuple(sorted(set(range(variant.cells)) - set(moves)))
    # After legal play the counts give the side to move, so the text can leave it out.
    board = str(position).partition(" ")[0]
    assert stones(Position.parse(variant, board)) == stones(position)


def test_the_named_side_to_move_overrides_the_stone_counts() -> None:
    position = Position.parse(TICTACTOE, "X...O...X O")
    assert (position.own, position.opponent, position.side) == (1 << 4, 1 | 1 << 8, 1)
    assert Position.parse(TICTACTOE, "X...O...X X").side == 0


def test_without_a_named_side_the_stone_counts_give_the_side_to_move() -> None:
    assert Position.parse(TICTACTOE, ".........").side == 0
    assert Position.parse(TICTACTOE, " X........ ").side == 1
    assert Position.parse(TICTACTOE, "X...O....").side == 0


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "9 cells"),
        ("X", "9 cells"),
        ("..........", "9 cells"),
        ("x........", "9 cells"),
        ("........- X", "9 cells"),
        ("X......X.", "the side to move"),
        ("O........", "the side to move"),
        ("......... Z", "X or O"),
        ("......... x", "X or O"),
        ("......... X O", "X or O"),
        ("X../.../..", "3 rows of 3 cells"),
        ("X..../.... O", "3 rows of 3 cells"),
        ("/......... X", "3 rows of 3 cells"),
        (".../.../.../ X", "3 rows of 3 cells"),
    ],
)
def test_an_invalid_position_is_refused_with_the_expected_form(text: str, expected: str) -> None:
    with pytest.raises(PositionError) as raised:
        Position.parse(TICTACTOE, text)
    assert raised.value.got == text
    assert expected in raised.value.expected


def test_rows_of_a_wide_board_are_refused_for_a_tall_one() -> None:
    tall = parse_variant("mnk:2,3,3")
    assert Position.parse(tall, "X./O./.. X").own == 1
    with pytest.raises(PositionError, match="3 rows of 2 cells"):
        Position.parse(tall, "X.O/... X")


def test_a_copy_is_independent_of_its_original() -> None:
    position = Position.after(TICTACTOE, [4, 0], seed=3)
    twin = position.copy()
    twin.play(8)
    assert position.moves == [4, 0]
    assert twin.moves == [4, 0, 8]
    assert stones(position) == (1 << 4, 1, 0)
    assert stones(twin) == (1, 1 << 4 | 1 << 8, 1)
    assert twin.seed == 3


def test_two_generators_of_a_position_give_the_same_numbers() -> None:
    position = Position.after(TICTACTOE, [4], seed=11)
    assert position.rng().bits() == position.rng().bits()
    assert position.rng().bits() != Position.after(TICTACTOE, [4, 0], seed=11).rng().bits()
    assert position.rng().bits() != Position.after(TICTACTOE, [4], seed=12).rng().bits()
    # Only the ply counts, not the stones: a bot's random numbers must not depend on its view of the board.
    assert position.rng().bits() == Position.after(TICTACTOE, [8], seed=11).rng().bits()
    with pytest.warns(DeprecationWarning, match="called rng"):
        assert position.draws().bits() == position.rng().bits()


def test_a_position_shows_itself_by_variant_and_text() -> None:
    assert repr(Position.after(TICTACTOE, [4])) == "Position(tictactoe, '....X.... O')"
