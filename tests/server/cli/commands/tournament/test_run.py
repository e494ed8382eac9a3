"""`noughts tournament run`: standings and crosstable of games on this machine."""

from __future__ import annotations

import json
from typing import Any

from tests.server.cli.conftest import total_score

SCORE_KEYS = {"wins", "draws", "losses"}


def test_tournament_prints_standings_and_crosstable(noughts: Any) -> None:
    line = "tournament run random Strong=minimax three-stage --games 4 --concurrency 6 --seed 2 --format json"
    document = json.loads(noughts(line).stdout)
    assert list(document)[:3] == ["games", "standings", "crosstable"]
    assert document["games"] == 12
    assert document["seed"] == 2
    for row in document["standings"]:
        assert list(row)[:6] == ["name", "wins", "draws", "losses", "points", "rating"]
        assert set(row) >= {"rank", "head_to_head", "sonneborn_berger"}
        assert row["points"] == row["wins"] + row["draws"] / 2
        cells = document["crosstable"]["cells"][row["name"]]
        assert total_score(*cells.values()) == {key: row[key] for key in SCORE_KEYS}
        for cell in cells.values():
            assert total_score(cell["first"], cell["second"]) == {key: cell[key] for key in SCORE_KEYS}
            assert sum(cell["first"].values()) == sum(cell["second"].values()) == 2
    names = [row["name"] for row in document["standings"]]
    assert sorted(names) == ["Strong", "random", "three-stage"]
    assert document["crosstable"]["labels"] == names
    assert [row["points"] for row in document["standings"]] == sorted(
        (row["points"] for row in document["standings"]), reverse=True
    )


def test_tournament_on_another_board(noughts: Any) -> None:
    line = "tournament run random nextstep:depth=1 --variant mnk:5,4,4 --format json --seed 1"
    document = json.loads(noughts(line).stdout)
    assert document["variant"] == "mnk:5,4,4"
    assert document["games"] == 2


def test_tournament_is_stored_in_the_named_database(noughts: Any, database: str) -> None:
    noughts(f"tournament run random three-stage --db {database}")
    report = json.loads(noughts(f"ratings rebuild --db {database} --format json").stdout)
    history = {"points": 4, "corrected": 0}
    assert report == {"games": 2, "ratings": 2, "differences": [], "history": history}


def test_text_fits_eighty_columns(noughts: Any) -> None:
    output = noughts("tournament run random minimax three-stage", env={"COLUMNS": "80"}).stdout
    assert max(map(len, output.splitlines())) <= 80
    assert "Crosstable" in output
    assert "Leaderboard" in output


def test_dry_run_warns_of_a_swiss_that_may_end_early(noughts: Any) -> None:
    bots = " ".join(f"B{number}=random" for number in range(13))
    result = noughts(f"tournament run {bots} --schedule swiss --rounds 8 --time 1/move --dry-run --format json")
    assert "8 rounds are more than half of 13 bots: a Swiss ends early if" in result.stderr
