"""`--openings` in local runs."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.children.field import PROGRAMS
from tests.support.hosting import compile_library
from tests.support.root import ROOT

OPENING = [112, 113, 97, 0, 16]


def game_records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def program(name: str, *arguments: str) -> str:
    return shlex.join([sys.executable, str(PROGRAMS / name), *arguments])


def test_every_kind_of_player_continues_an_opening(noughts: Any, tmp_path: Path) -> None:
    # All these players take the lowest free cell, so all games from one opening have the same moves.
    book = tmp_path / "book.txt"
    book.write_text(f"# one opening\n{OPENING}\n")
    library = compile_library(ROOT / "bots/examples/c/lowest.c", tmp_path)
    specs = {
        "remote": "first-free",
        "plugin": f"py:{PROGRAMS / 'plugin.py'}:Misbehaving",
        "program": f"exec:{program('player.py', str(tmp_path / 'pids'), 'honest')}",
        "library": f"dll:{library}",
        "lines": f"lines:{program('liner.py', 'honest', str(tmp_path))}",
        "engine": f"gomocup:{program('engine.py', 'honest', str(tmp_path))}",
    }
    games = tmp_path / "games.jsonl"
    words = [f"{label}={spec}" for label, spec in specs.items()]
    result = noughts(
        f"tournament run {shlex.join(words)} --variant gomoku --openings {book} --no-lock --concurrency 4"
        f" -o {games} --times --format json"
    )
    document = json.loads(result.stdout)
    assert document["openings"] == {
        "kind": "list",
        "symmetries": False,
        "name": "book.txt",
        "count": 1,
        "order": "sequential",
    }
    records = game_records(games)
    assert len(records) == 30
    assert document["faults"] == []
    assert {tuple(game["moves"][:6]) for game in records} == {(*OPENING, 1)}
    assert len({tuple(game["moves"]) for game in records}) == 1
    assert all(game["opening"] == OPENING and game["times_ms"][:5] == [0.0] * 5 for game in records)
    assert all(len(game["times_ms"]) == len(game["moves"]) for game in records)


def test_a_pair_has_one_opening_and_a_seed_repeats_the_file(noughts: Any, tmp_path: Path) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file, concurrency in zip(files, (1, 32), strict=True):
        noughts(
            f"tournament run random first-free three-stage --games 6 --openings random:2 --symmetries --seed 9"
            f" --concurrency {concurrency} -o {file}"
        )
    assert files[0].read_bytes() == files[1].read_bytes()
    by_pair: dict[tuple[str, ...], list[list[int]]] = {}
    for game in game_records(files[0]):
        assert game["moves"][:2] == game["opening"]
        by_pair.setdefault(tuple(sorted((game["first"], game["second"]))), []).append(game["opening"])
    for openings in by_pair.values():
        assert openings[::2] == openings[1::2]
        assert len({tuple(opening) for opening in openings}) > 1


def test_a_book_that_comes_with_the_package_is_called_by_its_name(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    output = noughts(
        f"match fives first-free --variant gomoku --games 4 --openings balanced15 --openings-order random -o {file}"
    ).stdout
    assert "Openings balanced15 (240), random" in output
    assert all(4 <= len(game["opening"]) <= 7 for game in game_records(file))


@pytest.mark.parametrize(
    "options",
    [
        "--openings nothing.txt",
        "--openings random:x",
        "--openings random:9",
        "--openings balanced15",
        "--symmetries",
        "--openings-order random",
        "--openings random:2 --openings-order random",
        "--openings balanced15 --openings-order up",
        "--variant gomoku --opening-rule swap2 --openings random:3",
        "--variant gomoku --opening-rule swap2 --openings balanced15",
    ],
)
def test_invalid_openings_are_refused(refusal: Refusal, options: str) -> None:
    refusal(f"match random random {options}", code=2)


def test_the_line_of_an_illegal_opening_is_named(refusal: Refusal, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("0,0\n1,1, 1,1\n")
    refusal(f"match random random --openings {book}", code=2)


def test_a_run_is_resumed_with_its_openings_after_their_file_is_deleted(
    noughts: Any, refusal: Refusal, tmp_path: Path
) -> None:
    book, file = tmp_path / "book.txt", tmp_path / "games.jsonl"
    book.write_text("b2\na1\nc3 a1\n")
    run = f"match random first-free --db {tmp_path / 'cup.db'}"
    noughts(f"{run} --games 4 --seed 1 --openings {book}")
    book.write_text("b2\n")
    refusal(f"{run} --games 6 --resume --openings {book}", code=2)
    refusal(f"{run} --games 6 --resume --openings random:2", code=2)
    book.unlink()
    noughts(f"{run} --games 6 --resume -o {file}")
    assert [game["opening"] for game in game_records(file)] == [[4], [4], [6], [6], [2, 6], [2, 6]]


def test_a_folder_of_openings_is_refused(refusal: Refusal, tmp_path: Path) -> None:
    refusal(f"match random random --openings {tmp_path}", code=2)
