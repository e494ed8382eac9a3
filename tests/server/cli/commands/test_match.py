"""`noughts match`, with real bots in processes of their own."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from noughts_referee.machine_speed import LEAST_FACTOR, MOST_FACTOR
from noughts_server.cli.local_games.playing import exit_if_ended_early
from noughts_server.local.plan import LocalOutcome
from tests.server.cli.conftest import Refusal, Transcript, total_score
from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM, eventually

TERMINATIONS = {
    "line",
    "board_full",
    "illegal_move",
    "timeout",
    "disconnected",
    "crashed",
    "resigned",
    "adjudicated",
    "void",
}


def opponent_score(score: dict[str, int]) -> dict[str, int]:
    return {"wins": score["losses"], "draws": score["draws"], "losses": score["wins"]}


def test_match_prints_one_json_document_by_the_contract(noughts: Any) -> None:
    result = noughts("match random three-stage --games 21 --concurrency 8 --seed 7 --format json")
    document = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert list(document) == [
        "games",
        "names",
        "variant",
        "seed",
        "a",
        "b",
        "a_first",
        "a_second",
        "terminations",
        "elo",
        "normalized_elo",
        "seed_text",
        "pentanomial",
        "repeats",
        "faults",
    ]
    assert (document["games"], document["variant"], document["seed"]) == (21, "tictactoe", 7)
    assert document["seed_text"] == "7"
    assert document["a"] == total_score(document["a_first"], document["a_second"])
    assert document["b"] == opponent_score(document["a"])
    assert sum(document["a_first"].values()) == 11
    assert sum(document["a_second"].values()) == 10
    assert set(document["terminations"]) <= TERMINATIONS
    assert sum(document["terminations"].values()) == 21
    assert set(document["elo"]) == {"value", "error95", "los"}
    assert document["elo"]["value"] < 0
    assert result.stderr == ""


def test_match_of_equals_is_labelled_and_drawn(noughts: Any, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    result = noughts(f"match minimax minimax --seed 1 --format json -o {games}")
    document = json.loads(result.stdout)
    assert document["a"] == document["b"] == {"wins": 0, "draws": 2, "losses": 0}
    assert document["elo"] == {"value": 0.0, "error95": 0.0, "los": None}
    lines = [json.loads(line) for line in games.read_text().splitlines()]
    assert [(line["first"], line["second"]) for line in lines] == [
        ("minimax", "minimax#2"),
        ("minimax#2", "minimax"),
    ]
    assert [line["result"] for line in lines] == ["1/2-1/2", "1/2-1/2"]


def test_one_sided_match_has_nulls_and_no_infinity(noughts: Any) -> None:
    result = noughts("match first-free minimax --games 4 --seed 4 --format json")
    elo = json.loads(result.stdout)["elo"]
    assert elo["error95"] is None
    assert "NaN" not in result.stdout
    assert "Infinity" not in result.stdout


def test_same_seed_writes_the_same_bytes_at_any_concurrency(noughts: Any, tmp_path: Path) -> None:
    files = [tmp_path / f"{concurrency}.jsonl" for concurrency in (1, 16)]
    for file, concurrency in zip(files, (1, 16), strict=True):
        noughts(
            "tournament run random pascal:level=0 random --games 6 --seed 5 --format json"
            f" --concurrency {concurrency} -o {file}"
        )
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.count(b"\n") == 18
    line = json.loads(first.splitlines()[0])
    contract = ["variant", "first", "second", "seed", "moves", "result", "termination"]
    assert list(line) == [*contract, "winning_cells", "seed_text"]
    assert line["seed"] == int(line["seed_text"])


def test_another_seed_gives_other_games(noughts: Any, tmp_path: Path) -> None:
    moves_by_seed = []
    for seed in (1, 2):
        file = tmp_path / f"{seed}.jsonl"
        noughts(f"match random random --games 8 --seed {seed} -o {file}")
        moves_by_seed.append([json.loads(line)["moves"] for line in file.read_text().splitlines()])
    assert moves_by_seed[0] != moves_by_seed[1]


def test_times_option_writes_the_time_of_each_move(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    noughts(f"match random random --times -o {file}")
    for line in map(json.loads, file.read_text().splitlines()):
        assert len(line["times_ms"]) == len(line["moves"])
        assert all(time >= 0 for time in line["times_ms"])


# Plays the illegal cell 99 unless it gets the expected times.
CLOCK_WATCHER = """
from noughts_bots import Bot

class Watcher(Bot):
    def start(self, game):
        self.time = game.time

    def choose(self, position):
        if (self.time.bank, self.time.move, self.time.increment) != (60.0, 5.0, 0.5):
            return 99
        if position.limit_us != 5_000_000 or position.own_clock_us <= 55_000_000:
            return 99
        return position.free[0]
