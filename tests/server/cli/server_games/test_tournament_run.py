"""`noughts tournament run` with bots of a server: the server plays, and this machine runs the other bots."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online
from tests.support.patience import PATIENCE


@pytest.fixture
def champion(server: str, token: str) -> Iterator[str]:
    """The name of a bot that is online at the server."""
    with bots_online(server, token, champion="minimax"):
        yield "champion"


def test_registered_bots_and_bots_of_this_machine_play_one_tournament(ask: Ask, champion: str) -> None:
    tournament = ask(f"tournament run bot:{champion}@1 random Old=first-free --games 4 --seed 3 --title There")
    assert (tournament["state"], tournament["games"], tournament["title"]) == ("finished", 12, "There")
    assert {row["name"] for row in tournament["standings"]} == {"champion", "random", "Old"}
    assert not [row["name"] for row in ask("bot list --online")["bots"] if row["name"].startswith("alice-")]


def test_a_refused_bot_cancels_the_tournament(ask: Ask, refusal: Refusal, env: dict[str, str]) -> None:
    refusal("tournament run bot:nobody random", env=env, code=1)
    newest = ask("tournament list --limit 1")["tournaments"][0]
    assert newest["state"] == "cancelled"


@pytest.mark.parametrize(
    "option",
    [
        "-o games.jsonl", "--every 5", "--fatal", "--memory 1g", "--memory-total 1g", "--dry-run", "--db x.db",
        "--margin-of random=1", "--no-lock", "--require-lock", "--start-timeout 9", "--processes 2", "--affinity",
        "--no-affinity", "--log x", "--messages x", "--resume",
    ],
)  # fmt: skip
def test_options_of_this_machine_are_refused_at_a_server(noughts: Any, env: dict[str, str], option: str) -> None:
    result = noughts(f"tournament run bot:nobody random {option}", env=env, code=2)
    option_name = option.split()[0].replace("--no-affinity", "--affinity")
    assert f"{option_name}: got a bot on a server as well" in result.stderr
    assert "\nFix: " in result.stderr


def test_margin_of_one_engine_is_refused_at_a_server(refusal: Refusal, env: dict[str, str]) -> None:
    refusal("tournament run bot:nobody gomocup{margin=2s}:true", env=env, code=2)


def test_openings_of_a_file_and_a_fit_work_at_a_server(ask: Ask, champion: str, tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("b2\na1 c3\n")
    tournament = ask(f"tournament run bot:{champion} random --games 4 --openings {file} --fit")
    assert (tournament["games"], tournament["openings"]["count"]) == (4, 2)
    assert {row["name"] for row in tournament["fit"]["players"]} == {"champion", "random"}


@pytest.mark.parametrize(
    "schedule, number, code",
    [
        ("ladder", signal.SIGINT, 0),
        ("round-robin --games 50000", signal.SIGINT, 130),
        ("round-robin --games 50000", signal.SIGTERM, 130),
        ("ladder", signal.SIGHUP, 0),
    ],
)
def test_stopped_run_cancels_the_tournament_and_prints_it(
    start: Any, env: dict[str, str], champion: str, schedule: str, number: int, code: int
) -> None:
    with start(f"tournament run bot:{champion} random --schedule {schedule} --format json", env) as process:
        assert "plays at" in process.stderr.readline()
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, errors
    tournament = json.loads(output)
    assert tournament["state"] == "cancelled"
    assert {row["name"] for row in tournament["standings"]} == {"champion", "random"}
    assert errors.startswith("Stopped after ")
