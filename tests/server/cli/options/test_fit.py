"""Ratings from all games at once, of lists and of tournaments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal


@pytest.fixture
def run(noughts: Any, database: str) -> Any:
    """The JSON of a tournament in the database: 40 games of each two of three reference bots."""
    path = database.removeprefix("sqlite:///")
    line = f"tournament run random pascal nextstep:depth=1 --games 40 --concurrency 32 --seed 3 --db {path}"
    return json.loads(noughts(f"{line} --fit --format json").stdout)


def test_a_list_a_tournament_and_its_results_have_the_same_fit(
    run: Any, noughts: Any, server: str, database: str, tmp_path: Any
) -> None:
    list_fit = json.loads(noughts(f"leaderboard --fit --server {server} --format json").stdout)
    assert list_fit.pop("rating_list") == "tictactoe/untimed"
    assert list_fit["games"] == 120
    assert list_fit == run["fit"]
    [tournament] = json.loads(noughts(f"tournament list --server {server} --format json").stdout)["tournaments"]
    name = tournament["tournament"].removeprefix("tournaments/")
    assert (
        json.loads(noughts(f"tournament show {name} --fit --server {server} --format json").stdout)["fit"] == list_fit
    )
    rows = ["white,black,result"]
    for one, others in run["crosstable"]["cells"].items():
        for other, cell in others.items():
            for key, result in (("wins", "1-0"), ("draws", "1/2-1/2"), ("losses", "0-1")):
                rows += [f"{one},{other},{result}"] * cell["first"][key]
    file = tmp_path / "results.csv"
    file.write_text("\n".join(rows))
    file_fit = json.loads(noughts(f"rate {file} --format json").stdout)
    assert {key: file_fit[key] for key in list_fit} == list_fit


def test_the_fit_of_a_list_takes_anchors_and_a_prior(run: Any, noughts: Any, server: str) -> None:
    line = f"leaderboard --fit --server {server}"
    fit = json.loads(noughts(f"{line} --anchor random=1000 --prior --format json").stdout)
    ratings = {player["name"]: player["rating"] for player in fit["players"]}
    assert ratings["random"] == 1000
    assert fit["anchors"] == {"random": 1000}
    assert fit["prior_draws"] == 2
    output = noughts(line).stdout
    assert "tictactoe/untimed: ratings from all games at once" in output
    assert "Moving first is worth +" in output


@pytest.mark.parametrize(
    "options, code",
    [
        ("--prior", 2),
        ("--fit --online", 2),
        ("--fit --anchor nobody=1500", 2),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    run: Any, refusal: Refusal, server: str, options: str, code: int
) -> None:
    refusal(f"leaderboard {options} --server {server}", code=code)


def test_an_empty_list_has_an_empty_fit(noughts: Any, server: str) -> None:
    fit = json.loads(noughts(f"leaderboard --fit --server {server} --format json").stdout)
    assert (fit["players"], fit["games"], fit["advantage"]["value"]) == ([], 0, None)
    assert "No games." in noughts(f"leaderboard --fit --server {server}").stdout
