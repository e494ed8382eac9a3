"""Commands without --variant play the first variant that their bots declare."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from noughts_bots.gomocup.protocol import NAMED_VARIANTS, rule_of
from noughts_referee.rules import parse_variant
from tests.server.cli.conftest import Refusal
from tests.support.children.field import PROGRAMS

BOT = """
from noughts_bots import Bot, run

class Lowest(Bot):
    variants = ({})

    def choose(self, position):
        return position.free[0]

if __name__ == "__main__":
    run(Lowest())
"""
CONNECT4_BOARD, GOMOKU_BOARD, TICTACTOE_BOARD = "." * 42 + " X", "." * 225 + " X", "." * 9 + " X"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with bots that declare one variant, two variants, and none."""
    monkeypatch.chdir(tmp_path)
    for name, variants in {"drop": '"connect4",', "two": '"gomoku", "connect4"', "silent": ""}.items():
        Path(f"{name}.py").write_text(BOT.format(variants))


SPECS = {
    # Each spec with the variant that is played, and the position on its empty board.
    "py:drop.py": ("connect4", CONNECT4_BOARD),
    "py:two.py": ("gomoku", GOMOKU_BOARD),
    "py:silent.py": ("tictactoe", TICTACTOE_BOARD),
    f"exec{{dial=true}}:{sys.executable} drop.py": ("connect4", CONNECT4_BOARD),
    "py{variants=connect4}:silent.py": ("connect4", CONNECT4_BOARD),
    f"lines{{variants=qubic}}:{sys.executable} {PROGRAMS}/liner.py honest .": ("qubic", "." * 64 + " X"),
    f"gtp:{sys.executable} {PROGRAMS}/gtp_engine.py plain": ("gomoku", GOMOKU_BOARD),
    f"gomocup:{sys.executable} {PROGRAMS}/odd_engine.py": ("gomoku", GOMOKU_BOARD),
    "threats": ("tictactoe", TICTACTOE_BOARD),
}


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "dial=" not in spec])
def test_ask_takes_positions_of_the_bots_own_variant(noughts: Any, spec: str) -> None:
    _, position = SPECS[spec]
    result = noughts(f"bot ask {shlex.quote(spec)} --no-lock --format json", stdin=position)
    assert json.loads(result.stdout)["position"] == position


@pytest.mark.parametrize("spec", [spec for spec in SPECS if ":" in spec])
def test_check_plays_the_bots_own_variant(noughts: Any, spec: str) -> None:
    result = noughts(f"bot check {shlex.quote(spec)} --games 2 --no-steps --no-lock --format json", code=None)
    assert json.loads(result.stdout)["variant"] == SPECS[spec][0]


@pytest.mark.parametrize(
    "specs, variant",
    [
        ("py:drop.py random", "connect4"),
        ("random py:drop.py", "connect4"),
        ("py:two.py py:drop.py", "connect4"),
        ("py:silent.py py:two.py", "gomoku"),
        ("random minimax", "tictactoe"),
    ],
)
def test_match_plays_the_first_variant_of_both_bots(noughts: Any, specs: str, variant: str) -> None:
    noughts(f"match {specs} --no-lock -o games.jsonl")
    assert json.loads(Path("games.jsonl").read_text().splitlines()[0])["variant"] == variant


def test_tournament_plays_the_first_variant_of_all_bots(noughts: Any) -> None:
    noughts("tournament run py:two.py py:drop.py random --no-lock -o games.jsonl")
    assert {json.loads(line)["variant"] for line in Path("games.jsonl").read_text().splitlines()} == {"connect4"}


def test_bots_without_a_common_variant_are_refused(refusal: Refusal) -> None:
    refusal("match threats A=py:drop.py --no-lock", code=2)


def test_named_variants_of_engines_are_in_the_protocol() -> None:
    assert all(rule_of(parse_variant(name)) is not None for name in NAMED_VARIANTS)


@pytest.mark.parametrize("command", ["bot check py:wrong.py", "match py:wrong.py random"])
@pytest.mark.parametrize(
    "variants, error",
    [('"conect4",', "Did you mean connect4?"), ('"connect4"', 'Fix: Write variants = ("connect4",).')],
)
def test_misspelt_variants_of_a_bot_are_named(noughts: Any, command: str, variants: str, error: str) -> None:
    Path("wrong.py").write_text(BOT.format(variants))
    assert error in noughts(f"{command} --no-lock", code=2).stderr