"""


def test_base_time_and_limit_per_move_both_reach_the_bots(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "watcher.py").write_text(CLOCK_WATCHER)
    watcher = f"py:{tmp_path}/watcher.py:Watcher"
    document = json.loads(noughts(f"match {watcher} first-free --time 60/5+0.5 --format json").stdout)
    assert document["terminations"] == {"line": 2}


def test_scaled_times_have_the_factor_of_this_machine(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    document = json.loads(noughts(f"match random first-free --time 5/move --scale-time --format json -o {file}").stdout)
    factors = [json.loads(line)["time_factor"] for line in file.read_text().splitlines()]
    assert factors == [document["time_factor"]] * 2
    assert LEAST_FACTOR <= factors[0] <= MOST_FACTOR


def test_random_seed_is_reported_and_repeats_the_match(noughts: Any) -> None:
    first = json.loads(noughts("match random random --games 10 --format json").stdout)
    again = json.loads(noughts(f"match random random --games 10 --format json --seed {first['seed']}").stdout)
    assert first == again


@pytest.mark.parametrize(
    "line",
    [
        "match random nobody",
        "match random pascal --variant mnk:5,5,4",
        "match random random --variant chess",
        "match random random --time soon",
        "match random random --margin soon",
        "match random random --scale-time",
        "match random random --seed -1",
        "match random random --times",
        "match random random --db nonsense://",
        "tournament run random",
        "tournament run random random --schedule berger",
        "match random random --games 0",
        "match random",
    ],
)
def test_wrong_arguments_are_a_usage_error_in_one_message(transcript: Transcript, line: str) -> None:
    transcript(line, code=2)


def test_unwritable_file_is_reported_before_the_games(refusal: Refusal, tmp_path: Path) -> None:
    refusal(f"match random random --games 1000000 -o {tmp_path / 'nowhere' / 'games'}", code=1)


def _games_done(file: Path) -> int:
    """Return the number of finished games in the database of a running match; 0 before it has tables."""
    if not file.exists():
        return 0
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection, suppress(sqlite3.OperationalError):
        return int(connection.execute("SELECT coalesce(sum(games_done), 0) FROM tournaments").fetchone()[0])
    return 0


@pytest.mark.parametrize("signals", [1, 2])
def test_interrupted_match_prints_what_was_played(start: Any, tmp_path: Path, signals: int) -> None:
    games, database = tmp_path / "games.jsonl", tmp_path / "games.db"
    line = f"match random random --games 1000000 --concurrency 64 --format json --db {database} -o {games}"
    with start(line) as process:
        eventually(lambda: _games_done(database))
        process.send_signal(signal.SIGINT)
        if signals == 2:
            assert "Finishing" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    document = json.loads(output)
    assert 0 < document["games"] < 1_000_000
    assert sum(document["a"].values()) == document["games"]
    assert games.read_text().count("\n") == document["games"]


def test_match_whose_terminal_is_closed_stops_at_once_and_leaves_no_file(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with start("match random random --games 1000000 --concurrency 64 --format json") as process:
        eventually(lambda: any(map(_games_done, tmp_path.glob("noughts-*/noughts.sqlite"))))
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert not list(tmp_path.glob("noughts-*"))  # the finished games are kept in the user's data folder


def test_next_run_removes_the_folders_of_a_killed_match(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with start("match random random --games 1000000") as process:
        eventually(lambda: any(map(_games_done, tmp_path.glob("noughts-*/noughts.sqlite"))))
        process.kill()
        process.wait(timeout=PATIENCE)
    assert list(tmp_path.glob("noughts-*"))
    with start("match random random") as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert not list(tmp_path.glob("noughts-*"))


def test_match_interrupted_at_its_start_ends_cleanly(start: Any, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    with start(f"match random random --games 1000000 --format json -o {games}") as process:
        while not list(tmp_path.glob("*.tmp")):
            assert process.poll() is None
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("*.tmp"))
    if output:
        assert json.loads(output)["games"] == games.read_text().count("\n")


def test_nothing_but_json_on_stdout_and_no_bar_without_a_terminal(start: Any) -> None:
    with start("match random random --games 50 --format json") as process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert json.loads(output)["games"] == 50
    assert errors == ""


def test_progress_is_drawn_on_a_terminal_but_not_on_stdout() -> None:
    controller, terminal = pty.openpty()
    command = [*PROGRAM, "match", "random", "random", "--games", "300", "--format", "json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        drawn = b""
        with suppress(OSError):  # the terminal's other end is closed
            while block := os.read(controller, 4096):
                drawn += block
        output, _ = process.communicate(timeout=PATIENCE)
    os.close(controller)
    assert json.loads(output)["games"] == 300
    assert b"300/300" in drawn


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_error_of_a_full_disk_names_the_file(refusal: Refusal) -> None:
    refusal("match random random --games 50 --concurrency 50 -o /dev/full", code=1)


def test_interrupted_run_without_a_game_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = LocalOutcome(0, 0, interrupted=True, standings=(), pairs=(), terminations={})
    with pytest.raises(SystemExit) as raised:
        exit_if_ended_early(outcome)
    assert raised.value.code == 130
    assert capsys.readouterr().err == "Interrupted before any game ended.\n"


def test_label_can_return_to_an_earlier_version(noughts: Any, tmp_path: Path) -> None:
    for level in (0, 1, 0):
        line = f"match X=pascal:level={level} random --games 2 --db {tmp_path / 'games.db'} --format json"
        assert json.loads(noughts(line).stdout)["games"] == 2
