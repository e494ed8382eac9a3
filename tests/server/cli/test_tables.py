"""`noughts tournament tables`: of files, databases, and tournaments at a server."""

from __future__ import annotations

import csv
import json
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.background import online

pytestmark = pytest.mark.processes


@pytest.fixture
def played(noughts: Any, tmp_path: Path) -> Path:
    """A folder with one small tournament, as a file and as a database."""
    noughts(
        f"tournament run random first-free three-stage --games 4 --seed 5 --times -o {tmp_path}/games.jsonl"
        f" --db {tmp_path}/games.db --format json"
    )
    return tmp_path


def test_games_on_the_standard_output_have_it_for_themselves(noughts: Any, tmp_path: Path) -> None:
    told = noughts("match random first-free --games 2 --seed 5 -o - --format json")
    assert [json.loads(line)["first"] for line in told.stdout.splitlines()] == ["random", "first-free"]
    assert json.loads(told.stderr.splitlines()[-1])["games"] == 2


def test_a_file_and_a_database_give_the_same_tables(noughts: Any, played: Path) -> None:
    of_file, of_database = (
        json.loads(noughts(f"tournament tables {played}/games.{kind} --format json").stdout) for kind in ("jsonl", "db")
    )
    of_file.pop("tournament")
    of_database.pop("tournament")
    assert of_file == of_database
    assert (of_file["games"], of_file["void"]) == (12, 0)
    assert [row["rank"] for row in of_file["standings"]] == [1, 2, 3]
    assert sum(row["points"] for row in of_file["standings"]) == 12
    assert sum(row["moves"] for row in of_file["times"]) == sum(
        len(json.loads(line)["moves"]) for line in (played / "games.jsonl").read_text().splitlines()
    )


def test_the_standings_of_a_run_and_of_its_file_have_the_same_tie_breaks(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    run = json.loads(noughts(f"tournament run random random random --games 2 -o {file} --seed 9 --format json").stdout)
    read = json.loads(noughts(f"tournament tables {file} --format json").stdout)
    keys = ("name", "wins", "draws", "losses", "points", "rank", "head_to_head", "sonneborn_berger")
    assert [{key: row[key] for key in keys} for row in run["standings"]] == [
        {key: row[key] for key in keys} for row in read["standings"]
    ]
    assert run["crosstable"]["cells"] == read["crosstable"]["cells"]
    assert run["crosstable"]["labels"] == read["crosstable"]["labels"] == [row["name"] for row in read["standings"]]


@pytest.mark.parametrize("schedule", ["knockout", "swiss --rounds 2"])
def test_byes_and_how_far_each_came_are_read_from_a_database(noughts: Any, tmp_path: Path, schedule: str) -> None:
    line = f"tournament run random first-free minimax --schedule {schedule} --seed 3 --db {tmp_path}/cup.db"
    run = json.loads(noughts(f"{line} --format json").stdout)["standings"]
    read = json.loads(noughts(f"tournament tables {tmp_path}/cup.db --format json").stdout)["standings"]
    assert [(row["name"], row["rank"], row["points"]) for row in read] == [
        (row["name"], row["rank"], row["points"]) for row in run
    ]


def test_bracket_of_a_knockout_is_shown_round_by_round(noughts: Any) -> None:
    line = "tournament run random first-free minimax --schedule knockout --seed 3"
    bracket = json.loads(noughts(f"{line} --format json").stdout)["bracket"]
    assert [(match["round"], match["first"], match["second"]) for match in bracket[:2]] == [
        (1, "random", None),
        (1, "minimax", "first-free"),
    ]
    assert (bracket[0]["decision"], bracket[0]["winner"]) == ("bye", "random")
    assert {bracket[2]["first"], bracket[2]["second"]} == {"random", bracket[1]["winner"]}
    text = noughts(line).stdout
    assert "semifinals  random" in text
    assert f"final       random - {bracket[1]['winner']}" in text


def test_text_names_every_table(noughts: Any, played: Path) -> None:
    text = noughts(f"tournament tables {played}/games.jsonl").stdout
    for heading in ("Standings", "Crosstable", "By side", "By termination", "By opening", "Move times"):
        assert heading in text
    assert "Tie-breaks in this order: points, head to head, Sonneborn-Berger, wins" in " ".join(text.split())


def test_csv_is_one_table_and_asks_for_it(noughts: Any, played: Path) -> None:
    refused = noughts(f"tournament tables {played}/games.db --format csv", code=2)
    assert "--kind" in refused.stderr
    rows = list(
        csv.DictReader(StringIO(noughts(f"tournament tables {played}/games.db --kind sides --format csv").stdout))
    )
    assert [row["name"] for row in rows][-1] == "all bots"


@pytest.mark.parametrize("suffix", [".sgf", ".pgn", ".csv"])
def test_every_format_of_games_gives_the_same_standings(noughts: Any, played: Path, suffix: str) -> None:
    noughts(f"records convert {played}/games.jsonl {played}/games{suffix}")
    first, second = (
        json.loads(noughts(f"tournament tables {played}/games{each} --kind standings --format json").stdout)
        for each in (".jsonl", suffix)
    )
    assert first["standings"] == second["standings"]


def test_markdown_and_limits(noughts: Any, played: Path) -> None:
    text = noughts(f"tournament tables {played}/games.db --kind standings --limit 2 --format markdown").stdout
    assert text.startswith("## Standings\n\n| \\# | bot |")
    assert "The first 2 of 3 entries." in text


def test_a_database_with_several_tournaments_says_which_it_shows(noughts: Any, played: Path) -> None:
    noughts(f"tournament run random first-free --seed 5 --db {played}/games.db --title Second --format json")
    shown = noughts(f"tournament tables {played}/games.db --format json")
    assert json.loads(shown.stdout)["tournament"] == "Second"
    assert "several tournaments" in shown.stderr


@pytest.mark.parametrize(
    "source, code, told",
    [
        ("nowhere.jsonl", 2, "no such file"),
        (".", 2, "got a folder"),
        ("empty.jsonl", 1, "no game of it has been played yet"),
        ("broken.jsonl", 1, "line 1"),
        ("games.txt", 2, "expected one that ends in .jsonl"),
    ],
)
def test_what_is_no_tournament_is_named(
    noughts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, code: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jsonl").write_text("{}\n")
    (tmp_path / "games.txt").write_text("")
    assert told in " ".join(noughts(f"tournament tables {source}", code=code).stderr.split())


def test_a_tournament_at_a_server_is_read_over_the_network(noughts: Any, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with online(server, token, one="random", other="minimax"):
        noughts("tournament create cup --games 1100 --seed 4", env=env)
        for bot in ("one", "other"):
            noughts(f"tournament join cup --bot {bot}", env=env)
        noughts("tournament start cup", env=env)
        deadline = time.monotonic() + 60
        while (shown := json.loads(noughts("tournament show cup --format json", env=env).stdout))["state"] == "running":
            assert time.monotonic() < deadline
            time.sleep(0.1)
    tables = json.loads(noughts("tournament tables cup --format json", env=env).stdout)
    assert tables["games"] == 1100
    for ours, theirs in zip(tables["standings"], shown["standings"], strict=True):
        for key in ("name", "rank", "wins", "points", "head_to_head", "sonneborn_berger"):
            assert ours[key] == theirs[key]
    missing = noughts("tournament tables cap", code=1, env=env)
    assert "tournaments/cap" in missing.stderr
