"""The analysis of finished games: proven values of positions, and the moves that count as mistakes."""

import random

import pytest

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import Solver
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Position, Variant, parse_variant

OVERLOOKED_FOUR = (109, 108, 110, 0, 111, 14, 112, 210, 224, 7, 113)
"""A game of gomoku. The move at ply 8 overlooks a win in one, and the answer overlooks that it can block it."""


def test_missed_win_and_missed_block_are_two_mistakes() -> None:
    analyst = Analyst(parse_variant("gomoku"), effort=0, nodes=400)
    verdicts = analyst.verdicts(OVERLOOKED_FOUR, 8)
    assert [verdicts[ply].result for ply in (8, 9, 10, 11)] == [1, None, 1, -1]
    assert [turn.ply for turn in analyst.turns(OVERLOOKED_FOUR, verdicts)] == [8, 9]


def test_another_move_that_also_wins_is_not_a_mistake() -> None:
    # One move makes an open four. The other makes a four with one free end, and also wins.
    analyst = Analyst(parse_variant("gomoku"), effort=0, nodes=400)
    three = [112, 0, 113, 14, 114, 210]
    for move in (111, 115):
        moves = [*three, move, 224]
        verdicts = analyst.verdicts(moves, 6)
        assert verdicts[7].result == -1
        assert analyst.turns(moves, verdicts) == []


def careless_game(variant: Variant, rng: random.Random) -> list[int]:
    """Return the moves of a game whose players often overlook that they can win at once."""
    position = Position(variant)
    while position.outcome() is None:
        free = list(position.free)
        winning = [cell for cell in free if variant.completes(position.own | 1 << cell, cell)]
        position.play(rng.choice(winning if winning and rng.random() < 0.5 else free))
    return position.moves


@pytest.mark.parametrize("name, first", [("tictactoe", 0), ("mnk:4,4,3", 4), ("mnk:5,4,4", 8), ("mnk:5,5,4", 13)])
def test_no_value_that_a_search_has_proven_is_wrong(name: str, first: int) -> None:
    variant, rng, losses = parse_variant(name), random.Random(3), 0
    analyst, solver = Analyst(variant, effort=0, nodes=400), Solver(variant, Effort(None))
    for _ in range(60):
        moves = careless_game(variant, rng)
        verdicts = analyst.verdicts(moves, first)
        for ply, verdict in verdicts.items():
            if verdict.result is not None and ply < len(moves):
                assert verdict.result == solver.result(Position.after(variant, moves[:ply])), (moves, ply)
                losses += verdict.result < 0
    assert losses  # some of the compared values were losses
