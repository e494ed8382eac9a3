"""Winning lines, compared with a search that has no precomputed lines, and with published counts."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import Position, Variant, parse_variant
from tests.support.settings import examples


class Board(NamedTuple):
    """A board of an m,n,k-game with the stones of one side."""

    columns: int
    rows: int
    length: int
    """Number of stones in a row that win."""
    stones: frozenset[tuple[int, int]]
    """(column, row) of each stone."""


@st.composite
def boards(draw: st.DrawFn) -> Board:
    columns, rows = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    length = draw(st.integers(1, min(5, max(columns, rows))))
    cells = [(column, row) for row in range(rows) for column in range(columns)]
    # A board that is mostly full has long runs; one that is half full has short ones.
    missing = draw(st.sets(st.sampled_from(cells), max_size=len(cells)))
    return Board(columns, rows, length, frozenset(cells) - missing)


def variant_of(board: Board) -> Variant:
    return parse_variant(f"mnk:{board.columns},{board.rows},{board.length}")


def stones_of(board: Board) -> int:
    return sum(1 << row * board.columns + column for column, row in board.stones)


def longest_run_through(board: Board, column: int, row: int) -> int:
    """Return the length of the longest run through a stone, counted outwards in all eight directions."""
    stones = board.stones
    longest = 0
    for step_column, step_row in ((1, 0), (0, 1), (1, 1), (1, -1)):
        run = 1
        for sign in (1, -1):
            distance = 1
            while (column + sign * distance * step_column, row + sign * distance * step_row) in stones:
                distance += 1
            run += distance - 1
        longest = max(longest, run)
    return longest


@examples(160)
@given(boards())
def test_a_stone_wins_exactly_if_its_run_is_long_enough(board: Board) -> None:
    variant = variant_of(board)
    for column, row in board.stones:
        wins = longest_run_through(board, column, row) >= board.length
        assert variant.completes(stones_of(board), row * board.columns + column) is wins


@pytest.mark.long
@examples(160)
@given(boards())
def test_a_board_has_a_line_exactly_if_a_stone_is_in_a_long_run(board: Board) -> None:
    wins = any(longest_run_through(board, column, row) >= board.length for column, row in board.stones)
    assert variant_of(board).has_line(stones_of(board)) is wins


def rotate(board: Board) -> Board:
    stones = frozenset((board.rows - 1 - row, column) for column, row in board.stones)
    return Board(board.rows, board.columns, board.length, stones)


def reflect(board: Board) -> Board:
    return board._replace(stones=frozenset((board.columns - 1 - column, row) for column, row in board.stones))


@pytest.mark.long
@pytest.mark.parametrize("turn", [rotate, reflect, lambda board: rotate(rotate(board))])
@examples(60)
@given(board=boards())
def test_a_turned_board_has_the_same_winner(turn: Callable[[Board], Board], board: Board) -> None:
    other = turn(board)
    assert variant_of(other).has_line(stones_of(other)) is variant_of(board).has_line(stones_of(board))
    assert len(variant_of(other).lines) == len(variant_of(board).lines)


@pytest.mark.long
@examples(80)
@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_the_number_of_lines_follows_from_the_board_size(columns: int, rows: int, data: st.DataObject) -> None:
    length = data.draw(st.integers(1, max(columns, rows)))
    variant = parse_variant(f"mnk:{columns},{rows},{length}")
    # A line of this length can start at so many columns of a row, and at so many rows of a column.
    across, down = max(0, columns - length + 1), max(0, rows - length + 1)
    lines_in_all_directions = rows * across + columns * down + 2 * across * down
    expected = lines_in_all_directions if length > 1 else columns * rows
    assert len(set(variant.lines)) == len(variant.lines) == expected
    assert all(line.bit_count() == length for line in variant.lines)


@examples(40)
@given(boards())
def test_the_lines_through_a_cell_are_the_lines_that_contain_it(board: Board) -> None:
    variant = variant_of(board)
    assert len(variant.lines_through) == variant.cells
    for cell, lines in enumerate(variant.lines_through):
        assert sorted(lines) == sorted(line for line in variant.lines if line >> cell & 1)
    assert [sum(1 << cell for cell in cells) for cells in variant.line_cells] == list(variant.lines)


def positions_by_ply(variant: Variant) -> tuple[list[Counter[tuple[int, int]]], Counter[int]]:
    """Return the positions of each ply with the number of ways to them, and the number of ended games by plies."""
    plies: list[Counter[tuple[int, int]]] = [Counter({(0, 0): 1})]
    ended: Counter[int] = Counter()
    while plies[-1]:
        following: Counter[tuple[int, int]] = Counter()
        for (own, opponent), ways in plies[-1].items():
            if variant.has_line(opponent) or not variant.free_cells(own | opponent):
                ended[len(plies) - 1] += ways
                continue
            for cell in variant.free_cells(own | opponent):
                following[opponent, own | 1 << cell] += ways
        plies.append(following)
    return plies[:-1], ended


def test_tictactoe_has_5478_positions_and_255168_games() -> None:
    plies, ended = positions_by_ply(parse_variant("tictactoe"))
    assert [len(ply) for ply in plies] == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    assert sum(map(len, plies)) == 5478
    assert [ply.total() for ply in plies] == [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
    assert ended == {5: 1440, 6: 5328, 7: 47952, 8: 72576, 9: 127872}
    assert ended.total() == 255168


def test_lines_are_listed_rows_first_then_columns_then_diagonals() -> None:
    expected = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    assert list(parse_variant("tictactoe").line_cells) == expected


@examples(40)
@given(st.data())
def test_repeated_calls_of_free_cells_return_the_cells_without_stones(data: st.DataObject) -> None:
    variant = parse_variant(data.draw(st.sampled_from(["tictactoe", "mnk:4,3,3", "mnk:5,5,4", "mnk:15,15,5"])))
    occupied = data.draw(st.integers(0, variant.full))
    expected = tuple(cell for cell in range(variant.cells) if not occupied >> cell & 1)
    assert variant.free_cells(occupied) == expected == variant.free_cells(occupied)
    if not variant.gravity:
        assert tuple(variant.free_cell(occupied, number) for number in range(len(expected))) == expected
    assert Position(variant, own=occupied).free == expected
