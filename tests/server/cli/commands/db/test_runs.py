"""Interrupted runs in the user's data folder: which are kept, and how they are listed and deleted."""

import os
import shlex
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noughts_server.local.kept_runs import KeptRun
from noughts_server.store.engine.sqlite import locked
from tests.support.processes import environment, eventually, exit_code_and_errors, json_of, run_noughts, started

pytestmark = pytest.mark.processes
NEVER_MOVES = """
import time
from noughts_bots import Bot

class NeverMoves(Bot):
    def choose(self, position):
        time.sleep(1000)
"""


def interrupt_run(words: str, env: dict[str, str], wait_for_start: Callable[[], object], signals: int) -> str:
    """Start a run, send it `signals` interrupts after `wait_for_start()`, and return the rest of its stderr."""
    with started(shlex.split(words), env) as process:
        assert process.stderr is not None
        wait_for_start()
        for number in range(signals):
            process.send_signal(signal.SIGINT)
            if not number:
                assert any("Finishing" in line for line in process.stderr)
        return exit_code_and_errors(process)[1]


def kept_runs(env: dict[str, str], words: str = "") -> list[dict[str, Any]]:
    """Return the runs that `noughts db runs` lists with these options."""
    runs: list[dict[str, Any]] = json_of(f"db runs {words}", env)["runs"]
    return runs


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(XDG_DATA_HOME=str(tmp_path))


def interrupt_after_some_games(tmp_path: Path, env: dict[str, str]) -> None:
    """Start a run, and interrupt it after some games."""
    file = tmp_path / "games.jsonl"

    def wait_for_start() -> None:
        eventually(lambda: file.exists() and file.stat().st_size)

    errors = interrupt_run(f"match random first-free --games 1000000 -o {file}", env, wait_for_start, signals=1)
    assert str(tmp_path / "noughts" / "runs") in errors


def test_run_without_a_game_is_not_kept(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "never_moves.py").write_text(NEVER_MOVES)

    def wait_for_start() -> None:
        eventually(lambda: (tmp_path / "log").exists())

    words = f"match random {tmp_path / 'never_moves.py'} --no-lock --games 2 --log {tmp_path / 'log'}"
    errors = interrupt_run(words, env, wait_for_start, signals=2)
    assert "Interrupted before any game ended" in errors
    assert kept_runs(env) == []
    assert not list(tmp_path.glob("noughts/runs/*"))


def test_old_runs_are_deleted_and_others_stay(tmp_path: Path, env: dict[str, str]) -> None:
    interrupt_after_some_games(tmp_path, env)
    [run] = kept_runs(env)
    assert run["games"] > 0
    assert run["games_total"] == 1_000_000
    assert [kept_run["would_delete"] for kept_run in kept_runs(env, "--prune 1d --dry-run")] == [False]
    listed = run_noughts(["db", "runs"], env | {"COLUMNS": "80"}).stdout
    assert f"{datetime.fromisoformat(run['time']):%Y-%m-%d %H:%M}" in listed
    assert run["file"] in listed, "a path that is broken into lines cannot be copied"
    assert [kept_run["deleted"] for kept_run in kept_runs(env, "--prune 1d")] == [False]
    old = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    for file in tmp_path.glob("noughts/runs/*"):
        os.utime(file, (old, old))
    assert [kept_run["would_delete"] for kept_run in kept_runs(env, "--prune 1d --dry-run")] == [True]
    assert [kept_run["deleted"] for kept_run in kept_runs(env, "--prune 1d")] == [True]
    assert kept_runs(env) == []
    assert not list(tmp_path.glob("noughts/runs/*"))


def test_run_that_a_program_uses_is_not_deleted(tmp_path: Path) -> None:
    file = tmp_path / "run.sqlite"
    file.touch()
    run = KeptRun(file, datetime.now(UTC), size=0)
    lock = locked(f"{file}.lock")
    assert lock is not None
    with lock:
        assert not run.remove()
        assert file.exists()
    assert run.remove()
    assert not file.exists()
