"""The bot `perfect`: the best value in every position of the variants that are solved."""

import random

import pytest

from noughts_bots.reference.exact import Solver
from noughts_bots.reference.perfect import Perfect
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, parse_variant


def winner(variant: str, first: Bot, second: Bot, seed: int) -> tuple[int | None, int]:
    """Return the winner's side and the plies of a game."""
    position = Position(parse_variant(variant), seed=seed)
    while (outcome := position.outcome()) is None:
        move = (first, second)[position.side].choose(position)
        assert isinstance(move, int)
        position.play(move)
    return outcome.winner, position.ply


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.at_length) for seed in (1, 2))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("variant, plies", [("connect4", 41), ("mnk:4,4,3", 5), ("tictactoe3d", 7), ("mnk:5,5,3", 5)])
@pytest.mark.parametrize("opponent", ["random", "nextstep:depth=2", "perfect"])
def test_the_first_mover_wins_as_soon_as_it_can(variant: str, plies: int, opponent: str, seed: int) -> None:
    side, end = winner(variant, Perfect(), make_bot(parse_spec(opponent)), seed)
    assert side == 0
    assert end == plies if opponent == "perfect" else end <= plies


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("variant", ["tictactoe", "mnk:4,4,4"])
def test_a_drawn_game_is_never_lost(variant: str, seed: int) -> None:
    assert winner(variant, Perfect(), make_bot(parse_spec("random")), seed)[0] != 1
    assert winner(variant, make_bot(parse_spec("random")), Perfect(), seed)[0] != 0


def test_all_best_moves_are_candidates() -> None:
    variant = parse_variant("mnk:4,3,3")
    rng = random.Random(1)
    solver = Solver(variant, Effort(None))
    for _ in range(50):
        position = Position(variant)
        for _ in range(rng.randrange(5)):
            position.play(rng.choice(position.free))
        if position.outcome() is None:
            assert Perfect().consider(position).candidates == solver.solution(position).best


@pytest.mark.parametrize("variant", ["gomoku", "qubic", "mnk:5,4,4", "renju"])
def test_variants_that_are_not_solved_are_refused(variant: str) -> None:
    with pytest.raises(VariantRefused, match="choose such a variant"):
        Perfect().consider(Position(parse_variant(variant)))
