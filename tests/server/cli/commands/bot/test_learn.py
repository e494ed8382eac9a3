"""`noughts bot learn`, and games of bots that learn."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from noughts_bots.reference.learner import load_learnt
from tests.server.cli.conftest import Refusal
from tests.support.learnt import trained_learner
from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM

UNREACHED_GAMES = 1_000_000
"""A number of games that no test waits for."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the commands: their relative paths refer to it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_learn_prints_one_document_and_draws_a_curve(noughts: Any, folder: Path) -> None:
    line = "bot learn --file it.table --games 600 --against random --against self --seed 1 --curve it.svg --format json"
    document = json.loads(noughts(line).stdout)
    assert document["games"] == document["new_games"] == 600
    assert document["can_lose"] == {"first": True, "second": True}
    assert not document["interrupted"]
    assert document["curve"] == {"svg": "it.svg", "csv": "it.csv"}
    chances = document["chances"]
    assert [(row["opponent"], row["side"], row["games"]) for row in chances] == [
        ("random", "first", 600),
        ("random", "second", 600),
    ]

    with open("it.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    # The first row has the exact chances of random moves, moving first against random moves.
    assert {name: float(rows[0][name]) for name in ("games", "wins", "points")} == pytest.approx(
        {"games": 0, "wins": 737 / 1260, "points": 737 / 1260 + 4 / 63}
    )
    assert len(rows) > 20
    assert [float(row["points"]) for row in rows[-2:]] == [row["points"] for row in chances]
    assert float(rows[-2]["points"]) > float(rows[0]["points"])

    text = Path("it.svg").read_text()
    picture = ElementTree.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in picture.iter()}
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert not tags & {"script", "image", "foreignObject", "use", "a", "iframe"}
    assert text.count("://") == 1  # that of the namespace
    assert not [word for word in ("xml-stylesheet", "@import", "url(") if word in text]
    labels = {element.text for element in picture.iter() if element.tag.endswith("}text")}
    assert {"games learnt", "against random, moving first", "against random, moving second"} <= labels
    # Each evaluation is a dot on one of the two lines.
    assert sum(element.tag.endswith("}circle") for element in picture.iter()) == len(rows)


def test_learn_continues_a_file_and_says_if_it_can_be_beaten(noughts: Any) -> None:
    noughts("bot learn --file it.table --games 300 --against random --seed 1")
    output = noughts("bot learn --file it.table --games 200 --against random --seed 1").stdout
    assert output.startswith("it.table: tictactoe, learnt from 500 games (200 of them now, ")
    assert "Moving first it can be beaten." in output
    noughts("bot learn --file whole.table --games 500 --against random --seed 1")
    assert Path("it.table").read_bytes() == Path("whole.table").read_bytes()


@pytest.mark.at_length
def test_documented_training_ends_with_a_learner_that_cannot_be_beaten(
    noughts: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file, output = trained_learner(tmp_path_factory)
    assert "Moving first it cannot be beaten by anybody." in output
    assert "Moving second it cannot be beaten by anybody." in output
    before = file.read_bytes()
    document = json.loads(
        noughts(f"match learner:file={file} nextstep --games 100 --concurrency 16 --format json").stdout
    )
    assert document["a"] == {"wins": 0, "draws": 100, "losses": 0}
    assert file.read_bytes() == before


def test_learner_does_not_count_the_stones_of_an_opening(noughts: Any, tmp_path: Path) -> None:
    file, games = tmp_path / "it.table", tmp_path / "games.jsonl"
    noughts(f"match A=learner:file={file},learn=true random --openings random:3 --games 40 -o {games}")
    learner_moves = 0
    for game in map(json.loads, games.read_text().splitlines()):
        side = int(game["second"] == "A")
        learner_moves += sum(ply % 2 == side for ply in range(3, len(game["moves"])))
    assert sum(sum(row.visits or ()) for row in load_learnt(file).rows.values()) == learner_moves


def test_learner_learns_from_each_game_of_a_match(noughts: Any) -> None:
    noughts("match A=learner:file=it.table,learn=true random --games 40 --concurrency 4 --seed 2")
    assert "\ngames 40\n" in Path("it.table").read_text()
    noughts("match A=learner:file=it.table,learn=true random --games 10 --seed 3")
    assert "\ngames 50\n" in Path("it.table").read_text()
    assert [file.name for file in Path().iterdir()] == ["it.table"]


def test_two_learners_on_one_file_are_refused_before_the_tournament(refusal: Refusal) -> None:
    bots = " ".join(f"{name}=learner:file=it.table,learn=true" for name in "AB")
    refusal(f"match {bots} --games 4", code=2)
    assert list(Path().iterdir()) == []


def test_damaged_file_is_refused_and_not_overwritten(noughts: Any, refusal: Refusal, folder: Path) -> None:
    noughts("bot learn --file it.table --games 20 --against self --seed 1")
    file = folder / "it.table"
    file.write_bytes(file.read_bytes().replace(b"games 20", b"games 21"))
    damaged = file.read_bytes()
    refusal("bot learn --file it.table --games 20 --against self", code=2)
    assert file.read_bytes() == damaged


@pytest.mark.parametrize(
    "line, code",
    [
        ("--games 5 --against self --curve it.png", 2),
        ("--games 5 --against self --curve no/it.svg", 1),
        ("--games 5 --against nobody", 2),
        ("--games 5 --against self --variant mnk:4,4,4", 2),
        ("--games 5 --against three-stage --variant mnk:4,3,3", 2),
        ("--games 0 --against self", 2),
        ("--games 5", 2),
    ],
)
def test_wrong_usage_of_learn_is_refused_before_a_game_is_played(refusal: Refusal, line: str, code: int) -> None:
    refusal(f"bot learn --file it.table {line}", code=code)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_learning_keeps_what_was_learnt(start: Any, signal_number: int) -> None:
    line = f"bot learn --file it.table --games {UNREACHED_GAMES} --against random --seed 1 --curve it.svg --format json"
    with start(line) as process:
        wait_for_file(Path("it.table"), process)
        process.send_signal(signal_number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    document = json.loads(output)
    assert document["interrupted"]
    assert 0 < document["games"] < UNREACHED_GAMES
    assert f"\ngames {document['games']}\n" in Path("it.table").read_text()
    assert "Interrupted after" in errors
    assert Path("it.svg").exists()
    assert not Path(".it.table.lock").exists()


def test_learning_shows_its_progress_on_a_terminal_and_nowhere_else() -> None:
    line = ("bot", "learn", "--file", "it.table", "--games", "2000", "--against", "self", "--seed", "1")
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *line],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
    ) as process:
        os.close(terminal)
        drawn = b""
        with suppress(OSError):  # the terminal's other end is closed
            while block := os.read(controller, 4096):
                drawn += block
        assert process.wait(PATIENCE) == 0
    os.close(controller)
    assert b"Games" in drawn
    assert b"/2000" in drawn
    piped = subprocess.run([*PROGRAM, *line], capture_output=True, timeout=PATIENCE, check=True)
    assert piped.stderr == b""


def wait_for_file(file: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the file exists; fail if the process ends first or takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not file.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
