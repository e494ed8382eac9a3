"""Results of many games agree with computed probabilities, and games are the same at any concurrency."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.support.learnt import trained_learner
from tests.support.processes import environment, run_here

pytestmark = pytest.mark.at_length

GAMES = 10_000
STANDARD_ERRORS = 4


def noughts(*arguments: str) -> dict[str, Any]:
    result = run_here([*arguments, "--format", "json"], environment(PYTHONWARNINGS="error"))
    return dict(json.loads(result.stdout))


def is_as_expected(count: int, games: int, probability: Fraction) -> bool:
    """Return whether this many of the games are within a few standard errors of the expected number."""
    error = math.sqrt(games * probability * (1 - probability))
    return abs(count - games * probability) <= STANDARD_ERRORS * error


def test_random_against_random_wins_as_often_as_theory_says() -> None:
    """The probabilities follow from all games of tic-tac-toe with random moves."""
    outcome = noughts(
        "match", "random", "random", "--games", str(2 * GAMES), "--concurrency", "1024", "--seed", "11"
    )  # fmt: skip
    assert outcome["games"] == 2 * GAMES
    for first, games in ((outcome["a_first"], GAMES), (score_of_the_other_side(outcome["a_second"]), GAMES)):
        assert sum(first.values()) == games
        assert is_as_expected(first["wins"], games, Fraction(737, 1260))
        assert is_as_expected(first["losses"], games, Fraction(121, 420))
        assert is_as_expected(first["draws"], games, Fraction(8, 63))


def score_of_the_other_side(score: dict[str, int]) -> dict[str, int]:
    """Return the score of the same games from the other side."""
    return {"wins": score["losses"], "draws": score["draws"], "losses": score["wins"]}


def test_minimax_moving_second_never_loses_to_random() -> None:
    outcome = noughts(
        "match", "minimax", "random", "--games", str(2 * GAMES), "--concurrency", "1024", "--seed", "12"
    )  # fmt: skip
    second = outcome["a_second"]
    assert sum(second.values()) == GAMES
    assert second["losses"] == 0
    # The probability follows from all games in which one side moves at random and minimax replies.
    assert is_as_expected(second["wins"], GAMES, Fraction(254, 315))


@pytest.mark.parametrize("specs", [("random", "pascal:level=0", "three-stage", "nextstep:depth=3")])
def test_the_same_seed_gives_the_same_games_and_ratings_at_any_concurrency(
    specs: tuple[str, ...], tmp_path: Path
) -> None:
    files, standings = [], []
    for concurrency in (1, 256):
        file = tmp_path / f"{concurrency}.jsonl"
        outcome = noughts(
            "tournament", "run", *specs, "--games", "20", "--seed", "3", "--concurrency", str(concurrency),
            "-o", str(file),
        )  # fmt: skip
        files.append(file.read_bytes())
        standings.append(outcome["standings"])
    assert len(files[0].splitlines()) == 120
    assert files[0] == files[1]
    assert standings[0] == standings[1]
    assert all(row["rating"] is not None for row in standings[0])


def test_another_seed_gives_other_games(tmp_path: Path) -> None:
    files = []
    for seed in ("1", "2"):
        file = tmp_path / seed
        noughts("match", "random", "random", "--games", "20", "--concurrency", "8", "--seed", seed, "-o", str(file))
        files.append([json.loads(line)["moves"] for line in file.read_text().splitlines()])
    assert files[0] != files[1]


NEVER_LOSE = ("minimax", "minimax:faster=true", "learner", *(f"nextstep:depth={depth}" for depth in range(6, 10)))
"""Labels of bots that play 3x3 perfectly. `nextstep` does from depth 6 on."""


def test_perfect_players_of_3x3_never_lose_a_round_robin(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = tmp_path / "pascal.table"
    trained, _ = trained_learner(tmp_path_factory)
    noughts("bot", "table", "build", "pascal:level=0", "-o", str(table))
    specs = [
        "random", "first-free", "three-stage", "coursework:level=1", "coursework:level=2", "pascal:level=0",
        "pascal:level=1", *(f"nextstep:depth={depth}" for depth in range(1, 10)), "minimax", "minimax:faster=true",
        "minimax:depth=2", "fives", "threats:nodes=500", f"table=table:file={table}", f"learner=learner:file={trained}",
    ]  # fmt: skip
    games = tmp_path / "games.jsonl"
    outcome = noughts(
        "tournament", "run", *specs, "--games", "2", "--seed", "5", "--concurrency", "64", "-o", str(games)
    )
    # Two games for each pair of bots.
    assert outcome["games"] == len(specs) * (len(specs) - 1) // 2 * 2
    losses = {row["name"]: row["losses"] for row in outcome["standings"]}
    assert [losses[name] for name in NEVER_LOSE] == [0] * len(NEVER_LOSE)
    # A bot that searches less deeply loses.
    assert losses["nextstep:depth=1"] > 0
    records = [json.loads(line) for line in games.read_text(encoding="utf-8").splitlines()]
    assert [game for game in records if game["first"] == "pascal:level=1" and game["result"] == "0-1"] == []
    assert any(game["first"] == "pascal:level=0" and game["result"] == "0-1" for game in records)
