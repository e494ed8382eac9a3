"""`noughts tournament tables`: of files, databases, and tournaments on a server."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal, Transcript
from tests.support.background import bots_online
from tests.support.processes import eventually

pytestmark = pytest.mark.processes


@pytest.fixture
def cup_folder(noughts: Any, tmp_path: Path) -> Path:
    """A folder with a tournament of twelve games, as a file and as a database."""
    noughts(
        f"tournament run random first-free three-stage --games 4 --seed 5 --times -o {tmp_path}/games.jsonl"
        f" --db {tmp_path}/games.db --format json"
    )
    return tmp_path


def test_stdout_has_only_the_games_if_they_are_written_there(noughts: Any, tmp_path: Path) -> None:
    result = noughts("match random first-free --games 2 --seed 5 -o - --format json")
    assert [json.loads(line)["first"] for line in result.stdout.splitlines()] == ["random", "first-free"]
    assert json.loads(result.stderr.splitlines()[-1])["games"] == 2


def test_a_file_and_a_database_give_the_same_tables(noughts: Any, cup_folder: Path) -> None:
    file_tables, database_tables = (
        json.loads(noughts(f"tournament tables {cup_folder}/games.{kind} --format json").stdout)
        for kind in ("jsonl", "db")
    )
    # A file of games does not say how and when they were played.
    for name in ("tournament", "schedule", "time", "start_time", "end_time"):
        file_tables.pop(name)
        assert database_tables.pop(name)
    assert file_tables == database_tables
    assert (file_tables["games"], file_tables["void"]) == (12, 0)
    assert [row["rank"] for row in file_tables["standings"]] == [1, 2, 3]
    assert sum(row["points"] for row in file_tables["standings"]) == 12
    assert sum(row["moves"] for row in file_tables["times"]) == sum(
        len(json.loads(line)["moves"]) for line in (cup_folder / "games.jsonl").read_text().splitlines()
    )


def test_the_standings_of_a_run_and_of_its_file_have_the_same_tie_breaks(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    run = json.loads(noughts(f"tournament run random random random --games 2 -o {file} --seed 9 --format json").stdout)
    tables = json.loads(noughts(f"tournament tables {file} --format json").stdout)
    keys = ("name", "wins", "draws", "losses", "points", "rank", "head_to_head", "sonneborn_berger")
    assert [{key: row[key] for key in keys} for row in run["standings"]] == [
        {key: row[key] for key in keys} for row in tables["standings"]
    ]
    assert run["crosstable"]["cells"] == tables["crosstable"]["cells"]
    assert run["crosstable"]["labels"] == tables["crosstable"]["labels"] == [row["name"] for row in tables["standings"]]


@pytest.mark.parametrize("schedule", ["knockout", "swiss --rounds 2"])
def test_tables_of_a_database_have_the_ranks_and_points_of_its_run(noughts: Any, tmp_path: Path, schedule: str) -> None:
    line = f"tournament run random first-free minimax --schedule {schedule} --seed 3 --db {tmp_path}/cup.db"
    run_rows = json.loads(noughts(f"{line} --format json").stdout)["standings"]
    table_rows = json.loads(noughts(f"tournament tables {tmp_path}/cup.db --format json").stdout)["standings"]
    assert [(row["name"], row["rank"], row["points"]) for row in table_rows] == [
        (row["name"], row["rank"], row["points"]) for row in run_rows
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
    assert re.search(r"1 +semifinals +random +0 +random +bye", text)
    assert re.search(rf"2 +final +random +{bracket[1]['winner']} ", text)


def test_pairings_of_a_swiss_tournament_are_listed_by_round(noughts: Any, tmp_path: Path) -> None:
    line = (
        "tournament run random first-free minimax pascal:level=0 nextstep:depth=1 --schedule swiss --rounds 3 --seed 3"
    )
    run = json.loads(noughts(f"{line} --time 1/move --db {tmp_path}/cup.db --format json").stdout)
    tables = json.loads(noughts(f"tournament tables {tmp_path}/cup.db --format json").stdout)
    assert [(row["round"], row["first"], row["second"]) for row in tables["pairings"]] == [
        (row["round"], row["first"], row["second"]) for row in run["pairings"]
    ]
    assert [row["round"] for row in tables["pairings"]] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    byes = [row["first"] for row in tables["pairings"] if row["second"] is None]
    assert len(set(byes)) == 3
    assert tables["byes"] == dict.fromkeys(byes, 1)
    assert {row["name"] for row in tables["standings"] if row["byes"]} == set(byes)
    assert (tables["schedule"], tables["time"], tables["rounds"]) == ("swiss", "1/move", 3)
    assert tables["start_time"] <= tables["end_time"]
    rows = csv.DictReader(StringIO(noughts(f"tournament tables {tmp_path}/cup.db --kind pairings --format csv").stdout))
    assert [row["first"] for row in rows] == [row["first"] for row in run["pairings"]]
    text = noughts(f"tournament tables {tmp_path}/cup.db").stdout
    assert "schedule swiss, rounds 3, time 1/move, began 20" in text
    assert "Rounds" in text
    noughts(f"report {tmp_path}/cup.db -o {tmp_path}")
    page = (tmp_path / "report.html").read_text()
    for fact in (
        "<dt>schedule</dt><dd>swiss",
        "<dt>rounds</dt><dd>3",
        "<dt>time</dt><dd>1/move",
        "<dt>ended</dt><dd>20",
    ):
        assert fact in page
    assert '<section id="pairings">' in page


def test_a_file_of_games_has_no_pairings_and_says_so(noughts: Any, transcript: Transcript, cup_folder: Path) -> None:
    transcript(f"tournament tables {cup_folder}/games.jsonl --kind pairings")
    assert "Rounds" not in noughts(f"tournament tables {cup_folder}/games.jsonl").stdout


def test_tables_show_the_first_and_last_date_of_the_games_of_a_file(
    noughts: Any, transcript: Transcript, tmp_path: Path
) -> None:
    line = {"variant": "tictactoe", "first": "a", "second": "b", "seed": 1, "moves": [0, 3, 1, 4, 2], "result": "1-0"}
    dates = ("2026-03-02", "2026-03-01", "2026-03-04")
    file = tmp_path / "dates.jsonl"
    file.write_text("".join(json.dumps({**line, "termination": "line", "date": date}) + "\n" for date in dates))
    tables = json.loads(noughts(f"tournament tables {file} --format json").stdout)
    assert (tables["start_time"], tables["end_time"]) == ("2026-03-01", "2026-03-04")
    transcript(f"tournament tables {file}")


def test_text_names_every_table(noughts: Any, cup_folder: Path) -> None:
    text = noughts(f"tournament tables {cup_folder}/games.jsonl").stdout
    for heading in ("Standings", "Crosstable", "By side", "By termination", "By opening", "Move times"):
        assert heading in text
    assert "Ranked by points; tie-breaks in this order: head-to-head score, Sonneborn-Berger, wins" in " ".join(
        text.split()
    )


def test_csv_is_one_table_that_must_be_named(noughts: Any, refusal: Refusal, cup_folder: Path) -> None:
    refusal(f"tournament tables {cup_folder}/games.db --format csv", code=2)
    rows = list(
        csv.DictReader(StringIO(noughts(f"tournament tables {cup_folder}/games.db --kind sides --format csv").stdout))
    )
    assert [row["name"] for row in rows][-1] == "all bots"


@pytest.mark.at_length
@pytest.mark.parametrize("suffix", [".sgf", ".pgn", ".csv"])
def test_every_format_of_games_gives_the_same_standings(noughts: Any, cup_folder: Path, suffix: str) -> None:
    noughts(f"records convert {cup_folder}/games.jsonl {cup_folder}/games{suffix}")
    first, second = (
        json.loads(noughts(f"tournament tables {cup_folder}/games{file_suffix} --kind standings --format json").stdout)
        for file_suffix in (".jsonl", suffix)
    )
    assert first["standings"] == second["standings"]


def test_markdown_has_headings_and_says_how_many_rows_are_shown(transcript: Transcript, cup_folder: Path) -> None:
    transcript(f"tournament tables {cup_folder}/games.jsonl --kind standings --limit 2 --format markdown")


def test_a_database_with_several_tournaments_says_which_it_shows(noughts: Any, cup_folder: Path) -> None:
    noughts(f"tournament run random first-free --seed 5 --db {cup_folder}/games.db --title Second --format json")
    result = noughts(f"tournament tables {cup_folder}/games.db --format json")
    assert json.loads(result.stdout)["tournament"] == "Second"
    assert "several tournaments" in result.stderr


@pytest.mark.parametrize(
    "source, code",
    [("nowhere.jsonl", 2), (".", 2), ("empty.jsonl", 1), ("broken.jsonl", 1), ("games.txt", 2)],
)
def test_unusable_sources_of_tables_are_named(
    refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jsonl").write_text("{}\n")
    (tmp_path / "games.txt").write_text("")
    refusal(f"tournament tables {source}", code=code)


def test_a_tournament_at_a_server_is_read_over_the_network(
    noughts: Any, refusal: Refusal, server: str, token: str
) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with bots_online(server, token, one="random", other="minimax"):
        noughts("tournament create cup --games 1100 --seed 4", env=env)
        for bot in ("one", "other"):
            noughts(f"tournament join cup --bot {bot}", env=env)
        noughts("tournament start cup", env=env)

        def show() -> Any:
            return json.loads(noughts("tournament show cup --format json", env=env).stdout)

        finished = eventually(show, lambda tournament: tournament["state"] != "running", 60)
    tables = json.loads(noughts("tournament tables cup --format json", env=env).stdout)
    assert tables["games"] == 1100
    keys = ("name", "rank", "wins", "points", "head_to_head", "sonneborn_berger")
    assert [{key: row[key] for key in keys} for row in tables["standings"]] == [
        {key: row[key] for key in keys} for row in finished["standings"]
    ]
    refusal("tournament tables cap", code=1, env=env)


def test_pairings_and_withdrawals_of_a_tournament_at_a_server_are_shown(noughts: Any, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}

    def json_of(line: str) -> Any:
        return json.loads(noughts(f"tournament {line} --format json", env=env).stdout)

    with bots_online(server, token, one="random", two="random", three="random"):
        noughts("tournament create cup --schedule swiss --rounds 2 --games 10000 --concurrency 1", env=env)
        noughts("tournament join cup --all-online", env=env)
        noughts("tournament start cup", env=env)
        eventually(lambda: json_of("show cup")["games"])
        (bye,) = [row["first"] for row in json_of("show cup")["pairings"] if row["decision"] == "bye"]
        players = {"one", "two", "three"} - {bye}
        noughts(f"tournament withdraw cup {min(players)}", env=env)
        noughts("tournament cancel cup", env=env)
    (pairing, _) = json_of("show cup")["pairings"][:2]
    assert {pairing["first"], pairing["second"]} == players
    text = noughts("tournament show cup", env=env).stdout
    assert "Rounds" in text
    tables = json_of("tables cup")
    assert (tables["schedule"], tables["byes"][bye], list(tables["withdrawn"])) == ("swiss", 1, [min(players)])
    assert f"Withdrawn: {min(players)}" in noughts("tournament tables cup --kind standings", env=env).stdout
