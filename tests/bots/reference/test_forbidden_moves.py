"""Reference bots in variants that forbid moves: some respect the rules, the others refuse to play."""

from collections.abc import Callable
from pathlib import Path

import pytest

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.learner import Learner
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.table import build
from noughts_bots.reference.training import Trainer
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, Variant, parse_variant, side_seed, won
from tests.support.forbidding import centre_later, corners_only, no_overline
from tests.support.reference_bots import bot_of


def play(variant: Variant, bots: tuple[CachingBot, CachingBot], seed: int) -> Position:
    """Play a game to its end, and check that each move is legal."""
    position = Position(variant)
    while position.outcome() is None:
        position.seed = side_seed(seed, position.side)
        evaluation = bots[position.side].consider(position)
        assert set(evaluation.candidates) <= set(position.free)
        move = bots[position.side].choose(position)
        assert isinstance(move, int)
        assert move in position.free
        position.play(move)
    return position


@pytest.mark.parametrize("spec", ["random", "first-free", "fives"])
@pytest.mark.parametrize("make", [no_overline, centre_later, corners_only])
def test_bots_that_respect_forbidden_moves_never_play_one(spec: str, make: Callable[[], Variant]) -> None:
    variant = make()
    bot = bot_of(spec, variant)
    for seed in range(20):
        play(variant, (bot, bot), seed)
        play(variant, (bot, bot_of("random")), seed)


def test_the_same_stones_have_different_candidates_for_each_side() -> None:
    variant = corners_only()
    bot = bot_of("first-free", variant)
    position = Position.parse(variant, "X........ X")
    assert bot.consider(position).candidates == (1,)
    assert bot.consider(Position.parse(variant, ".......O. X")).candidates == (0,)
    assert bot.consider(Position(variant, opponent=position.own, side=1)).candidates == (2,)


@pytest.mark.parametrize("spec", ["nextstep", "minimax", "minimax:depth=2", "threats"])
def test_bots_that_ignore_forbidden_moves_refuse_the_variant(spec: str) -> None:
    with pytest.raises(VariantRefused, match="variant"):
        make_bot(parse_spec(spec), no_overline())


@pytest.mark.parametrize("spec", ["nextstep", "minimax:depth=2"])
def test_bots_that_ignore_blocked_lines_refuse_caro(spec: str) -> None:
    with pytest.raises(VariantRefused, match="lines that can be blocked"):
        make_bot(parse_spec(spec), parse_variant("caro"))
    make_bot(parse_spec(spec), parse_variant("gomoku:exact:20"))


FIVES = ("gomoku:exact", "renju", "caro", "caro:exact")


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize("size", ["", ":20"])
@pytest.mark.parametrize("name", FIVES)
def test_the_simple_bots_and_threats_play_every_kind_of_five_in_a_row(name: str, size: str) -> None:
    variant = parse_variant(name + size)
    threats, fives, random, first = (
        bot_of(spec, variant) for spec in ("threats:nodes=40", "fives", "random", "first-free")
    )
    for seed, seats in enumerate(
        [(threats, fives), (fives, threats), (fives, fives), (random, random), (first, first)]
    ):
        play(variant, seats, seed)
    for seed, bot in enumerate((threats, fives)):
        assert play(variant, (bot, random), seed).outcome() == won(0)
        assert play(variant, (random, bot), seed).outcome() == won(1)


@pytest.mark.long
@pytest.mark.parametrize("name", ["gomoku+pro", "caro+long-pro", "renju:20+pro", "gomoku:exact+long-pro"])
def test_bots_that_respect_forbidden_moves_respect_opening_rules(name: str) -> None:
    variant = parse_variant(name)
    bots = [bot_of(spec, variant) for spec in ("threats:nodes=40", "fives", "random", "first-free")]
    for seed, bot in enumerate(bots):
        play(variant, (bot, bots[seed - 1]), seed)
        play(variant, (bots[seed - 1], bot), seed)


@pytest.mark.parametrize("bot", ["threats:nodes=40", "fives"])
def test_a_blocked_five_is_not_completed_in_caro(bot: str) -> None:
    # The first row is O X X X X . O: a fifth stone there would be blocked. The third row has an open four of X.
    position = Position(parse_variant("caro"), own=0b11110 | 0b1111 << 33, opponent=1 | 1 << 6 | 1 << 100 | 1 << 120)
    evaluation = bot_of(bot, position.variant).consider(position)
    assert set(evaluation.candidates) <= {32, 37}


@pytest.mark.parametrize("bot", ["threats:nodes=40", "fives", "first-free", "random"])
def test_black_does_not_block_in_a_forbidden_cell(bot: str) -> None:
    # White's four can only be stopped at 112, where Black would make an overline in the column.
    white = sum(1 << cell for cell in (108, 109, 110, 111))
    black = sum(1 << cell for cell in (107, 67, 82, 97, 127, 142))
    position = Position(parse_variant("renju"), own=black, opponent=white, side=0)
    assert position.forbidden(112) == "overline"
    evaluation = bot_of(bot, position.variant).consider(position)
    assert 112 not in evaluation.candidates
    assert set(evaluation.candidates) <= set(position.free)


def test_a_table_rates_only_legal_cells() -> None:
    variant = corners_only()
    table = build(make_bot(parse_spec("random")), variant, lambda done, of: None)
    after_corner = table.rows[0, 1]
    assert [cell for cell in range(9) if after_corner.ratings[cell]] == [2, 4, 6, 8]


def test_a_learner_learns_only_legal_moves(tmp_path: Path) -> None:
    variant = centre_later()
    learner = Learner(tmp_path / "learnt.table", learn=True)
    trainer = Trainer(learner, variant, [make_bot(parse_spec("random"))], seed=1)
    for _ in range(50):
        trainer.play()
    assert learner.table is not None
    assert learner.table.rows[0, 0].visits[4] == 0
