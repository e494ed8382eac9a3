"""Runs of this machine that were stopped in the middle, and are gone on with."""

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

FORMATS = {
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
        time.sleep(0.01)
        return position.free[0]
"""
_ALWAYS = "--seed 5 --concurrency 16 --format json"


def played(words: str, file: Path, env: dict[str, str]) -> list[str]:
    run_here([*shlex.split(words), "-o", str(file)], env)
    return file.read_text().splitlines()


def games(lines: list[str]) -> list[dict[str, Any]]:
    """The games of these lines, without what the last one says about its tournament."""
    documents = map(json.loads, lines)
    return [{name: value for name, value in document.items() if name != "tournament"} for document in documents]


def written(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def stored(database: Path) -> int:
    """Return the number of games that another program finds there."""
    rows = found(database, "SELECT count(*) FROM games")
    return int(rows[0][0]) if rows else 0


def found(database: Path, query: str) -> list[Any]:
    if not database.exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []  # its tables are being made


@pytest.mark.at_length
@pytest.mark.parametrize("form", FORMATS)
def test_after_kills_at_any_moment_exactly_the_missing_games_are_played(tmp_path: Path, form: str) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    words = f"{FORMATS[form]} {_ALWAYS}"
    undisturbed = played(words, tmp_path / "undisturbed.jsonl", env)
    chance, database = Random(form), tmp_path / "kept.db"
    kept = f"{words} --db {database}"
    for again in ("", " --resume"):
        there = stored(database)
        wanted = there + chance.randrange((len(undisturbed) - there) // 2 + 1)
        file = tmp_path / f"killed{again.strip()}.jsonl"
        with started([*shlex.split(kept + again), "-o", str(file)], env) as process:
            eventually(partial(stored, database), partial(operator.le, wanted))
            eventually(partial(written, file), bool)
            process.kill()
        # They are in slot order, as far as there is no gap. The kernel may end a write between two pages.
        whole, _, cut = file.read_text().rpartition("\n")
        assert cut == "" or len(file.read_bytes()) % mmap.PAGESIZE == 0
        file.write_text(f"{whole}\n")
        lines = written(file)
        assert lines == undisturbed[: len(lines)]
    assert played(f"{kept} --resume", tmp_path / "resumed.jsonl", env) == undisturbed


def test_a_long_game_is_gone_on_with_from_its_last_move(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "sleeper.py").write_text(SLEEPER)
    database, file = tmp_path / "kept.db", tmp_path / "games.jsonl"
    spec = f"py:{tmp_path}/bot/sleeper.py:Sleeper"
    bots = f"A={spec} B={spec}"
    words = f"match {bots} --games 1 --variant mnk:9,9,9 --time 120+1 --db {database}"
    query = "SELECT moves, times FROM journal"
    with started(shlex.split(words), env) as process:
        eventually(partial(found, database, query), lambda rows: bool(rows) and len(rows[0][0]) > 15)
        process.kill()
    [(moves, times)] = found(database, query)
    [line] = played(f"{words} --resume --times", file, env)
    game = json.loads(line)
    assert bytes(game["moves"][: len(moves)]) == moves
    assert len(game["moves"]) > len(moves)
    assert game["times_ms"][: len(moves)] == [microseconds / 1000 for microseconds in unpack_times(times)]
    assert found(database, query) == []


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
    _, *given = shlex.split(command)
    assert given[:-3] == [*shlex.split(words), "--every", "10"]
    assert Path(given[-2]).is_relative_to(tmp_path)
    resumed = run_here([*given, "--format", "json"], env)
    assert json.loads(resumed.stdout)["games"] == 3_000
    assert "Resuming after" in resumed.stderr


def test_the_next_run_in_a_database_tells_of_one_that_was_killed_there(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    kept = f"--seed 5 --db {tmp_path / 'kept.db'}"
    with started(shlex.split(f"match random first-free --games 100000 {kept}"), env) as process:
        eventually(partial(stored, tmp_path / "kept.db"), bool)
        process.kill()
    other = run_here(shlex.split(f"match random first-free --games 2 {kept}"), env)
    assert "an earlier run (random - first-free) that ended after" in other.stderr
    assert "run its command again with --resume" in other.stderr


def test_more_games_and_bots_are_added_to_what_was_finished(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    kept = f"--seed 5 --db {tmp_path / 'kept.db'}"
    run = "tournament run random three-stage pascal:level=1"
    played(f"{run} --games 4 {kept}", tmp_path / "few.jsonl", env)
    few = (tmp_path / "few.jsonl").read_text().splitlines()
    more = played(f"{run} --games 6 {kept} --resume", tmp_path / "more.jsonl", env)
    assert (games(more[:12]), len(more)) == (games(few), 18)
    assert more == played(f"{run} --games 6 --seed 5", tmp_path / "whole.jsonl", env)
    late = played(f"{run} first-free --games 6 {kept} --resume", tmp_path / "late.jsonl", env)
    assert (games(late[:18]), len(late)) == (games(more), 36)
    assert all("first-free" in line for line in late[18:])


def test_a_run_that_kept_no_scores_is_resumed_without_them(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "sleeper.py").write_text(SLEEPER)
    env = environment(XDG_DATA_HOME=str(tmp_path))
    kept = f"--seed 5 --games 2 --db {tmp_path / 'kept.db'}"
    few = played(f"tournament run random three-stage {kept}", tmp_path / "few.jsonl", env)
    late = played(
        f"tournament run random three-stage py:{tmp_path}/bots/sleeper.py {kept} --resume", tmp_path / "more.jsonl", env
    )
    assert (games(late[:2]), len(late)) == (games(few), 6)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a match of six games."""
    folder = tmp_path_factory.mktemp("begun")
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
def test_only_what_was_begun_is_gone_on_with(refusal: Refusal, tmp_path: Path, begun: Path, words: str) -> None:
    kept = shutil.copy(begun, tmp_path)
    refusal(f"{words} --db {kept} --resume", code=2)


def test_resuming_takes_a_database_with_a_run(refusal: Refusal, tmp_path: Path) -> None:
    refusal("match random random --resume", code=2)
    refusal(f"match random random --resume --db {tmp_path}/no.db", code=1)


def test_the_named_run_of_a_database_is_resumed(tmp_path: Path) -> None:
    env = environment(XDG_DATA_HOME=str(tmp_path))
    kept = f"--seed 5 --db {tmp_path / 'kept.db'}"
    few = played(f"match random three-stage --games 4 {kept}", tmp_path / "few.jsonl", env)
    played(f"match random first-free --games 2 {kept}", tmp_path / "other.jsonl", env)
    resumed = run_here(
        shlex.split(f"match random three-stage --games 6 {kept} --resume -o {tmp_path / 'more.jsonl'}"), env
    )
    more = (tmp_path / "more.jsonl").read_text().splitlines()
    assert (games(more[:4]), len(more)) == (games(few), 6)
    assert "Resuming after 4 of 4 games, with more to play." in resumed.stderr
