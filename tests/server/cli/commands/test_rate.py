"""`noughts rate`: ratings of results and of files of games."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal, Transcript

RESULTS = """white,black,result
a,b,1-0
b,a,1-0
a,c,1-0
c,a,0-1
b,c,1/2-1/2
c,b,1-0
b,champion,0-1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(RESULTS)
    return path


def test_rate_reports_players_advantage_draws_and_groups(noughts: Any, file: Path) -> None:
    document = json.loads(noughts(f"rate {file} --los --format json").stdout)
    assert document["groups"] == [["champion"], ["a", "c", "b"]]
    champion, first, *_ = document["players"]
    assert (champion["rating"], champion["error95"], champion["group"]) == (None, None, 0)
    assert first["rating"] == pytest.approx(1696.76, abs=0.01)
    assert (first["games"], first["wins"], first["losses"], first["score"]) == (4, 3, 1, 0.75)
    assert document["advantage"]["value"] == pytest.approx(269.11, abs=0.01)
    assert document["draw_rate"] == pytest.approx(1 / 7)
    assert document["los"][1][2] == first["los_next"]


def test_rate_shows_groups_apart_and_says_why(transcript: Transcript, file: Path) -> None:
    table, _, _ = transcript(f"rate {file}").stdout.partition("Moving first")
    assert max(map(len, table.splitlines())) <= 80


def test_rate_keeps_anchors_and_joins_groups_by_a_prior(noughts: Any, file: Path) -> None:
    document = json.loads(noughts(f"rate {file} --prior --anchor b=2000 --format json").stdout)
    ratings = {player["name"]: player["rating"] for player in document["players"]}
    assert ratings["b"] == 2000
    assert ratings["champion"] > 2000
    assert document["prior_draws"] == 2
    assert document["anchors"] == {"b": 2000}


@pytest.mark.parametrize(
    "options",
    [
        "--anchor nobody=1500",
        "--anchor b",
        "--anchor b=nan",
        "--anchor b=1 --anchor b=2",
    ],
)
def test_rate_refuses_invalid_anchors(refusal: Refusal, file: Path, options: str) -> None:
    refusal(f"rate {file} {options}", code=2)


def test_rate_names_the_line_that_cannot_be_read(refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "broken.csv").write_text(RESULTS + "a,b,won\n")
    refusal(f"rate {tmp_path}/broken.csv", code=2)


def test_rate_of_no_games_is_an_error(refusal: Refusal, file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("white,black,result\n")
    refusal(f"rate {tmp_path}/empty.csv", code=2)
    refusal(f"rate {file}.gone", code=1)


def test_rate_reads_the_games_that_a_match_wrote(noughts: Any, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    noughts(f"match minimax nextstep:depth=2 --variant mnk:4,3,3 --games 6 --seed 1 -o {games} --format json")
    document = json.loads(noughts(f"rate {games} --format json").stdout)
    assert {player["name"] for player in document["players"]} == {"minimax", "nextstep:depth=2"}
    assert document["games"] + document["repeats"] == 6


def test_games_lost_by_a_withdrawal_do_not_count(noughts: Any, tmp_path: Path) -> None:
    game = {"variant": "tictactoe", "first": "a", "second": "b", "result": "1-0", "moves": [4, 0, 8], "seed": 1}
    fault = {"bot": "b", "termination": "adjudicated", "reason": "was withdrawn"}
    withdrawn = {**game, "moves": [], "termination": "adjudicated", "fault": fault}
    file = tmp_path / "games.jsonl"
    file.write_text(f"{json.dumps(withdrawn)}\n")
    assert "got no game that counts, expected at least one" in noughts(f"rate {file}", code=2).stderr
    file.write_text(f"{json.dumps(game)}\n{json.dumps(withdrawn)}\n")
    first, _ = json.loads(noughts(f"rate {file} --prior --format json").stdout)["players"]
    assert (first["name"], first["games"]) == ("a", 1)
