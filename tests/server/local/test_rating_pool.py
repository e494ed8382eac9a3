"""The reference pools of `noughts estimate`: their bots, and the ratings computed from games against them."""

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


def estimate(line: str) -> Any:
    """Return the JSON that `noughts estimate` prints."""
    return json_of(f"estimate {line}", environment())


def error_of_estimate(line: str, code: int) -> str:
    """Return the error of a `noughts estimate` that fails with this exit code."""
    return run_noughts(["estimate", *line.split()], environment(), code=code).stderr


def test_every_pool_is_calibrated_and_its_bots_play_its_variant() -> None:
    for variant, pool in REFERENCE_POOLS.items():
        ratings = pool.ratings
        assert next(iter(ratings.values())) == 1000 == min(ratings.values())
        for name in ratings:
            make_bot(parse_spec(name), parse_variant(variant))


@pytest.mark.parametrize("name", ["level:elo=1200", "level:elo=1400"])
def test_an_estimate_is_within_its_error_of_ten_thousand_games(name: str) -> None:
    (result,) = estimate(f"{name} --variants tictactoe --games 120 --seed 1")["variants"]
    assert result["games"] == 600
    assert 0 < result["error95"] < 40
    assert abs(result["rating"] - REFERENCE_POOLS["tictactoe"].ratings[name]) <= result["error95"]
    assert {bot["name"] for bot in result["opponents"]} == set(REFERENCE_POOLS["tictactoe"].ratings) - {name}


def test_rating_explains_the_points_against_all_opponents() -> None:
    """The bot wins all games against an opponent. The check ignores the first-move advantage, so it allows 60 Elo."""
    from scipy.optimize import brentq

    (result,) = estimate("minimax:depth=3 --variants mnk:7,7,4 --games 6 --seed 1")["variants"]
    assert 6 in [opponent["points"] for opponent in result["opponents"]]

    def surplus(rating: float) -> float:
        chances = [1 / (1 + 10 ** ((opponent["rating"] - rating) / 400)) for opponent in result["opponents"]]
        return float(result["points"] - 6 * sum(chances))

    assert result["rating"] == pytest.approx(brentq(surplus, 0, 4000), abs=60)


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
    document = estimate(f"{line},tictactoe --svg {picture}")
    assert [result["variant"] for result in document["variants"]] == ["connect4", "tictactoe"]
    assert document["weakest"] in ("tictactoe", "connect4")
    slowest = document["variants"][0]["slowest"]
    assert slowest[0]["milliseconds"] >= 10
    assert len(slowest) == 5
    assert any("lost my way" in fault for fault in document["variants"][1]["faults"])
    root = ElementTree.parse(picture).getroot()
    assert "Mine in the reference pool" in "".join(root.itertext())
    assert "level:elo=1400" in picture.read_text()
    output = run_noughts(["estimate", *line.split()], environment()).stdout
    assert "in the reference pool of connect4" in output


def test_estimate_of_an_unknown_variant_or_bot_is_refused() -> None:
    assert "--variants chess: expected one or more of tictactoe" in error_of_estimate("random --variants chess", code=2)
    assert "Choose others" in error_of_estimate("three-stage --variants connect4 --games 2", code=1)


def test_estimate_in_one_variant_names_no_weakest_variant() -> None:
    assert estimate("first-free --variants tictactoe --games 2")["weakest"] is None


def test_the_former_name_gym_works_the_same_and_no_help_lists_it() -> None:
    line = ["first-free", "--variants", "tictactoe", "--games", "2", "--seed", "1", "--format", "json"]
    documents = [json.loads(run_noughts([name, *line], environment()).stdout) for name in ("estimate", "gym")]
    for document in documents:
        for variant in document["variants"]:
            del variant["seconds"], variant["slowest"]
    assert documents[0] == documents[1]
    assert " gym " not in run_noughts(["--help"], environment()).stdout
