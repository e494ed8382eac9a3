"""`noughts report`."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.tools import run

pytestmark = pytest.mark.processes


@pytest.fixture
def played(noughts: Any, tmp_path: Path) -> Path:
    """A folder with one small match, as a file and as a database."""
    noughts(
        f"match random first-free --games 8 --seed 5 --times -o {tmp_path}/games.jsonl --db {tmp_path}/games.db"
        " --format json"
    )
    return tmp_path


def test_a_report_is_one_file(noughts: Any, played: Path) -> None:
    told = json.loads(noughts(f"report {played}/games.jsonl -o {played}/a/b --format json").stdout)
    path = Path(told["report"])
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    assert told == {
        "report": str(played / "a/b/report.html"),
        "tournament": "games",
        "games": 8,
        "bytes": path.stat().st_size,
    }
    assert "<title>games</title>" in path.read_text()
    text = noughts(f"report {played}/games.db -o {played}/a/b --title 'Spring cup'").stdout
    assert text.startswith(f"{path}: 8 games, ")
    assert "<title>Spring cup</title>" in path.read_text()


def test_a_file_and_a_database_give_the_same_page_in_any_process(noughts: Any, played: Path) -> None:
    for kind in ("jsonl", "db"):
        noughts(f"report {played}/games.{kind} -o {played}/{kind} --title Cup --games 4")
    # Only a database says when the games were played.
    told = re.compile(r"\n<div><dt>(began|ended)</dt><dd>[^<]+</dd></div>")
    of_database = played / "db/report.html"
    assert len(told.findall(of_database.read_text())) == 2
    of_database.write_text(told.sub("", of_database.read_text()))
    program = [sys.executable, "-m", "noughts_server.cli", "report", f"{played}/games.jsonl", "-o", f"{played}/other"]
    run(*program, "--title", "Cup", "--games", "4", env={**os.environ, "PYTHONHASHSEED": "7"})
    pages = {(played / folder / "report.html").read_bytes() for folder in ("jsonl", "db", "other")}
    assert len(pages) == 1


@pytest.mark.parametrize(
    "options",
    ["--sprt elo0=5,elo1=0", "--sprt elo=5", "--sprt elo1=much", "--sprt elo1=nan", "--games -1"],
)
def test_wrong_options_are_named_before_anything_is_read(refusal: Refusal, tmp_path: Path, options: str) -> None:
    refusal(f"report nowhere.jsonl -o {tmp_path}/out {options}", code=2)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_named(refusal: Refusal, played: Path) -> None:
    refusal(f"report {played}/games.jsonl -o {played}/games.db/out", code=1)


def test_a_test_is_asked_for_in_a_match_of_two_alone(noughts: Any, tmp_path: Path) -> None:
    for bots, code in (("random first-free three-stage", 2), ("random first-free", 0)):
        noughts(f"tournament run {bots} --games 2 -o {tmp_path}/games.jsonl --format json")
        said = noughts(f"report {tmp_path}/games.jsonl -o {tmp_path}/out --sprt elo0=0,elo1=10", code=code).stderr
        assert ("--sprt elo0=0,elo1=10: got a tournament of 3 bots, expected a match of two" in said) == (code == 2)
        assert (tmp_path / "out" / "report.html").exists() == (code == 0)
