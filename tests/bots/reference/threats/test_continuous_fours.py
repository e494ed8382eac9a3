"""The search for wins by continuous fours equals brute force by the rules: all fours, and all answers to each."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

import pytest

from noughts_bots.reference.threats.continuous_fours import ContinuousFours
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_referee.rules import Position, Variant, parse_variant
from tests.support.wins_by_fours import BruteForce, TooManyFoursError

VARIANTS = ["mnk:4,4,3", "mnk:5,5,4", "mnk:6,6,4", "tictactoe3d", "gomoku", "gomoku:exact", "renju", "caro"]
WINDOW = 6
"""The stones of random positions on large boards are in a square of this size, so that many lines are nearly full."""
FOURS = 300
"""Fours of a position that brute force tries; a position with more is left out."""


def random_positions(variant: Variant, count: int, seed: int) -> Iterator[Position]:
    """Yield positions in which the game is not over and the side to move cannot win at once."""
    rng = random.Random(seed)
    brute_force = BruteForce(variant)
    while count:
        position = Position(variant)
        left, top = (rng.randrange(max(1, size - WINDOW + 1)) for size in (variant.columns, variant.rows))
        window = [
            cell
            for cell in range(variant.cells)
            if cell % variant.columns - left in range(WINDOW)
            and cell // variant.columns % variant.rows - top in range(WINDOW)
        ]
        plies = rng.randrange(len(window) // 4, len(window) * 2 // 3)
        while position.outcome() is None and position.ply < plies:
            cells = sorted(set(window) & set(position.free))
            quiet = [cell for cell in cells if not variant.completes(position.own | 1 << cell, cell, position.opponent)]
            if not quiet:
                break
            position.play(rng.choice(quiet))
        if position.ply < plies or position.outcome() is not None:
            continue
        if not brute_force.completing(position.own, position.opponent, position.side):
            count -= 1
            yield position


def check(variant: Variant, positions: Iterator[Position]) -> Counter[int]:
    """Compare the search with brute force, and return the number of positions by the number of winning first moves."""
    fours = ContinuousFours(variant)
    numbers: Counter[int] = Counter()
    for position in positions:
        brute_force = BruteForce(variant, most=FOURS)
        try:
            expected = brute_force.first_moves(position.own, position.opponent, position.side)
        except TooManyFoursError:
            continue
        win = fours.wins(position, Effort(None))
        assert fours.has_win(position, Effort(None)) == bool(expected)
        assert (win.first_moves if win else {}) == expected, position
        numbers[len(expected)] += 1
        if win:
            assert len(win.line) == 2 * min(expected.values()) - 1
            assert win.line[0] in expected
            end = Position.after(variant, (*position.moves, *win.line)).outcome()
            assert end is not None
            assert end.winner == position.side
    return numbers


@pytest.mark.parametrize("name", VARIANTS)
def test_wins_by_fours_equal_brute_force(name: str) -> None:
    variant = parse_variant(name)
    count = 30 if variant.cells < 100 else 8
    check(variant, random_positions(variant, count, seed=48))


@pytest.mark.at_length
@pytest.mark.parametrize("name", [*VARIANTS, "caro:exact"])
def test_many_wins_by_fours_equal_brute_force(name: str) -> None:
    variant = parse_variant(name)
    count = 600 if variant.cells < 100 else 40
    numbers = check(variant, random_positions(variant, count, seed=4848))
    assert sum(numbers.values()) > count // 2
    assert numbers[0] > 0
    assert numbers[1] > 0


def diagram(name: str, *rows: str) -> Position:
    """Return the position with these rows, which begin at the left edge, in the middle of the board."""
    variant = parse_variant(name)
    stones: dict[str, list[int]] = {"x": [], "o": []}
    for row, text in enumerate(rows, start=4):
        for column, mark in enumerate(text.split()):
            if mark in stones:
                stones[mark].append(row * variant.columns + column)
    moves = [cell for pair in zip_longest(stones["x"], stones["o"]) for cell in pair if cell is not None]
    return Position.after(variant, moves)


def first_moves(position: Position) -> dict[int, int]:
    win = ContinuousFours(position.variant).wins(position, Effort(None))
    return win.first_moves if win else {}


OPEN_FOUR_AT_A_STONE = (". o . x x x . . . .", ". . . . . . . . o o")


def test_caro_answers_a_four_beyond_its_end() -> None:
    cell = 4 * 15 + 6
    assert first_moves(diagram("gomoku", *OPEN_FOUR_AT_A_STONE))[cell] == 2
    assert cell not in first_moves(diagram("caro", *OPEN_FOUR_AT_A_STONE))


def test_white_wins_in_renju_by_a_four_that_black_must_not_answer() -> None:
    rows = (
        ". . . . . x . . o . .",
        ". . . . . x . . . . .",
        ". . . . . x . . . . .",
        "x o o o . . . . . . .",
        ". . . . . x . . . . .",
        ". . . . . x . . o . .",
    )
    assert first_moves(diagram("renju", *rows)) == {7 * 15 + 4: 2}
    assert first_moves(diagram("gomoku", *rows)) == {}


def test_spent_effort_ends_the_search() -> None:
    with pytest.raises(EffortSpent):
        ContinuousFours(parse_variant("gomoku")).wins(diagram("gomoku", *OPEN_FOUR_AT_A_STONE), Effort(2))
