"""Tables of a file that `tournament run -o` wrote, and what those of other formats say that they cannot know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RUN = "tournament run a=random b=random c=random d=first-free e=random --games 2 --seed 1 --times"
UNKNOWN = "byes, withdrawn bots and the bracket of a knockout are unknown"


def tables(noughts: Any, source: Path) -> dict[str, Any]:
    """All tables of a source, without its name and its dates."""
    document: dict[str, Any] = json.loads(noughts(f"tournament tables {source} --format json").stdout)
    return document | dict.fromkeys(("tournament", "start_time", "end_time"))


@pytest.mark.parametrize("schedule", ["swiss --rounds 3", "knockout", "danish --rounds 2", "gauntlet"])
def test_a_written_file_has_what_its_database_has(tmp_path: Path, noughts: Any, schedule: str) -> None:
    database, games, sgf = (tmp_path / f"cup.{kind}" for kind in ("db", "jsonl", "sgf"))
    noughts(f"{RUN} --schedule {schedule} --db {database} -o {games}")
    expected = tables(noughts, database)
    assert tables(noughts, games) == expected
    noughts(f"records check {games}")
    noughts(f"records convert {games} {sgf}")
    assert tables(noughts, sgf) == expected
    lines = [json.loads(line) for line in games.read_text().splitlines()]
    assert all("moves" in line for line in lines), "every line is a game"
    assert ["tournament" in line for line in lines] == [False] * (len(lines) - 1) + [True]


@pytest.mark.parametrize("kind", ["pgn", "csv"])
def test_results_without_a_tournament_say_what_is_unknown(tmp_path: Path, noughts: Any, kind: str) -> None:
    games, results = tmp_path / "games.jsonl", tmp_path / f"games.{kind}"
    noughts(f"{RUN} --schedule swiss --rounds 3 -o {games}")
    noughts(f"records convert {games} {results}")
    command = f"tournament tables {results} --kind standings"
    for style in ("text", "markdown", "json"):
        assert UNKNOWN in " ".join(noughts(f"{command} --format {style}").stdout.split())
    table = noughts(f"{command} --format csv")
    assert UNKNOWN in table.stderr
    assert UNKNOWN not in table.stdout
    assert UNKNOWN not in noughts(f"tournament tables {games} --kind standings --format csv").stderr


def test_a_part_of_a_file_is_not_taken_for_the_whole(tmp_path: Path, noughts: Any) -> None:
    games = tmp_path / "games.jsonl"
    noughts(f"{RUN} --schedule swiss --rounds 3 -o {games}")
    lines = games.read_text().splitlines(keepends=True)
    for part, said in ((lines[1:], "lacks games"), (lines[:-1], "games only"), (lines * 2, "several tournaments")):
        games.write_text("".join(part))
        text = " ".join(noughts(f"tournament tables {games} --kind standings").stdout.split())
        assert said in text
        assert UNKNOWN in text
