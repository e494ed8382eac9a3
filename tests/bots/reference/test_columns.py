"""The exact values of Connect Four. Both searches give the same values, with and without the opening book."""

import random
from collections.abc import Callable

import pytest
import wasmtime

from noughts_bots.reference import exact
from noughts_bots.reference.columns.column_search import ColumnBoard, ColumnSearch
from noughts_bots.reference.columns.compiled_search import CompiledSearch
from noughts_bots.reference.columns.opening_book import OpeningBook, installed_book
from noughts_bots.reference.exact import Solver, can_solve
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_referee.rules import Board, Position, Variant, parse_variant

CONNECT4 = parse_variant("connect4")
SMALL = [(4, 4), (5, 4), (6, 3), pytest.param(9, 2, marks=pytest.mark.at_length), (4, 7), (3, 5)]
VALUES_OF_FIRST_MOVES = {35: (1, 40), 36: (1, 42), 37: (0, None), 38: (-1, 41)}
"""The result for O after each first move in the columns a to d, and the ply of the game's end. Source: Allis, 1988."""

Search = Callable[[Variant, Effort, OpeningBook | None], ColumnSearch | CompiledSearch]


def solver(search: Search, variant: Variant = CONNECT4, *, book: bool = False, effort: int | None = None) -> Solver:
    exact_solver = Solver(variant, Effort(None))
    exact_solver._search = search(variant, Effort(effort), installed_book() if book else None)
    return exact_solver


def board(columns: int, rows: int) -> Variant:
    shape = Board(columns, rows)
    return Variant(f"{columns}x{rows}", columns, rows, shape.lines(4), supports=shape.beneath())


def random_position(variant: Variant, plies: int, rng: random.Random) -> Position:
    """Return a random unfinished position after this number of plies."""
    while True:
        position = Position(variant)
        while position.outcome() is None and position.ply < plies:
            position.play(rng.choice(position.free))
        if position.outcome() is None:
            return position


@pytest.mark.parametrize("columns, rows", SMALL)
def test_both_searches_solve_small_boards_alike(columns: int, rows: int) -> None:
    variant = board(columns, rows)
    python_solver, compiled_solver = solver(ColumnSearch, variant), solver(CompiledSearch, variant)
    rng = random.Random(columns)
    for number in range(60):
        position = random_position(variant, max(variant.cells - 16, 0) + number % 10, rng)
        assert compiled_solver.solution(position) == python_solver.solution(position), position


def test_both_searches_solve_late_positions_of_connect4_alike() -> None:
    rng = random.Random(22)
    python_solver, compiled_solver = solver(ColumnSearch), solver(CompiledSearch)
    for number in range(200):
        position = random_position(CONNECT4, 20 + number % 21, rng)
        assert compiled_solver.solution(position) == python_solver.solution(position), position


@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.at_length)])
def test_values_of_the_opening_book_are_those_of_the_search(count: int) -> None:
    rng = random.Random(12)
    book = installed_book()
    assert book is not None
    stones = ColumnBoard(CONNECT4).stones
    search_solver = solver(CompiledSearch)
    book_positions = 0
    for _ in range(count):
        position = random_position(CONNECT4, 12, rng)
        if bounds := book.bounds(stones(position.own), stones(position.own | position.opponent)):
            book_positions += 1
            verdict = search_solver.solution(position)
            score = (verdict.result or 0) * (31 - (verdict.plies or 0))
            assert bounds == (score, score), position
    assert book_positions > count // 4


@pytest.mark.parametrize("search", [pytest.param(ColumnSearch, marks=pytest.mark.at_length), CompiledSearch])
def test_every_first_move_of_connect4_has_its_known_value(search: Search) -> None:
    book_solver = solver(search, book=True)
    assert book_solver.solution(Position(CONNECT4)) == (1, 41, (38,), True)
    for cell, (result, end) in VALUES_OF_FIRST_MOVES.items():
        # The bottom row has the cells 35 to 41, so 76 - cell is the cell in the mirrored column.
        for mirror in {cell, 76 - cell}:
            verdict = book_solver.solution(Position.after(CONNECT4, [mirror]))
            assert (verdict.result, verdict.plies and verdict.plies + 1) == (result, end), mirror


def test_the_book_takes_memory_only_if_a_game_can_still_reach_it() -> None:
    search, rng, sizes = CompiledSearch(CONNECT4, Effort(None), installed_book()), random.Random(3), list[int]()
    memory = search._memory
    assert isinstance(memory, wasmtime.Memory)
    for plies in (26, 12, 26):
        position = random_position(CONNECT4, plies, rng)
        search.reaches(1, position.own, position.opponent)
        sizes.append(memory.data_len(search._store))
    assert sizes[1] - sizes[0] > 10_000_000
    assert sizes[2] == sizes[1]


@pytest.mark.parametrize("search", [ColumnSearch, CompiledSearch])
def test_a_search_ends_when_its_effort_is_spent(search: Search) -> None:
    position = random_position(CONNECT4, 12, random.Random(3))
    with pytest.raises(EffortSpent):
        solver(search, effort=10).solution(position)


def test_a_compiled_search_can_continue_after_its_effort_is_spent() -> None:
    position = random_position(CONNECT4, 12, random.Random(3))
    limited_solver = solver(CompiledSearch, effort=10)
    with pytest.raises(EffortSpent):
        limited_solver.solution(position)
    limited_solver.allow(Effort(None))
    assert limited_solver.solution(position) == solver(CompiledSearch).solution(position)


@pytest.mark.parametrize(
    "installed, plies",
    [({"wasmtime", "book"}, 0), ({"book"}, 0), ({"wasmtime"}, 8), (set(), 14)],
    ids=["all", "book", "wasmtime", "none"],
)
def test_extras_decide_from_which_ply_on_connect4_is_solved(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], plies: int
) -> None:
    monkeypatch.setattr(exact, "_is_compiled", lambda variant: "wasmtime" in installed)
    monkeypatch.setattr(exact, "_book_of", lambda variant: installed_book() if "book" in installed else None)
    most = exact.most_free_cells.__wrapped__(CONNECT4)
    assert CONNECT4.cells - most == plies
    monkeypatch.setattr(exact, "most_free_cells", lambda variant: most)
    rng = random.Random(9)
    assert can_solve(random_position(CONNECT4, plies, rng))
    assert not plies or not can_solve(random_position(CONNECT4, plies - 1, rng))
