"""`--every` prints the score of a run while it plays; `--fatal` ends a run at the first fault."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM

FAULTY = """
import os, time
from noughts_bots import Bot

class Faulty(Bot):
    def __init__(self):
        self.games = 0

    def choose(self, position):
        self.games += position.ply < 2
        return position.free[0] if self.games < {game} else self.fail(position)

    def fail(self, position):
        {fault}
"""
FAULTS = {
    "made an illegal move": "return 99",
    "was too slow": "time.sleep(60)",
    "crashed": "os._exit(3)",
}


def faulty_bot(folder: Path, fault: str, game: int = 3) -> str:
    """Return the spec of a bot that commits this fault in its game of this number, the first being 1."""
    file = folder / "faulty.py"
    file.write_text(FAULTY.format(fault=FAULTS[fault], game=game))
    return f"Mine=py:{file}:Faulty"


def score_lines(stderr: str) -> list[str]:
    """Return the lines that `--every` prints."""
    return [line for line in stderr.splitlines() if re.match(r"[\d,]+ of [\d,]+ games: ", line)]


def test_every_option_prints_the_score_of_a_match(noughts: Any) -> None:
    result = noughts("match minimax random --games 25 --every 10 --seed 3 --format json")
    document = json.loads(result.stdout)
    first, second = score_lines(result.stderr)
    assert first.startswith("10 of 25 games: minimax ")
    assert second.startswith("20 of 25 games: minimax ")
    assert " random; Elo difference: +" in second
    result = noughts("match minimax random --games 20 --every 20 --seed 3 --format json")
    (line,) = score_lines(result.stderr)
    assert line.partition(":")[2] == second.partition(":")[2]
    assert document["games"] == 25


@pytest.mark.parametrize("line", ["match random random --seed 1 --sprt elo0=0,elo1=5"])
def test_the_score_of_a_resumed_run_counts_its_earlier_games(noughts: Any, tmp_path: Path, line: str) -> None:
    (whole_line,) = score_lines(noughts(f"{line} --games 14 --every 14").stderr)
    noughts(f"{line} --games 10 --db {tmp_path / 'm.db'}")
    resumed = noughts(f"{line} --games 14 --every 14 --db {tmp_path / 'm.db'} --resume")
    assert score_lines(resumed.stderr) == [whole_line]


def test_the_confidence_interval_of_the_score_is_that_of_the_result(noughts: Any) -> None:
    result = noughts("match random random --games 60 --concurrency 8 --every 60 --seed 3")
    (line,) = score_lines(result.stderr)
    assert line.partition("; ")[2] in result.stdout.splitlines()
    assert " ± " in line


def test_the_score_of_a_tournament_lists_bots_by_their_points(noughts: Any) -> None:
    result = noughts("tournament run random minimax first-free --games 4 --every 6 --seed 1 --format json")
    half_line, whole_line = score_lines(result.stderr)
    assert half_line.startswith("6 of 12 games: minimax ")
    standings = json.loads(result.stdout)["standings"]
    assert [part.split()[0] for part in whole_line.partition(": ")[2].split(", ")] == [row["name"] for row in standings]


def test_a_terminal_shows_a_progress_bar_instead_of_scores() -> None:
    controller, terminal = pty.openpty()
    command = [*PROGRAM, "match", "random", "random", "--games", "20", "--every", "5", "--format", "json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(terminal)
        drawn = b""
        with suppress(OSError):  # the terminal's other end is closed
            while block := os.read(controller, 4096):
                drawn += block
        process.communicate(timeout=PATIENCE)
    os.close(controller)
    assert b"20/20" in drawn
    assert b"of 20 games" not in drawn


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_fault_ends_the_run(noughts: Any, tmp_path: Path, fault: str) -> None:
    games = tmp_path / "games.jsonl"
    line = f"match {faulty_bot(tmp_path, fault)} first-free --games 100000 --time 3/move --fatal -o {games}"
    result = noughts(f"{line} --format json", code=1)
    *_, error, fix = result.stderr.splitlines()
    location, _, explanation = error.partition(": it ")
    assert location == f"Error: Mine {fault} in game 3 (Mine - first-free)"
    assert explanation or fault == "crashed"  # the exit code of a program is known only later
    document = json.loads(result.stdout)
    assert 3 <= document["games"] < 100_000
    assert fix == f"Fix: Leave out --fatal, which ended the run after {document['games']:,} of 100,000 games."
    records = [json.loads(line) for line in games.read_text().splitlines()]
    assert len(records) == document["games"]
    assert {record["termination"] for record in records[:2]} == {"line"}
    assert records[2]["termination"] in ("illegal_move", "timeout", "crashed")


def test_a_fault_in_the_last_game_also_exits_with_code_1(noughts: Any, tmp_path: Path) -> None:
    result = noughts(f"match first-free {faulty_bot(tmp_path, 'made an illegal move')} --games 3 --fatal", code=1)
    assert "Mine made an illegal move in game 3 (first-free - Mine)" in result.stderr
    assert "Leave out --fatal, which ended the run after 3 of 3 games." in result.stderr


def test_without_faults_fatal_changes_nothing(noughts: Any) -> None:
    line = "tournament run random pascal minimax --games 4 --seed 5 --format json"
    assert noughts(f"{line} --fatal").stdout == noughts(line).stdout


def test_without_fatal_faults_are_only_counted(noughts: Any, tmp_path: Path) -> None:
    result = noughts(f"match {faulty_bot(tmp_path, 'made an illegal move')} first-free --games 4 --format json")
    assert json.loads(result.stdout)["terminations"] == {"line": 2, "illegal_move": 2}
