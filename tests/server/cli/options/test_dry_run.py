"""`--dry-run`: a forecast of the games and the time that a tournament would need."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import invoke


def dry_run(words: str) -> dict[str, Any]:
    """Run a command with `--dry-run`, and return its JSON."""
    return dict(json.loads(invoke([*words.split(), "--dry-run", "--format", "json"]).stdout))


def test_forecast_of_a_timed_run_follows_from_its_limits() -> None:
    forecast = dry_run(
        "tournament run random fives first-free --variant gomoku --time 1/move --games 10 --concurrency 5"
    )
    assert forecast == {
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


def test_forecast_without_limits_comes_from_a_trial_that_stores_nothing(tmp_path: Path, noughts: Any) -> None:
    database = tmp_path / "cup.db"
    words = f"tournament run random first-free --games 1000 --db {database} --dry-run --format json"
    forecast = json.loads(noughts(words).stdout)
    assert (forecast["games_most"], forecast["eta_basis"]) == (1000, "trial")
    # The trial lasts seconds, and in that time two quick bots finish games.
    assert 0 < forecast["eta_seconds"] < 3600
    assert not database.exists()


def test_forecast_of_a_new_tournament_is_for_several_numbers_of_entries() -> None:
    document = dry_run("tournament create cup --schedule swiss --rounds 5 --max-entries 20 --time 60+1")
    forecasts = [
        (forecast["entries"], forecast["rounds"], forecast["games_most"]) for forecast in document["forecasts"]
    ]
    assert forecasts == [(8, 5, 40), (16, 5, 80), (20, 5, 100)]


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
def test_impossible_tournaments_are_refused(words: str, message: str) -> None:
    assert message in " ".join(invoke([*words.split(), "--dry-run"], code=2).stderr.split())
