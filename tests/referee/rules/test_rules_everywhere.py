"""The rules of each kind of board, compared with a second implementation, and with published counts.

The second implementation keeps stones as a set of (column, row, layer), and counts runs outwards from a stone.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.game import Game
from noughts_referee.rules import Board, Position, PositionError, Variant, parse_variant
from tests.support.games import ArbiterDriver, conditions, verdict
from tests.support.settings import examples

Place = tuple[int, int, int]
DIRECTIONS = [
    (column, row, layer)
    for column in (-1, 0, 1)
    for row in (-1, 0, 1)
    for layer in (-1, 0, 1)
    if (layer, row, column) > (0, 0, 0)
]


class Rules(NamedTuple):
    """The rules of a game, and the stones of one side."""

    columns: int
    rows: int
    layers: int
    length: int
    exact: bool
    stones: frozenset[Place]

    def places(self) -> list[Place]:
        return [
            (column, row, layer)
            for layer in range(self.layers)
            for row in range(self.rows)
            for column in range(self.columns)
        ]

    def number(self, place: Place) -> int:
        return self.places().index(place)

    def run(self, place: Place, step: Place) -> dict[int, Place]:
        """Return the stones of the run through this one in a direction, by their distance from it."""
        column, row, layer = place
        run = {}
        for sign in (1, -1):
            distance = 0
            while (
                neighbour := (column + distance * step[0], row + distance * step[1], layer + distance * step[2])
            ) in self.stones:
                run[distance] = neighbour
                distance += sign
        return run

    def winning_places(self, place: Place) -> set[Place]:
        """Return the places of all windows of `length` stones that contain the last stone."""
        won: set[Place] = set()
        for step in DIRECTIONS:
            run = self.run(place, step)
            if len(run) == self.length or (len(run) > self.length and not self.exact):
                reach = range(max(min(run), 1 - self.length), min(max(run), self.length - 1) + 1)
                won |= {run[distance] for distance in reach}
        return won


@st.composite
def rules(draw: st.DrawFn, *, cube: bool = False) -> Rules:
    layers = draw(st.integers(1, 4))
    longest_edge = 7 if layers == 1 else 4
    columns, rows = draw(st.integers(1, longest_edge)), draw(st.integers(1, longest_edge))
    if cube:
        columns = rows = layers = draw(st.integers(2, 4))
    length = draw(st.integers(2, max(2, min(5, max(columns, rows, layers)))))
    empty = Rules(columns, rows, layers, length, draw(st.booleans()), frozenset())
    missing = draw(st.sets(st.sampled_from(empty.places()), max_size=len(empty.places())))
    return empty._replace(stones=frozenset(empty.places()) - missing)


@cache
def variant_of_shape(columns: int, rows: int, layers: int, length: int, exact: bool) -> Variant:
    board = Board(columns, rows, layers)
    ends = board.ends(length) if exact else {}
    return Variant("any", columns, rows, board.lines(length), layers, beside=ends)


def variant_of(shape: Rules) -> Variant:
    return variant_of_shape(shape.columns, shape.rows, shape.layers, shape.length, shape.exact)


def mask_of(shape: Rules) -> int:
    return sum(1 << cell for cell, place in enumerate(shape.places()) if place in shape.stones)


@pytest.mark.long
@examples(160)
@given(rules())
def test_winning_cells_are_the_runs_counted_from_the_stone(shape: Rules) -> None:
    variant, stones = variant_of(shape), mask_of(shape)
    for place in shape.stones:
        won = shape.winning_places(place)
        assert variant.completes(stones, shape.number(place)) is bool(won)
        assert variant.winning_cells(stones, shape.number(place)) == tuple(sorted(map(shape.number, won)))
    assert variant.has_line(stones) is any(map(shape.winning_places, shape.stones))


def turn(shape: Rules) -> Rules:
    """Turn every layer by a quarter."""
    stones = frozenset((shape.rows - 1 - row, column, layer) for column, row, layer in shape.stones)
    return shape._replace(columns=shape.rows, rows=shape.columns, stones=stones)


def reflect(shape: Rules) -> Rules:
    """Reflect the columns."""
    stones = frozenset((shape.columns - 1 - column, row, layer) for column, row, layer in shape.stones)
    return shape._replace(stones=stones)


def tilt(shape: Rules) -> Rules:
    """Turn the cube so that columns become layers."""
    stones = frozenset((row, layer, column) for column, row, layer in shape.stones)
    return shape._replace(columns=shape.rows, rows=shape.layers, layers=shape.columns, stones=stones)


@pytest.mark.long
@pytest.mark.parametrize("change", [turn, reflect, tilt])
@examples(24)
@given(before=rules(cube=True))
def test_a_turned_cube_has_the_same_winner_and_winning_cells(change: Callable[[Rules], Rules], before: Rules) -> None:
    after = change(before)
    assert variant_of(after).has_line(mask_of(after)) is variant_of(before).has_line(mask_of(before))
    for place in before.stones:
        moved = next(iter(change(before._replace(stones=frozenset({place}))).stones))
        won = variant_of(before).winning_cells(mask_of(before), before.number(place))
        expected = change(before._replace(stones=frozenset(before.places()[cell] for cell in won)))
        won_after = variant_of(after).winning_cells(mask_of(after), after.number(moved))
        assert set(won_after) == set(map(after.number, expected.stones))


# Gravity.

CONNECT4 = parse_variant("connect4")


def drop_stones(columns: list[int]) -> tuple[list[int], dict[Place, int]]:
    """Drop stones into these columns in turn, except full ones; return the moves and the owner of each place."""
    height = [0] * 7
    moves: list[int] = []
    owner: dict[Place, int] = {}
    for column in columns:
        if height[column] < 6:
            place = (column, 5 - height[column], 0)
            owner[place] = len(moves) % 2
            moves.append(place[1] * 7 + column)
            height[column] += 1
    return moves, owner


@examples(80)
@given(st.lists(st.integers(0, 6), max_size=50))
def test_stones_of_connect4_are_placed_on_the_lowest_free_cell(columns: list[int]) -> None:
    moves, owner = drop_stones(columns)
    position = Position.after(CONNECT4, moves)
    resting = {column: [row for row in range(6) if (column, row, 0) not in owner] for column in range(7)}
    expected = sorted(max(rows) * 7 + column for column, rows in resting.items() if rows)
    assert position.free == CONNECT4.free_cells(position.own | position.opponent) == tuple(expected)
    assert str(Position.parse(CONNECT4, str(position))) == str(position)
    mirror = Position.after(CONNECT4, [cell // 7 * 7 + 6 - cell % 7 for cell in moves])
    assert mirror.free == tuple(sorted(cell // 7 * 7 + 6 - cell % 7 for cell in position.free))
    assert CONNECT4.has_line(mirror.own) is CONNECT4.has_line(position.own)


def test_a_move_to_a_cell_where_the_stone_cannot_rest_loses() -> None:
    def play(moves: list[int]) -> Game:
        driver = ArbiterDriver()
        game = driver.start(conditions("connect4"))
        driver.play(game, moves)
        return game

    assert verdict(play([38, 31, 39, 32, 40, 33, 41])) == ("1-0", "line")
    # In the air, on a stone, two cells above a stone, in a full column, and off the board.
    assert verdict(play([3])) == ("0-1", "illegal_move")
    assert verdict(play([38, 38])) == ("1-0", "illegal_move")
    assert verdict(play([38, 24])) == ("1-0", "illegal_move")
    assert verdict(play([38, 31, 24, 17, 10, 3, 3])) == ("0-1", "illegal_move")
    assert verdict(play([42])) == ("0-1", "illegal_move")


def test_exact_gomoku_ignores_six_and_accepts_five_in_a_row() -> None:
    driver = ArbiterDriver()
    # X has 0 to 3 and 5. Cell 4 makes six in a row, which do not win.
    game = driver.start(conditions("gomoku:exact"))
    driver.play(game, [0, 15, 1, 31, 2, 47, 3, 63, 5, 80, 4])
    assert driver.arbiter.take_ended() == []
    # The second side completes exactly five in its diagonal.
    driver.play(game, [79])
    assert verdict(game) == ("0-1", "line")
    other = driver.start(conditions("gomoku:exact"))
    driver.play(other, [0, 15, 1, 31, 2, 47, 3, 63, 4])
    assert verdict(other) == ("1-0", "line")
    plain = driver.start(conditions("gomoku"))
    driver.play(plain, [0, 15, 1, 31, 2, 47, 3, 64, 5, 79, 4])
    assert verdict(plain) == ("1-0", "line")


def test_a_cube_is_won_through_its_layers() -> None:
    driver = ArbiterDriver()
    game = driver.start(conditions("qubic"))
    driver.play(game, [0, 1, 21, 2, 42, 3, 63])
    assert verdict(game) == ("1-0", "line")
    assert parse_variant("qubic").won_with(game.moves) == (0, 21, 42, 63)


@pytest.mark.parametrize(
    "moves, won",
    [
        ([], ()),
        ([4], ()),
        ([0, 3, 1, 4, 2], (0, 1, 2)),
        ([0, 1, 2, 3, 6, 5, 8, 7, 4], (0, 2, 4, 6, 8)),
        ([0, 3, 1, 4], ()),
    ],
)
def test_winning_cells_are_all_lines_that_the_last_move_completed(moves: list[int], won: tuple[int, ...]) -> None:
    assert parse_variant("tictactoe").won_with(moves) == won


# Texts.


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("connect4", "." * 35 + "X" + "." * 5, "42 cells"),
        ("connect4", "X" + "." * 41, "cell 0 floats"),
        ("connect4", "." * 28 + "X......" + "." * 7, "cell 28 floats"),
        ("tictactoe3d", "/".join(["..."] * 3), "3 times 3 rows of 3 cells"),
        ("tictactoe3d", "." * 9, "27 cells"),
    ],
)
def test_a_text_of_a_position_impossible_in_the_variant_is_refused(name: str, text: str, expected: str) -> None:
    with pytest.raises(PositionError) as raised:
        Position.parse(parse_variant(name), f"{text} X")
    assert expected in raised.value.expected


def test_layers_are_read_one_after_the_other_with_slashes_or_without() -> None:
    cube = parse_variant("tictactoe3d")
    text = "X........" + "....O...." + "........X"
    assert str(Position.parse(cube, text)) == f"{text} O"
    rows = "/".join(text[start : start + 3] for start in range(0, 27, 3))
    assert Position.parse(cube, rows).opponent == 1 | 1 << 26


# Perft.


@pytest.mark.long
def test_connect4_has_the_published_number_of_positions_by_ply() -> None:
    positions, counts = {(0, 0)}, []
    for _ in range(8):
        counts.append(len(positions))
        positions = {
            (opponent, own | 1 << cell)
            for own, opponent in positions
            if not CONNECT4.has_line(opponent)
            for cell in CONNECT4.free_cells(own | opponent)
        }
    assert counts == [1, 7, 49, 238, 1120, 4263, 16422, 54859]
