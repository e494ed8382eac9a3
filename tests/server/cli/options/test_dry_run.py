"""`--dry-run`: what a tournament would be."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import invoke


def document(words: str) -> dict[str, Any]:
    return dict(json.loads(invoke([*words.split(), "--dry-run", "--format", "json"]).stdout))


def test_timed_run_is_told_by_its_limits() -> None:
    told = document("tournament run random fives first-free --variant gomoku --time 1/move --games 10 --concurrency 5")
    assert told == {
        "dry_run": True,
        "schedule": "round-robin",
        "variant": "gomoku",
        "time": "1/move",
        "entries": 3,
        "rounds": 30,
        "games_least": 30,
        "games_most": 30,
        "concurrency": 5,
        "eta_seconds": 6 * 60.0,
        "eta_basis": "limits",
    }


def test_text_says_games_and_time_in_two_lines() -> None:
    words = "tournament run random fives first-free --variant gomoku --time 1/move --schedule knockout --dry-run"
    assert invoke(words.split()).stdout.splitlines() == [
        "Knockout: gomoku, time 1/move, nothing is played",
        "3 bots, 2 rounds, 4 to 20 games: about 4 min",
        "This assumes that all moves are as slow as allowed, 1 game at once, each of about 60 plies.",
    ]


def test_run_without_limits_is_told_by_a_trial_that_leaves_nothing(tmp_path: Path, noughts: Any) -> None:
    database = tmp_path / "cup.db"
    words = f"tournament run random first-free --games 1000 --db {database} --dry-run --format json"
    told = json.loads(noughts(words).stdout)
    assert (told["games_most"], told["eta_basis"]) == (1000, "trial")
    # In some seconds of two quick bots there are games.
    assert 0 < told["eta_seconds"] < 3600
    assert not database.exists()


def test_tournament_that_is_created_is_told_for_some_numbers_of_entries() -> None:
    told = document("tournament create cup --schedule swiss --rounds 5 --max-entries 20 --time 60+1")
    assert [(each["entries"], each["rounds"], each["games_most"]) for each in told["forecasts"]] == [
        (8, 5, 40),
        (16, 5, 80),
        (20, 5, 100),
    ]


@pytest.mark.parametrize(
    "words, message",
    [
        (
            "tournament create cup --schedule swiss --rounds 5 --max-entries 4",
            "4 entries can play 3 rounds",
        ),
        ("tournament create cup --min-entries 5 --max-entries 4", "--min-entries 5: expected at most --max-entries"),
        ("tournament run random pascal --schedule swiss --rounds 4", "2 entries can play 1 round without a rematch"),
    ],
)
def test_what_cannot_be_played_is_refused(words: str, message: str) -> None:
    assert message in " ".join(invoke([*words.split(), "--dry-run"], code=2).stderr.split())
