"""Ratings from all games at once, of lists and of tournaments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal


@pytest.fixture
def played(noughts: Any, database: str) -> Any:
    """The ratings of three reference bots that have played each other 40 times each in the database."""
    path = database.removeprefix("sqlite:///")
    line = f"tournament run random pascal nextstep:depth=1 --games 40 --concurrency 32 --seed 3 --db {path}"
    return json.loads(noughts(f"{line} --fit --format json").stdout)


def test_a_list_a_tournament_and_a_file_of_its_games_have_one_fit(
    played: Any, noughts: Any, server: str, database: str, tmp_path: Any
) -> None:
    listed = json.loads(noughts(f"leaderboard --fit --server {server} --format json").stdout)
    assert listed.pop("rating_list") == "tictactoe/untimed"
    assert listed["games"] == 120
    assert listed == played["fit"]
    [tournament] = json.loads(noughts(f"tournament list --server {server} --format json").stdout)["tournaments"]
    name = tournament["tournament"].removeprefix("tournaments/")
    assert json.loads(noughts(f"tournament show {name} --fit --server {server} --format json").stdout)["fit"] == listed
    rows = ["white,black,result"]
    for one, others in played["crosstable"]["cells"].items():
        for other, cell in others.items():
            for key, result in (("wins", "1-0"), ("draws", "1/2-1/2"), ("losses", "0-1")):
                rows += [f"{one},{other},{result}"] * cell["first"][key]
    file = tmp_path / "results.csv"
    file.write_text("\n".join(rows))
    by_file = json.loads(noughts(f"rate {file} --format json").stdout)
    assert {key: by_file[key] for key in listed} == listed


def test_the_fit_of_a_list_takes_anchors_and_a_prior(played: Any, noughts: Any, server: str) -> None:
    line = f"leaderboard --fit --server {server}"
    held = json.loads(noughts(f"{line} --anchor random=1000 --prior --format json").stdout)
    ratings = {player["name"]: player["rating"] for player in held["players"]}
    assert ratings["random"] == 1000
    assert held["anchors"] == {"random": 1000}
    assert held["prior_draws"] == 2
    shown = noughts(line).stdout
    assert "tictactoe/untimed: ratings from all games at once" in shown
    assert "Moving first is worth +" in shown


@pytest.mark.parametrize(
    "options, code",
    [
        ("--prior", 2),
        ("--fit --online", 2),
        ("--fit --anchor nobody=1500", 2),
    ],
)
def test_what_does_not_go_together_is_refused(
    played: Any, refusal: Refusal, server: str, options: str, code: int
) -> None:
    refusal(f"leaderboard {options} --server {server}", code=code)


def test_a_list_of_nobody_has_no_fit(noughts: Any, server: str) -> None:
    told = json.loads(noughts(f"leaderboard --fit --server {server} --format json").stdout)
    assert (told["players"], told["games"], told["advantage"]["value"]) == ([], 0, None)
    assert "No games." in noughts(f"leaderboard --fit --server {server}").stdout
