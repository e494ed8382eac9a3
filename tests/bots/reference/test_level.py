"""`level`: its moves are the same everywhere, its errors are those of a weaker player, and its table is calibrated."""

import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path

import pytest

from noughts_bots.reference.learner import Learner
from noughts_bots.reference.levels.bot import LevelBot
from noughts_bots.reference.levels.search import NoisySearch, Strength
from noughts_bots.reference.levels.table import levels
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.table import build
from noughts_bots.reference.training import Trainer
from noughts_bots.sdk.errors import BotSpecError, VariantRefused
from noughts_referee.rules import Position, game_seed, parse_variant, side_seed
from tests.support.root import ROOT
from tests.support.tools import compiler
from tools.calibrate_levels import Player

VARIANTS = ("tictactoe", "connect4", "gomoku", "qubic")
GOLDEN = Path(__file__).with_name("level_moves.txt")


def games_of_some_levels() -> str:
    """Return the moves of a game between each fourth level of each game and the next one."""
    lines = []
    for variant in VARIANTS:
        elos = list(levels()[variant])
        for number, (weak, strong) in enumerate(list(pairwise(elos))[::4]):
            bots = [LevelBot(elo=elo) for elo in (weak, strong)]
            seeds = [side_seed(game_seed(50, number), side) for side in (0, 1)]
            position = Position(parse_variant(variant))
            while position.outcome() is None:
                position.seed = seeds[position.side]
                position.play(bots[position.side].choose(position))
            lines.append(f"{variant} {weak} {strong}: {' '.join(map(str, position.moves))}\n")
    return "".join(lines)


def test_levels_choose_the_moves_of_the_golden_file(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update"):
        GOLDEN.write_text(games_of_some_levels())
    assert games_of_some_levels() == GOLDEN.read_text()


@pytest.mark.processes
def test_levels_choose_the_same_moves_with_another_hash_seed() -> None:
    program = "from tests.bots.reference.test_level import games_of_some_levels; print(games_of_some_levels(), end='')"
    command, other_seed = [sys.executable, "-c", program], {"PYTHONHASHSEED": "7"}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=other_seed, cwd=ROOT)
    assert ended.stdout == GOLDEN.read_text()


@pytest.mark.processes
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_calibration_plays_the_same_games(variant: str, tmp_path: Path) -> None:
    strengths = (Strength(1, 1_000_000), Strength(1, 300), Strength(2, 100), Strength(4, 40))
    pairs = list(product(strengths, strengths))
    seeds = [(side_seed(number, 0), side_seed(number, 1)) for number in range(len(pairs))]
    lines = [" ".join(map(str, (*first, *second, *both))) for (first, second), both in zip(pairs, seeds, strict=True)]
    games = list(Player(variant, str(tmp_path), compiler("cc")).games(lines))
    search = NoisySearch(parse_variant(variant))
    for pair, both, moves in zip(pairs, seeds, games, strict=True):
        position = Position(search.variant)
        while position.outcome() is None:
            position.seed = both[position.side]
            position.play(search.choose(position, pair[position.side]))
        assert position.moves == moves


@pytest.mark.parametrize("variant", VARIANTS)
def test_neighbouring_levels_are_a_hundred_elo_apart(variant: str) -> None:
    rows = list(levels()[variant].values())
    assert rows[0].elo == rows[0].rating == 1000
    for below, level in pairwise(rows):
        assert level.elo == below.elo + 100
        assert level.step == pytest.approx(100, abs=15)
        assert level.games >= 2_400
        assert level.error95 is not None
        assert level.error95 <= 15


def share_of(cell: int, level: int, board: str) -> float:
    """Return how often the level chooses the cell for X, with 400 seeds."""
    bot = LevelBot(elo=level)
    variant = parse_variant("tictactoe")
    seeds = [side_seed(number, 0) for number in range(400)]
    moves = [bot.choose(Position.parse(variant, f"{board} X", seed=seed)) for seed in seeds]
    return moves.count(cell) / len(moves)


def test_a_weak_level_overlooks_a_win_more_rarely_than_a_threat() -> None:
    win, block = "XX.O....O", "OO.X....X"
    assert share_of(2, 1000, win) == pytest.approx(1 / 5, abs=0.08)
    assert share_of(2, 1200, win) > share_of(2, 1200, block) > share_of(2, 1000, block) + 0.1
    assert share_of(2, 1400, win) > share_of(2, 1200, win)


def test_a_level_that_a_game_does_not_have_is_refused() -> None:
    with pytest.raises(BotSpecError, match="expected 1000, 1100"):
        make_bot(parse_spec("level:elo=1050"))
    with pytest.raises(VariantRefused, match="tictactoe"):
        make_bot(parse_spec("level:elo=2000"), parse_variant("tictactoe"))


def test_tables_and_training_refuse_a_level(tmp_path: Path) -> None:
    bot, variant = make_bot(parse_spec("level:elo=1500")), parse_variant("tictactoe")
    with pytest.raises(BotSpecError, match=r"^bot 'level': got a bot whose choice depends on random errors"):
        build(bot, variant, lambda done, of: None)
    learner = Learner(tmp_path / "learner.table", learn=True)
    with pytest.raises(BotSpecError, match=r"^--against level: got a choice that depends on random errors"):
        Trainer(learner, variant, [bot], seed=1)
