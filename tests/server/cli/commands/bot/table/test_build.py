"""`noughts bot table build`, and games of bots that play from tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal, Transcript


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the commands: their relative paths refer to it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def match_moves(noughts: Any, a: str, b: str, name: str) -> list[list[int]]:
    """Play a match with a fixed seed into the file `name`, and return the moves of each game."""
    noughts(f"match A={a} B={b} --games 60 --concurrency 16 --seed 5 -o {name}")
    return [json.loads(line)["moves"] for line in Path(name).read_text().splitlines()]


@pytest.mark.parametrize(
    "spec",
    [
        "three-stage",
        pytest.param("pascal:level=0", marks=pytest.mark.at_length),
        pytest.param("nextstep:depth=3", marks=pytest.mark.at_length),
    ],
)
def test_table_plays_the_same_games_as_its_bot(noughts: Any, spec: str) -> None:
    noughts(f"bot table build {spec} -o bot.table")
    assert match_moves(noughts, "table:file=bot.table", "random", "b") == match_moves(noughts, spec, "random", "a")


def test_build_prints_one_json_document(noughts: Any) -> None:
    document = json.loads(noughts("bot table build pascal -o bot.table --format json").stdout)
    assert document == {
        "file": "bot.table",
        "spec": "pascal",
        "variant": "tictactoe",
        "level": 1,
        "positions": 4520,
    }
    assert [file.name for file in Path().iterdir()] == ["bot.table"]


def test_build_says_how_to_play_the_table(noughts: Any) -> None:
    output = noughts("bot table build minimax --variant mnk:3,2,2 -o small.table").stdout
    assert output.splitlines()[1] == "table:file=small.table plays exactly like minimax."


def test_tables_play_tournaments_under_the_names_of_their_files(noughts: Any, folder: Path) -> None:
    (folder / "deep").mkdir()
    noughts("bot table build pascal -o deep/pascal.table")
    line = f"tournament run table:file=deep/pascal.table table:file={folder}/deep/pascal.table random --format json"
    document = json.loads(noughts(f"{line} --games 4 --concurrency 4").stdout)
    assert set(document["crosstable"]["labels"]) == {
        "table:file=pascal.table",
        "table:file=pascal.table#2",
        "random",
    }
    assert set(document["terminations"]) <= {"line", "board_full"}


def test_bot_ask_answers_alike_for_a_table_and_its_bot(noughts: Any) -> None:
    noughts("bot table build pascal -o bot.table")
    answers = [
        noughts(f"bot ask {spec} --format json", stdin="X...O...X O\n").stdout
        for spec in ("pascal", "table:file=bot.table")
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("line", ["match {} random", "tournament run random {}", "bot ask {}", "bot run {}"])
def test_missing_file_is_an_error_before_anything_is_played(transcript: Transcript, line: str) -> None:
    transcript(line.format("table:file=gone.table"), code=2, env={"NOUGHTS_TOKEN": "nou_x"}, stdin="")


def test_missing_folder_is_named_as_it_was_typed(refusal: Refusal) -> None:
    refusal("bot table build random -o no/such.table", code=1)


def test_failed_build_leaves_an_existing_table_unchanged(noughts: Any, refusal: Refusal, folder: Path) -> None:
    noughts("bot table build pascal -o bot.table")
    before = (folder / "bot.table").read_bytes()
    refusal("bot table build threestage -o bot.table", code=2)
    assert (folder / "bot.table").read_bytes() == before
