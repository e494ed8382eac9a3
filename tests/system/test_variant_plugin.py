"""A variant of another package, which is built and installed into a folder next to faulty variants."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import environment, install_package, json_of_process, run_noughts, with_packages
from tests.support.root import ROOT
from tests.support.shared import make_once

pytestmark = pytest.mark.at_length

EXAMPLE = ROOT / "examples" / "variant-square-four"

FAULTY = {
    "broken": "there_is_no_such_module:VARIANT",
    "raises": "noughts_faulty:raises",
    "number": "noughts_faulty:NUMBER",
    "other-name": "noughts_faulty:other_name",
    "no-lines": "noughts_faulty:no_lines",
    "stuck": "noughts_faulty:stuck",
    "wide": "noughts_faulty:wide",
    "no-moves": "noughts_faulty:no_moves",
    "connect4": "noughts_faulty:other_name",
    "Upper": "noughts_faulty:other_name",
}
FAULTY_MODULE = """
from noughts_referee.rules import Variant

NUMBER = 7

def raises():
    raise RuntimeError("out of squares")

def other_name():
    return Variant("another", 2, 2, (3,))

def no_lines():
    return Variant("no-lines", 2, 2, ())

def no_moves():
    return Variant("no-moves", 2, 1, (3,), forbids=lambda own, opponent, cell, side: "never")

def stuck():
    return Variant("stuck", 2, 1, (3,), supports=(2, 1))

def wide():
    return Variant("wide", 53, 1, (3,))

def tall():
    return Variant("tall", 1, 900, (3,))
"""

# A variant of these tests that is installed like any other.
FORBIDDING = "centre-later"
CENTRE_BOT = """
from noughts_bots import Bot

class Centre(Bot):
    def choose(self, position):
        return 4 if not position.own >> 4 & 1 and not position.opponent >> 4 & 1 else position.free[0]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has installed the example, and a package full of faults."""
    return with_packages(make_once(tmp_path_factory, "variants", install))


def install(target: Path) -> None:
    install_package(EXAMPLE, target)
    (target / "noughts_faulty.py").write_text(FAULTY_MODULE)
    metadata = target / "noughts_faulty-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: noughts-faulty\nVersion: 1.0\n")
    shutil.copy(ROOT / "tests" / "support" / "forbidding.py", target / "noughts_forbidding.py")
    variants = {**FAULTY, FORBIDDING: "noughts_forbidding:centre_later", "tall": "noughts_faulty:tall"}
    points = "".join(f"{name} = {value}\n" for name, value in variants.items())
    (metadata / "entry_points.txt").write_text(f"[noughts.variants]\n{points}")


def test_a_variant_of_a_plugin_is_played_to_its_end(installed: dict[str, str], tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    line = f"match random first-free --variant square-four --games 40 --concurrency 8 --seed 3 -o {games}"
    match = json_of_process(line, installed)
    assert (match["games"], match["variant"]) == (40, "square-four")
    assert set(match["terminations"]) <= {"line", "board_full"}
    records = [json.loads(text) for text in games.read_text().splitlines()]
    won = [game for game in records if game["termination"] == "line"]
    assert won
    for game in records:
        assert bool(game["winning_cells"]) == (game["termination"] == "line")
    for game in won:
        mover = (len(game["moves"]) - 1) % 2
        assert game["moves"][-1] in game["winning_cells"]
        assert set(game["winning_cells"]) <= set(game["moves"][mover::2])
        # Four winning cells are the corners of a square: turning them by 90 degrees gives the same four cells.
        if len(game["winning_cells"]) == 4:
            places = [complex(cell % 5, cell // 5) for cell in game["winning_cells"]]
            middle = sum(places) / 4
            arms = {place - middle for place in places}
            assert {arm * 1j for arm in arms} == arms


def test_a_bot_that_searches_finds_the_last_corner(installed: dict[str, str]) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "noughts_server.cli", "bot", "ask", "nextstep:depth=1", "--variant", "square-four"],
        input="..X....O..X...X.....O.... X\n",
        env=installed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "c1" in process.stdout.split()


def test_a_forbidden_move_is_never_a_candidate_and_loses(installed: dict[str, str], tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    line = f"match random fives --variant {FORBIDDING} --games 100 --concurrency 16 --seed 3 -o {games}"
    assert set(json_of_process(line, installed)["terminations"]) <= {"line", "board_full"}
    assert 4 not in {json.loads(text)["moves"][0] for text in games.read_text().splitlines()}

    bot = tmp_path / "centre.py"
    bot.write_text(CENTRE_BOT)
    match = json_of_process(
        f"match py:{bot}:Centre random --variant {FORBIDDING} --games 2 --seed 3 -o {games}", installed
    )
    first, second = (json.loads(text) for text in games.read_text().splitlines())
    assert (first["moves"], first["result"], first["termination"]) == ([], "0-1", "illegal_move")
    assert len(second["moves"]) > 1
    assert match["terminations"]["illegal_move"] == 1

    result = run_noughts(["match", "minimax", "random", "--variant", FORBIDDING], installed, code=2)
    assert "which forbids moves" in result.stderr


def test_variants_are_listed_with_plugins_and_their_faults(installed: dict[str, str]) -> None:
    document = json_of_process("variants", installed)
    variants = {row["name"]: row for row in document["variants"]}
    assert variants["square-four"]["plugin"] == "noughts-square-four"
    # 30 squares with sides along the board, 20 turned ones.
    assert (variants["square-four"]["cells"], variants["square-four"]["lines"]) == (25, 50)
    assert variants["connect4"]["cells"] == 42
    assert variants["tall"]["cells"] == 900
    reasons = {fault["name"]: fault["reason"] for fault in document["faulty"]}
    assert set(reasons) == set(FAULTY)
    assert "ModuleNotFoundError" in reasons["broken"]
    assert "RuntimeError: out of squares" in reasons["raises"]
    assert "gives 7" in reasons["number"]
    assert "called 'another'" in reasons["other-name"]
    assert "at least one" in reasons["no-lines"]
    assert "`supports` leaves cells that can never be played" in reasons["stuck"]
    assert "a board has at most 52 columns" in reasons["wide"]
    assert "leaves the first side no move" in reasons["no-moves"]
    assert "name of a built-in variant" in reasons["connect4"]
    assert "lowercase letters" in reasons["Upper"]
    text = run_noughts(["variants"], installed)
    assert "noughts-square-four" in text.stdout
    assert "Warning: variant 'broken' is left out" in text.stderr


def test_a_faulty_plugin_is_refused_by_its_name_and_breaks_no_other(installed: dict[str, str]) -> None:
    result = run_noughts(["match", "random", "random", "--variant", "raises"], installed, code=2)
    assert "noughts-faulty" in result.stderr
    assert "out of squares" in result.stderr
    assert (
        json_of_process("match random random --variant connect4 --games 2 --seed 1", installed)["variant"] == "connect4"
    )


def test_without_the_plugin_its_variant_is_unknown() -> None:
    result = run_noughts(["match", "random", "random", "--variant", "square-four"], environment(), code=2)
    assert "expected one of `tictactoe`, " in result.stderr
