"""`--every` and `--fatal`: the score while games are being played, and runs that end at the first fault."""

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


def faulty(folder: Path, fault: str, game: int = 3) -> str:
    """A bot that does so in that game of its."""
    file = folder / "faulty.py"
    file.write_text(FAULTY.format(fault=FAULTS[fault], game=game))
    return f"Mine=py:{file}:Faulty"


# The score.


def scores(stderr: str) -> list[str]:
    """The lines that tell it."""
    return [line for line in stderr.splitlines() if re.match(r"[\d,]+ of [\d,]+ games: ", line)]


def test_the_score_of_a_match_is_said_every_so_many_games(noughts: Any) -> None:
    result = noughts("match minimax random --games 25 --every 10 --seed 3 --format json")
    document = json.loads(result.stdout)
    first, second = scores(result.stderr)
    assert first.startswith("10 of 25 games: minimax ")
    assert second.startswith("20 of 25 games: minimax ")
    assert " random; Elo difference: +" in second
    again = noughts("match minimax random --games 20 --every 20 --seed 3 --format json")
    (line,) = scores(again.stderr)
    assert line.partition(":")[2] == second.partition(":")[2]
    assert document["games"] == 25


def test_the_error_bars_of_the_score_are_those_of_the_result(noughts: Any) -> None:
    result = noughts("match random random --games 60 --concurrency 8 --every 60 --seed 3")
    (line,) = scores(result.stderr)
    assert line.partition("; ")[2] in result.stdout.splitlines()
    assert " ± " in line


def test_the_score_of_a_tournament_is_everybodys_points_the_best_first(noughts: Any) -> None:
    result = noughts("tournament run random minimax first-free --games 4 --every 6 --seed 1 --format json")
    half, whole = scores(result.stderr)
    assert half.startswith("6 of 12 games: minimax ")
    standings = json.loads(result.stdout)["standings"]
    assert [part.split()[0] for part in whole.partition(": ")[2].split(", ")] == [row["name"] for row in standings]


def test_on_a_terminal_there_is_the_bar_instead() -> None:
    terminal, stderr = pty.openpty()
    command = [*PROGRAM, "match", "random", "random", "--games", "20", "--every", "5", "--format", "json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(stderr)
        drawn = b""
        with suppress(OSError):  # Linux: the other end is closed
            while piece := os.read(terminal, 4096):
                drawn += piece
        process.communicate(timeout=PATIENCE)
    os.close(terminal)
    assert b"20/20" in drawn
    assert b"of 20 games" not in drawn


# The first fault.


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_fault_ends_the_run(noughts: Any, tmp_path: Path, fault: str) -> None:
    games = tmp_path / "games.jsonl"
    line = f"match {faulty(tmp_path, fault)} first-free --games 100000 --time 0.5/move --fatal -o {games} --format json"
    result = noughts(line, code=1)
    *_, said, when = result.stderr.splitlines()
    where, _, how = said.partition(": it ")
    assert where == f"Error: Mine {fault} in game 3 (Mine - first-free)"
    assert how or fault == "crashed"  # why it ended is only known afterwards
    document = json.loads(result.stdout)
    assert 3 <= document["games"] < 100_000
    assert when == f"Fix: Leave out --fatal, which ended the run after {document['games']:,} of 100,000 games."
    written = [json.loads(line) for line in games.read_text().splitlines()]
    assert len(written) == document["games"]
    assert {record["termination"] for record in written[:2]} == {"line"}
    assert written[2]["termination"] in ("illegal_move", "timeout", "crashed")


def test_a_fault_in_the_last_game_is_no_success_either(noughts: Any, tmp_path: Path) -> None:
    result = noughts(f"match first-free {faulty(tmp_path, 'made an illegal move')} --games 3 --fatal", code=1)
    assert "Mine made an illegal move in game 3 (first-free - Mine)" in result.stderr
    assert "Leave out --fatal, which ended the run after 3 of 3 games." in result.stderr


def test_without_faults_fatal_changes_nothing(noughts: Any) -> None:
    line = "tournament run random pascal minimax --games 4 --seed 5 --format json"
    assert noughts(f"{line} --fatal").stdout == noughts(line).stdout


def test_without_fatal_a_fault_is_only_counted(noughts: Any, tmp_path: Path) -> None:
    result = noughts(f"match {faulty(tmp_path, 'made an illegal move')} first-free --games 4 --format json")
    assert json.loads(result.stdout)["terminations"] == {"line": 2, "illegal_move": 2}
