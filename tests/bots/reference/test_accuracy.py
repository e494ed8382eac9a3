"""Decisions and blunders, compared with enumerations of whole game trees."""

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest

from noughts_bots.reference.accuracy import Accuracy, Judge, Judges
from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.reference.minimax import Minimax
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Position, Variant, parse_variant
from tests.support.boards import falling_board


class Tree:
    """The values of all positions of a small board, computed from all games."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.value = cache(self._value)
        self.expected = cache(self._expected)

    def moves(self, own: int, other: int) -> dict[int, int]:
        values = {}
        for cell in self.variant.free_cells(own | other):
            outcome = self.variant.outcome(own | 1 << cell, other, cell, 0)
            values[cell] = -self.value(other, own | 1 << cell) if outcome is None else int(outcome.winner is not None)
        return values

    def _value(self, own: int, other: int) -> int:
        return max(self.moves(own, other).values())

    def _expected(self, own: int = 0, other: int = 0) -> tuple[Fraction, Fraction]:
        """Return how many decisions and blunders follow on average if both sides play at random."""
        values = self.moves(own, other)
        best, worse = max(values.values()), sum(value < max(values.values()) for value in values.values())
        decisions, blunders = Fraction(worse > 0), Fraction(worse, len(values))
        for cell in values:
            if self.variant.outcome(own | 1 << cell, other, cell, 0) is None:
                more = self.expected(other, own | 1 << cell)
                decisions += more[0] / len(values)
                blunders += more[1] / len(values)
        assert best >= 0 or worse == 0
        return decisions, blunders

    def games(
        self, moves: tuple[int, ...] = (), chance: Fraction = Fraction(1)
    ) -> Iterator[tuple[list[int], Fraction]]:
        """Yield all games with their probabilities if both sides play at random."""
        position = Position.after(self.variant, moves)
        for cell in position.free:
            after, its_chance = (*moves, cell), chance / len(position.free)
            if self.variant.outcome(position.own | 1 << cell, position.opponent, cell, 0) is not None:
                yield list(after), its_chance
            else:
                yield from self.games(after, its_chance)


@pytest.mark.parametrize("variant", [parse_variant("mnk:3,2,3"), parse_variant("mnk:3,2,2"), falling_board(3, 3)])
def test_random_play_has_the_enumerated_accuracy(variant: Variant) -> None:
    tree, judge = Tree(variant), Judge(variant)
    decisions = blunders = Fraction(0)
    for moves, chance in tree.games():
        for side in judge.judge(moves, 0, Effort(None)):
            decisions += chance * side.decisions
            blunders += chance * side.blunders
    assert (decisions, blunders) == tree.expected()


def test_random_games_of_tictactoe_have_nearly_the_enumerated_accuracy() -> None:
    variant = parse_variant("tictactoe")
    judge, rng, total = Judge(variant), random.Random(35), Accuracy()
    for _ in range(4000):
        position = Position(variant)
        while position.outcome() is None:
            position.play(rng.choice(position.free))
        for side in judge.judge(position.moves, 0, Effort(None)):
            total = total.plus(side)
    decisions, blunders = Tree(variant).expected()
    assert total.games == 8000
    assert total.decisions / 4000 == pytest.approx(float(decisions), rel=0.02)
    assert total.share == pytest.approx(float(1 - blunders / decisions), abs=0.01)


@pytest.mark.parametrize("side", [0, 1])
def test_minimax_has_an_accuracy_of_100_percent_against_every_play(side: int) -> None:
    variant, bot = parse_variant("tictactoe"), Minimax()
    judge, total = Judge(variant), Accuracy()
    for moves in games_of(bot, side, Position(variant)):
        total = total.plus(judge.judge(moves, 0, Effort(None))[side])
    assert total.decisions > 200
    assert (total.blunders, total.share) == (0, 1.0)


def games_of(bot: CandidateBot, side: int, position: Position) -> Iterator[list[int]]:
    """Yield all games that the bot can play on this side."""
    if position.outcome() is not None:
        yield position.moves
        return
    for cell in bot.consider(position).candidates if position.side == side else position.free:
        after = position.copy()
        after.play(cell)
        yield from games_of(bot, side, after)


def test_openings_and_unsolved_positions_are_not_judged() -> None:
    moves = [0, 4, 1, 2, 8, 6]  # X gives away the draw with its third stone.
    judge = Judge(parse_variant("tictactoe"))
    assert judge.judge(moves, 0, Effort(None)) == (Accuracy(1, 1, 1), Accuracy(1, 3, 0))
    assert judge.judge(moves, 5, Effort(None))[0] == Accuracy(1, 0, 0)
    gomoku = Judge(parse_variant("gomoku"))
    assert gomoku.judge([112, 0], 0, Effort(None)) == (Accuracy(), Accuracy())
    square = Judge(parse_variant("mnk:4,4,4"))
    assert square.judge([0, 1], 0, Effort(10)) == (Accuracy(), Accuracy())
    assert Accuracy().share is None


def test_judges_of_many_variants_share_one_limit() -> None:
    variants = [parse_variant(name) for name in ("connect4", "mnk:5,4,4", "mnk:4,4,4", "mnk:4,4,3", "tictactoe")]
    judges, rng, most, step = Judges(20_000), random.Random(7), 0, 4_000
    for number in range(60):
        position = Position(variants[number % len(variants)])
        while position.outcome() is None:
            position.play(rng.choice(position.free))
        judges.of(position.variant).judge(position.moves, 0, Effort(step))
        most = max(most, judges.remembered)
    # The judges forget positions only after a game, so one game can exceed the limit by its effort.
    assert step < most < 20_000 + 2 * step
