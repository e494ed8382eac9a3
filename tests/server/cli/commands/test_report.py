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
def match_folder(noughts: Any, tmp_path: Path) -> Path:
    """A folder with a match of eight games, as a file and as a database."""
    noughts(
        f"match random first-free --games 8 --seed 5 --times -o {tmp_path}/games.jsonl --db {tmp_path}/games.db"
        " --format json"
    )
    return tmp_path


def test_a_report_is_one_file(noughts: Any, match_folder: Path) -> None:
    document = json.loads(noughts(f"report {match_folder}/games.jsonl -o {match_folder}/a/b --format json").stdout)
    path = Path(document["report"])
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    assert document == {
        "report": str(match_folder / "a/b/report.html"),
        "tournament": "games",
        "games": 8,
        "bytes": path.stat().st_size,
    }
    assert "<title>games</title>" in path.read_text()
    text = noughts(f"report {match_folder}/games.db -o {match_folder}/a/b --title 'Spring cup'").stdout
    assert text.startswith(f"{path}: 8 games, ")
    assert "<title>Spring cup</title>" in path.read_text()


def test_a_file_and_a_database_give_the_same_page_in_any_process(noughts: Any, match_folder: Path) -> None:
    for kind in ("jsonl", "db"):
        noughts(f"report {match_folder}/games.{kind} -o {match_folder}/{kind} --title Cup --games 4")
    # Only a database says when the games were played.
    dates = re.compile(r"\n<div><dt>(began|ended)</dt><dd>[^<]+</dd></div>")
    database_report = match_folder / "db/report.html"
    assert len(dates.findall(database_report.read_text())) == 2
    database_report.write_text(dates.sub("", database_report.read_text()))
    program = [
        sys.executable,
        "-m",
        "noughts_server.cli",
        "report",
        f"{match_folder}/games.jsonl",
        "-o",
        f"{match_folder}/other",
    ]
    run(*program, "--title", "Cup", "--games", "4", env={**os.environ, "PYTHONHASHSEED": "7"})
    pages = {(match_folder / folder / "report.html").read_bytes() for folder in ("jsonl", "db", "other")}
    assert len(pages) == 1


@pytest.mark.parametrize(
    "options",
    ["--sprt elo0=5,elo1=0", "--sprt elo=5", "--sprt elo1=much", "--sprt elo1=nan", "--games -1"],
)
def test_wrong_options_are_named_before_anything_is_read(refusal: Refusal, tmp_path: Path, options: str) -> None:
    refusal(f"report nowhere.jsonl -o {tmp_path}/out {options}", code=2)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_created_is_named(refusal: Refusal, match_folder: Path) -> None:
    refusal(f"report {match_folder}/games.jsonl -o {match_folder}/games.db/out", code=1)


def test_sprt_of_a_report_needs_a_match_of_two(noughts: Any, tmp_path: Path) -> None:
    for bots, code in (("random first-free three-stage", 2), ("random first-free", 0)):
        noughts(f"tournament run {bots} --games 2 -o {tmp_path}/games.jsonl --format json")
        errors = noughts(f"report {tmp_path}/games.jsonl -o {tmp_path}/out --sprt elo0=0,elo1=10", code=code).stderr
        assert ("--sprt elo0=0,elo1=10: got a tournament of 3 bots, expected a match of two" in errors) == (code == 2)
        assert (tmp_path / "out" / "report.html").exists() == (code == 0)
