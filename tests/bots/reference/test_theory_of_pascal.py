"""The articles' theory of `pascal:level=1`, checked on all games with exact probabilities."""

from fractions import Fraction
from functools import cache

from noughts_bots.reference.pascal import Pascal
from noughts_bots.reference.training import can_lose
from noughts_referee.rules import Position, parse_variant

TICTACTOE = parse_variant("tictactoe")
PASCAL = Pascal(level=1)
HALF, ONE, ZERO = Fraction(1, 2), Fraction(1), Fraction(0)


@cache
def ideal(own: int, opponent: int, pascals_side: int) -> tuple[Fraction, Fraction]:
    """Return the probabilities that the ideal opponent wins and that it draws from this position.

    It knows the probabilities of Pascal's moves, and maximises its expected points: 1 for a win, 1/2 for a draw. `own`
    has the stones of the side to move.
    """
    side = (own | opponent).bit_count() % 2
    if side == pascals_side:
        position = Position(TICTACTOE, own=own, opponent=opponent, side=side)
        ends = [after(own | 1 << cell, opponent, cell, pascals_side) for cell in PASCAL.consider(position).candidates]
        return sum((end[0] for end in ends), ZERO) / len(ends), sum((end[1] for end in ends), ZERO) / len(ends)
    ends = [after(own | 1 << cell, opponent, cell, pascals_side) for cell in TICTACTOE.free_cells(own | opponent)]
    return max(ends, key=lambda end: end[0] + HALF * end[1])


def after(own: int, opponent: int, cell: int, pascals_side: int) -> tuple[Fraction, Fraction]:
    """Return the same probabilities after the side of `own` has played the cell."""
    if TICTACTOE.completes(own, cell):
        is_pascals_stone = (own | opponent).bit_count() % 2 == 1 - pascals_side
        return (ZERO, ZERO) if is_pascals_stone else (ONE, ZERO)
    if own | opponent == TICTACTOE.full:
        return ZERO, ONE
    return ideal(opponent, own, pascals_side)


def test_pascal_moving_first_never_loses() -> None:
    assert not can_lose(PASCAL, 0, TICTACTOE)
    # This shows that `can_lose` finds a loss if there is one.
    assert can_lose(PASCAL, 1, TICTACTOE)


def test_pascal_moving_second_loses_a_third_of_games_with_ideal_play() -> None:
    wins, draws = ideal(0, 0, 1)
    assert wins == Fraction(1, 3)
    assert draws == Fraction(2, 3)


def test_pascal_moving_first_draws_with_the_ideal_opponent_or_wins_by_luck() -> None:
    wins, _ = ideal(0, 0, 0)
    assert wins == 0
