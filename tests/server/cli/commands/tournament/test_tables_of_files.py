"""`noughts tournament tables` of files: one that `tournament run -o` wrote has all facts, others name unknown ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RUN_LINE = "tournament run a=random b=random c=random d=first-free e=random --games 2 --seed 1 --times"
UNKNOWN_FACTS = "byes, withdrawn bots and the bracket of a knockout are unknown"


def read_tables(noughts: Any, source: Path) -> dict[str, Any]:
    """Return all tables of a source; its name and its dates are replaced by None."""
    document: dict[str, Any] = json.loads(noughts(f"tournament tables {source} --format json").stdout)
    return document | dict.fromkeys(("tournament", "start_time", "end_time"))


@pytest.mark.parametrize("schedule", ["swiss --rounds 3", "knockout", "danish --rounds 2", "gauntlet"])
def test_tables_of_a_file_equal_those_of_its_database(tmp_path: Path, noughts: Any, schedule: str) -> None:
    database, games, sgf = (tmp_path / f"cup.{kind}" for kind in ("db", "jsonl", "sgf"))
    noughts(f"{RUN_LINE} --schedule {schedule} --db {database} -o {games}")
    expected = read_tables(noughts, database)
    assert read_tables(noughts, games) == expected
    noughts(f"records check {games}")
    noughts(f"records convert {games} {sgf}")
    assert read_tables(noughts, sgf) == expected
    lines = [json.loads(line) for line in games.read_text().splitlines()]
    assert all("moves" in line for line in lines), "every line is a game"
    assert [index for index, line in enumerate(lines) if "tournament" in line] == [len(lines) - 1]


@pytest.mark.parametrize("kind", ["pgn", "csv"])
def test_results_without_a_tournament_say_what_is_unknown(tmp_path: Path, noughts: Any, kind: str) -> None:
    games, results = tmp_path / "games.jsonl", tmp_path / f"games.{kind}"
    noughts(f"{RUN_LINE} --schedule swiss --rounds 3 -o {games}")
    noughts(f"records convert {games} {results}")
    command = f"tournament tables {results} --kind standings"
    for style in ("text", "markdown", "json"):
        assert UNKNOWN_FACTS in " ".join(noughts(f"{command} --format {style}").stdout.split())
    table = noughts(f"{command} --format csv")
    assert UNKNOWN_FACTS in table.stderr
    assert UNKNOWN_FACTS not in table.stdout
    assert UNKNOWN_FACTS not in noughts(f"tournament tables {games} --kind standings --format csv").stderr


def test_a_changed_file_says_that_facts_are_unknown(tmp_path: Path, noughts: Any) -> None:
    games = tmp_path / "games.jsonl"
    noughts(f"{RUN_LINE} --schedule swiss --rounds 3 -o {games}")
    lines = games.read_text().splitlines(keepends=True)
    for part, reason in ((lines[1:], "lacks games"), (lines[:-1], "games only"), (lines * 2, "several tournaments")):
        games.write_text("".join(part))
        text = " ".join(noughts(f"tournament tables {games} --kind standings").stdout.split())
        assert reason in text
        assert UNKNOWN_FACTS in text
