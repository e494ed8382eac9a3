"""`--resume`: runs on this machine that were killed, interrupted or finished, and continue in their database."""

import json
import mmap
import operator
import shlex
import shutil
import signal
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noughts_referee.work_units import unpack_times
from tests.server.cli.conftest import Refusal
from tests.support.processes import environment, eventually, exit_code_and_errors, run_here, started

RUN_LINES = {
    "match": "match random three-stage --games 1200",
    "gauntlet": "tournament run random three-stage first-free --schedule gauntlet --games 600",
    "swiss": "tournament run random three-stage first-free --schedule swiss --games 400 --rounds 3",
    "decided": "tournament run random first-free three-stage --schedule knockout --games 80 --stop-when-decided",
}
SLEEPER = """
import time
from noughts_bots import Bot

class Sleeper(Bot):
    def choose(self, position):
        time.sleep(0.05)
        return position.free[0]
"""
_OPTIONS = "--seed 5 --concurrency 16 --format json"


def play_lines(line: str, file: Path, env: dict[str, str]) -> list[str]:
    """Run a command that writes its games to the file, and return the lines of the file."""
    run_here([*shlex.split(line), "-o", str(file)], env)
    return file.read_text().splitlines()


def games_of(lines: list[str]) -> list[dict[str, Any]]:
    """Return the games of these lines, without the field in which the last line describes the tournament."""
    documents = map(json.loads, lines)
    return [{name: value for name, value in document.items() if name != "tournament"} for document in documents]


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file; none if it is missing."""
    return file.read_text().splitlines() if file.exists() else []


def stored_games(database: Path) -> int:
    """Return the number of stored games, as another program reads it."""
    rows = query_rows(database, "SELECT count(*) FROM games")
    return int(rows[0][0]) if rows else 0


def query_rows(database: Path, query: str) -> list[Any]:
    """Return the rows of a query; none before the database has its tables."""
    if not database.exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []


@pytest.mark.at_length
@pytest.mark.parametrize("form", RUN_LINES)
def test_resuming_after_kills_plays_exactly_the_missing_games(tmp_path: Path, form: str) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    words = f"{RUN_LINES[form]} {_OPTIONS}"
    expected = play_lines(words, tmp_path / "undisturbed.jsonl", env)
    rng, database = Random(form), tmp_path / "kept.db"
    kept_line = f"{words} --db {database}"
    for resume_option in ("", " --resume"):
        games_before = stored_games(database)
        games_at_kill = games_before + rng.randrange((len(expected) - games_before) // 2 + 1)
        file = tmp_path / f"killed{resume_option.strip()}.jsonl"
        with started([*shlex.split(kept_line + resume_option), "-o", str(file)], env) as process:
            eventually(partial(stored_games, database), partial(operator.le, games_at_kill))
            eventually(partial(lines_of, file), bool)
            process.kill()
        # The file has the games in slot order up to the first gap. The kernel may end the last write between two pages.
        whole_lines, _, partial_line = file.read_text().rpartition("\n")
        assert partial_line == "" or len(file.read_bytes()) % mmap.PAGESIZE == 0
        file.write_text(f"{whole_lines}\n")
        lines = lines_of(file)
        assert lines == expected[: len(lines)]
    assert play_lines(f"{kept_line} --resume", tmp_path / "resumed.jsonl", env) == expected


def test_a_long_game_resumes_from_its_last_move(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "sleeper.py").write_text(SLEEPER)
    database, file = tmp_path / "kept.db", tmp_path / "games.jsonl"
    spec = f"py:{tmp_path}/bot/sleeper.py:Sleeper"
    bots = f"A={spec} B={spec}"
    words = f"match {bots} --games 1 --variant mnk:9,9,9 --time 120+1 --db {database}"
    query = "SELECT moves, times FROM journal"
    with started(shlex.split(words), env) as process:
        eventually(partial(query_rows, database, query), lambda rows: bool(rows) and len(rows[0][0]) > 15)
        process.kill()
    [(moves, times)] = query_rows(database, query)
    [line] = play_lines(f"{words} --resume --times", file, env)
    game = json.loads(line)
    assert bytes(game["moves"][: len(moves)]) == moves
    assert len(game["moves"]) > len(moves)
    assert game["times_ms"][: len(moves)] == [microseconds / 1000 for microseconds in unpack_times(times)]
    assert query_rows(database, query) == []


def test_an_interrupted_run_names_the_command_that_resumes_it(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    words = "match random three-stage --games 3000 --seed 5 --concurrency 16"
    with started([*shlex.split(words), "--every", "10"], env) as process:
        assert process.stderr is not None
        assert "10 of 3,000 games" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        code, errors = exit_code_and_errors(process)
    assert code == 130
    assert "Interrupted after" in errors
    [command] = [line.strip() for line in errors.splitlines() if line.strip().startswith("noughts match")]
    _, *arguments = shlex.split(command)
    assert arguments[:-3] == [*shlex.split(words), "--every", "10"]
    assert Path(arguments[-2]).is_relative_to(tmp_path)
    result = run_here([*arguments, "--format", "json"], env)
    assert json.loads(result.stdout)["games"] == 3_000
    assert "Resuming after" in result.stderr


def test_a_run_reports_an_earlier_killed_run_in_its_database(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    options = f"--seed 5 --db {tmp_path / 'kept.db'}"
    with started(shlex.split(f"match random first-free --games 100000 {options}"), env) as process:
        eventually(partial(stored_games, tmp_path / "kept.db"), bool)
        process.kill()
    result = run_here(shlex.split(f"match random first-free --games 2 {options}"), env)
    assert "an earlier run (random - first-free) that was interrupted after" in result.stderr
    assert "run its command again with --resume" in result.stderr


def test_resuming_a_finished_run_adds_games_and_bots(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    options = f"--seed 5 --db {tmp_path / 'kept.db'}"
    run = "tournament run random three-stage pascal:level=1"
    play_lines(f"{run} --games 4 {options}", tmp_path / "few.jsonl", env)
    few_lines = (tmp_path / "few.jsonl").read_text().splitlines()
    more_lines = play_lines(f"{run} --games 6 {options} --resume", tmp_path / "more.jsonl", env)
    assert (games_of(more_lines[:12]), len(more_lines)) == (games_of(few_lines), 18)
    assert more_lines == play_lines(f"{run} --games 6 --seed 5", tmp_path / "whole.jsonl", env)
    late_lines = play_lines(f"{run} first-free --games 6 {options} --resume", tmp_path / "late.jsonl", env)
    assert (games_of(late_lines[:18]), len(late_lines)) == (games_of(more_lines), 36)
    assert all("first-free" in line for line in late_lines[18:])


def test_a_run_that_kept_no_scores_is_resumed_without_them(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "sleeper.py").write_text(SLEEPER)
    env = environment(XDG_DATA_HOME=str(tmp_path))
    options = f"--seed 5 --games 2 --db {tmp_path / 'kept.db'}"
    few_lines = play_lines(f"tournament run random three-stage {options}", tmp_path / "few.jsonl", env)
    late_lines = play_lines(
        f"tournament run random three-stage py:{tmp_path}/bots/sleeper.py {options} --resume",
        tmp_path / "more.jsonl",
        env,
    )
    assert (games_of(late_lines[:2]), len(late_lines)) == (games_of(few_lines), 6)


@pytest.fixture(scope="module")
def match_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a match of six games."""
    folder = tmp_path_factory.mktemp("match")
    words = shlex.split(f"match random three-stage --games 6 --seed 5 --db {folder / 'kept.db'}")
    run_here(words, environment(XDG_DATA_HOME=str(folder)))
    return folder / "kept.db"


