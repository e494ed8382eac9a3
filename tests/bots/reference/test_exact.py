"""The exact solver, compared with a plain recursion over the rules."""

import random
from functools import cache

import pytest

from noughts_bots.reference.exact import Solver, Verdict, can_solve
from noughts_bots.reference.positions import positions
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_referee.rules import Board, Position, Variant, parse_variant
from tests.support import connect4_values


def make_variant(
    columns: int, rows: int, length: int, layers: int = 1, *, exact: bool = False, falls: bool = False
) -> Variant:
    board = Board(columns, rows, layers)
    ends = board.ends(length) if exact else {}
    supports = board.beneath() if falls else ()
    return Variant("made", columns, rows, board.lines(length), layers=layers, beside=ends, supports=supports)


def solve(position: Position, effort: int | None = None) -> Verdict:
    return Solver(position.variant, Effort(effort)).solution(position)


class Recursion:
    """Solves positions by playing every move to the end."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self.value = cache(self._value)

    def solution(self, position: Position) -> Verdict:
        moves = self._moves(position.own, position.opponent)
        best = max(moves.values())
        best_cells = tuple(cell for cell, value in moves.items() if value == best)
        return Verdict((best > 0) - (best < 0), round(abs(1 / best)) if best else None, best_cells)

    def _value(self, own: int, other: int) -> float:
        """Return 1 / plies for a win, its negative for a loss and 0 for a draw."""
        return max(self._moves(own, other).values())

    def _moves(self, own: int, other: int) -> dict[int, float]:
        values = {}
        for cell in self._variant.free_cells(own | other):
            outcome = self._variant.outcome(own | 1 << cell, other, cell, 0)
            if outcome is not None:
                values[cell] = 0.0 if outcome.winner is None else 1.0
            else:
                later = self.value(other, own | 1 << cell)
                # The same end seen from the other side, one half-move later.
                values[cell] = -1 / (1 / later + (1 if later > 0 else -1)) if later else 0.0
        return values


def random_position(variant: Variant, plies: int, rng: random.Random) -> Position:
    """Return a random unfinished position after this number of plies."""
    while True:
        position = Position(variant)
        while position.outcome() is None and position.ply < plies:
            moves_without_win = [
                cell for cell in position.free if not variant.completes(position.own | 1 << cell, cell)
            ]
            position.play(rng.choice(moves_without_win or position.free))
        if position.outcome() is None:
            return position


SMALL = [(columns, rows, length) for columns in range(1, 5) for rows in range(1, 4) for length in range(1, 5)]


@pytest.mark.at_length
@pytest.mark.parametrize(
    "variant",
    [
        *(parse_variant(f"mnk:{m},{n},{k}") for m, n, k in SMALL if k <= max(m, n)),
        make_variant(3, 3, 3, falls=True),
        make_variant(5, 2, 4, falls=True),
        make_variant(3, 3, 2, exact=True),
    ],
    ids=lambda variant: f"{variant.name} {variant.columns}x{variant.rows}",
)
def test_every_position_up_to_4x3_is_solved_exactly(variant: Variant) -> None:
    recursion, solver = Recursion(variant), Solver(variant, Effort(None))
    for position in positions(variant):
        assert solver.solution(position) == recursion.solution(position), position


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.at_length)])
@pytest.mark.parametrize(
    "variant, free",
    [
        (parse_variant("connect4"), 10),
        (make_variant(4, 4, 4, falls=True), 11),
        (make_variant(4, 4, 3, falls=True), 10),
        (make_variant(4, 4, 3, exact=True), 8),
        (parse_variant("mnk:4,4,4"), 8),
        (parse_variant("mnk:4,4,3"), 8),
        (make_variant(3, 2, 3, 2), 8),
        (parse_variant("qubic"), 7),
        (make_variant(3, 3, 3, 2, falls=True), 9),
    ],
    ids=lambda value: f"{value.columns}x{value.rows}x{value.layers}" if isinstance(value, Variant) else "",
)
def test_late_positions_of_larger_boards_are_solved_exactly(variant: Variant, free: int, count: int) -> None:
    rng = random.Random(35)
    for number in range(count):
        position = random_position(variant, variant.cells - free + number % 3, rng)
        assert solve(position) == Recursion(variant).solution(position), position


@pytest.mark.parametrize(
    "name, result, plies", [("tictactoe", 0, None), ("mnk:4,3,3", 1, 7), ("mnk:4,4,3", 1, 5), ("tictactoe3d", 1, 7)]
)
def test_empty_boards_have_their_known_values(name: str, result: int, plies: int | None) -> None:
    assert solve(Position(parse_variant(name)))[:2] == (result, plies)


def test_connect4_is_solved_after_14_stones() -> None:
    solution = solve(random_position(parse_variant("connect4"), 14, random.Random(6)))
    assert (solution.result, solution.plies) == (-1, 18)


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_connect4_agrees_with_values_that_another_program_computed(part: int) -> None:
    variant = parse_variant("connect4")
    for line in connect4_values.FILE.read_text(encoding="ascii").splitlines()[part::10]:
        moves, result, plies = line.split()
        position = Position(variant)
        for column in moves:
            position.play(next(cell for cell in position.free if cell % variant.columns == int(column) - 1))
        solution = solve(position)
        assert (solution.result, solution.plies or 0) == (int(result), int(plies)), line


@pytest.mark.parametrize("name, plies", [("mnk:4,4,4", 0), ("connect4", 14)])
def test_the_caller_can_stop_a_search(name: str, plies: int) -> None:
    with pytest.raises(EffortSpent):
        solve(random_position(parse_variant(name), plies, random.Random(6)), effort=100)


@pytest.mark.parametrize("name", ["gomoku", "qubic", "renju", "caro"])
def test_large_boards_cannot_be_solved(name: str) -> None:
    assert not can_solve(Position(parse_variant(name)))
