"""`noughts sprt`: sequential tests of given results, and the number of games that a test will need."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal, Transcript


def test_sprt_of_games_and_of_pairs(noughts: Any) -> None:
    games = json.loads(noughts("sprt --wins 120 --draws 300 --losses 90 --elo1 10 --format json").stdout)
    assert games["llr"] == pytest.approx(1.5875, abs=1e-3)
    assert (games["decision"], games["games"]) == ("continue", 510)
    pairs = json.loads(noughts("sprt --penta 34,54,63,64,75 --elo1 30 --format json").stdout)
    assert (pairs["elo"], pairs["error95"]) == pytest.approx((55.58, 27.65), abs=0.005)
    assert pairs["decision"] == "H1"


def test_sprt_takes_normalized_hypotheses_far_apart(noughts: Any) -> None:
    test = json.loads(noughts("sprt --penta 5,100,500,200,195 --elo1 240 --model normalized --format json").stdout)
    assert test["llr"] == pytest.approx(21.429, abs=1e-3)
    plan = json.loads(noughts("sprt --elo1 240 --model normalized --plan 300 --format json").stdout)
    assert 10 < plan["expected_games"] < plan["games95"] < 100


def test_sprt_plans_for_bots_far_apart(noughts: Any, transcript: Transcript) -> None:
    plan = json.loads(noughts("sprt --plan -50 --draw-rate 0.8 --format json").stdout)
    assert (plan["pass_probability"], round(plan["expected_games"])) == (0, 411)
    transcript("sprt --elo1 300 --plan 600 --draw-rate 0")


def test_sprt_of_only_wins_reports_no_infinity(noughts: Any, transcript: Transcript) -> None:
    document = json.loads(noughts("sprt --wins 27 --elo1 50 --format json").stdout)
    assert (document["elo"], document["error95"], document["decision"]) == (None, None, "H1")
    transcript("sprt --wins 27 --elo1 50")


def test_sprt_plan_estimates_the_number_of_games(noughts: Any, transcript: Transcript) -> None:
    document = json.loads(noughts("sprt --elo1 10 --plan 5 --draw-rate 0.3 --format json").stdout)
    assert document["pass_probability"] == pytest.approx(0.5, abs=0.01)
    assert 7_000 < document["expected_games"] < document["games95"]
    transcript("sprt --elo1 10 --plan 5")


@pytest.mark.parametrize(
    "options",
    [
        "--penta 1,2,3",
        "--penta 1,2,3,4,x",
        "--penta 1,2,3,4,5 --wins 3",
        "--plan 3 --wins 3",
        "--elo0 5 --elo1 5",
        "--elo0 0 --elo1 1e-9 --model normalized",
        "--alpha 1e-320",
        "--model fancy",
        "--plan 700 --draw-rate 0.9",
    ],
)
def test_wrong_options_of_sprt_are_refused(refusal: Refusal, options: str) -> None:
    refusal(f"sprt {options}", code=2)