@pytest.mark.parametrize(
    "words",
    [
        "match random three-stage --games 4",
        "match random three-stage --games 6 --time 1/move",
        "match three-stage random --games 6",
        "match random three-stage --games 6 --seed 6",
    ],
)
def test_a_run_is_resumed_only_with_its_own_settings(
    refusal: Refusal, tmp_path: Path, match_database: Path, words: str
) -> None:
    database = shutil.copy(match_database, tmp_path)
    refusal(f"{words} --db {database} --resume", code=2)


def test_resuming_needs_an_existing_database(refusal: Refusal, tmp_path: Path) -> None:
    refusal("match random random --resume", code=2)
    refusal(f"match random random --resume --db {tmp_path}/no.db", code=1)


def test_resuming_chooses_the_run_with_the_same_bots(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    options = f"--seed 5 --db {tmp_path / 'kept.db'}"
    few_lines = play_lines(f"match random three-stage --games 4 {options}", tmp_path / "few.jsonl", env)
    play_lines(f"match random first-free --games 2 {options}", tmp_path / "other.jsonl", env)
    result = run_here(
        shlex.split(f"match random three-stage --games 6 {options} --resume -o {tmp_path / 'more.jsonl'}"), env
    )
    more_lines = (tmp_path / "more.jsonl").read_text().splitlines()
    assert (games_of(more_lines[:4]), len(more_lines)) == (games_of(few_lines), 6)
    assert "Resuming after 4 of 4 games, with more to play." in result.stderr
