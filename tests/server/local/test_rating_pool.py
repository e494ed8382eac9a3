"""The reference pool: its bots, and what it says a bot is worth."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import parse_variant
from noughts_server.local.reference_pools import REFERENCE_POOLS
from tests.support.processes import environment, json_of, run_noughts

pytestmark = pytest.mark.at_length


def estimate(line: str, code: int = 0) -> Any:
    return (
        json_of(f"estimate {line}", environment())
        if not code
        else run_noughts(["estimate", *line.split()], environment(), code=code)
    )


def test_every_pool_is_calibrated_and_its_bots_play_its_variant() -> None:
    for variant, pool in REFERENCE_POOLS.items():
        ratings = pool.ratings
        assert ratings["random"] == 1000 == min(ratings.values())
        for name in ratings:
            make_bot(parse_spec(name), parse_variant(variant))


@pytest.mark.parametrize("name", ["three-stage", "minimax"])
def test_an_estimate_is_within_its_error_of_ten_thousand_games(name: str) -> None:
    (found,) = estimate(f"{name} --variants tictactoe --games 100 --seed 1")["variants"]
    assert found["games"] == 600
    assert 0 < found["error95"] < 40
    assert abs(found["rating"] - REFERENCE_POOLS["tictactoe"].ratings[name]) <= found["error95"]
    assert {each["name"] for each in found["opponents"]} == set(REFERENCE_POOLS["tictactoe"].ratings) - {name}


def test_a_rating_explains_the_points_off_all_opponents() -> None:
    """The bot sweeps four opponents. The check leaves out the first-move advantage, so it allows 60 Elo."""
    from scipy.optimize import brentq

    (found,) = estimate("minimax:depth=3 --variants mnk:7,7,4 --games 6 --seed 1")["variants"]
    assert 6 in [each["points"] for each in found["opponents"]]

    def surplus(rating: float) -> float:
        chances = [1 / (1 + 10 ** ((each["rating"] - rating) / 400)) for each in found["opponents"]]
        return float(found["points"] - 6 * sum(chances))

    assert found["rating"] == pytest.approx(brentq(surplus, 0, 4000), abs=60)


def test_an_estimate_names_the_weakest_variant_and_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "rating.svg"
    source = tmp_path / "mine.py"
    source.write_text(
        "from noughts_bots import Bot\nimport time\n"
        "class Mine(Bot):\n"
        "    def choose(self, p):\n"
        "        if len(p.moves) > 7 and p.variant.gravity:\n            time.sleep(0.01)\n"
        "        if not p.variant.gravity and len(p.moves) > 4:\n            raise ValueError('lost my way')\n"
        "        return p.free[-1] if p.variant.gravity else p.free[0]\n"
    )
    line = f"py:{source}:Mine --games 2 --seed 3 --variants connect4"
    found = estimate(f"{line},tictactoe --svg {picture}")
    assert [each["variant"] for each in found["variants"]] == ["connect4", "tictactoe"]
    assert found["weakest"] in ("tictactoe", "connect4")
    slowest = found["variants"][0]["slowest"]
    assert slowest[0]["milliseconds"] >= 10
    assert len(slowest) == 5
    assert any("lost my way" in fault for fault in found["variants"][1]["faults"])
    root = ElementTree.parse(picture).getroot()
    assert "Mine in the reference pool" in "".join(root.itertext())
    assert "minimax:depth=4" in picture.read_text()
    shown = run_noughts(["estimate", *line.split()], environment()).stdout
    assert "in the reference pool of connect4" in shown


def test_what_cannot_be_exercised_is_refused(tmp_path: Path) -> None:
    assert "--variants chess: expected one or more of tictactoe" in estimate("random --variants chess", code=2).stderr
    assert "Choose others" in estimate("three-stage --variants connect4 --games 2", code=1).stderr
    found = json.loads(
        run_noughts(
            ["gym", "first-free", "--variants", "tictactoe", "--games", "2", "--format", "json"], environment()
        ).stdout
    )
    assert found["weakest"] is None


def test_the_former_name_gym_works_the_same_and_no_help_lists_it() -> None:
    line = ["first-free", "--variants", "tictactoe", "--games", "2", "--seed", "1", "--format", "json"]
    documents = [json.loads(run_noughts([name, *line], environment()).stdout) for name in ("estimate", "gym")]
    for document in documents:
        for variant in document["variants"]:
            del variant["seconds"], variant["slowest"]
    assert documents[0] == documents[1]
    assert " gym " not in run_noughts(["--help"], environment()).stdout
