"""Reference bots in variants that forbid moves: some heed them, the others do not play."""

from collections.abc import Callable
from pathlib import Path

import pytest

from noughts_bots.errors import VariantRefused
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.learner import Learner
from noughts_bots.reference.table import build
from noughts_bots.specs import make_bot, parse_spec
from noughts_bots.training import Trainer
from noughts_referee.rules import Position, Variant, side_seed
from tests.support.forbidding import centre_later, corners_only, no_overline


def play(variant: Variant, bots: tuple[CachingBot, CachingBot], seed: int) -> Position:
    """A game to its end; every move is legal."""
    position = Position(variant)
    while position.outcome() is None:
        position.seed = side_seed(seed, position.side)
        considered = bots[position.side].consider(position)
        assert set(considered.candidates) <= set(position.free)
        move = bots[position.side].choose(position)
        assert isinstance(move, int)
        assert move in position.free
        position.play(move)
    return position


@pytest.mark.parametrize("spec", ["random", "first-free", "fives"])
@pytest.mark.parametrize("make", [no_overline, centre_later, corners_only])
def test_bots_that_heed_them_never_play_a_forbidden_move(spec: str, make: Callable[[], Variant]) -> None:
    variant = make()
    bot = make_bot(parse_spec(spec), variant)
    for seed in range(20):
        play(variant, (bot, bot), seed)
        play(variant, (bot, make_bot(parse_spec("random"))), seed)


def test_the_same_stones_are_another_position_for_the_other_side() -> None:
    variant = corners_only()
    bot = make_bot(parse_spec("first-free"), variant)
    taken = Position.parse(variant, "X........ X")
    assert bot.consider(taken).candidates == (1,)
    assert bot.consider(Position.parse(variant, ".......O. X")).candidates == (0,)
    assert bot.consider(Position(variant, opponent=taken.own, side=1)).candidates == (2,)


@pytest.mark.parametrize("spec", ["nextstep", "minimax", "minimax:depth=2", "threats"])
def test_bots_that_do_not_heed_them_refuse_the_variant(spec: str) -> None:
    with pytest.raises(VariantRefused, match="variant"):
        make_bot(parse_spec(spec), no_overline())


def test_a_table_holds_what_is_legal() -> None:
    variant = corners_only()
    table = build(make_bot(parse_spec("random")), variant, lambda done, of: None)
    after_corner = table.rows[0, 1]
    assert [cell for cell in range(9) if after_corner.ratings[cell]] == [2, 4, 6, 8]


def test_a_learner_learns_legal_moves_alone(tmp_path: Path) -> None:
    variant = centre_later()
    learner = Learner(tmp_path / "learnt.table", learn=True)
    trainer = Trainer(learner, variant, [make_bot(parse_spec("random"))], seed=1)
    for _ in range(50):
        trainer.play()
    assert learner.table is not None
    assert learner.table.rows[0, 0].visits[4] == 0
