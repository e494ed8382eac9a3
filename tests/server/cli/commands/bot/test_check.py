"""`noughts bot check`, and `noughts bot ask` of a plugin."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.children.field import PROGRAMS
from tests.support.patience import PATIENCE

CENTRE = """
import sys
print("loaded in", sys.argv[0])
from noughts_bots import Bot

class Centre(Bot):
    def __init__(self, lowest: bool = False):
        self.lowest = lowest

    def choose(self, position):
        free = position.free
        return free[0] if self.lowest else 4 if 4 in free else position.rng().choice(free)
"""

SLOW = """
import time

from noughts_bots import Bot


class Slow(Bot):
    def choose(self, position):
        time.sleep(min(max(position.limit_us / 2e6, 0.2), 0.25))
        return position.free[0]
"""

ONE_VARIANT = 'variants = ("connect4",)'
OTHERS = ("tictactoe", "mnk:7,6,4", "tictactoe3d", "qubic", "gomoku", "gomoku:exact", "renju", "caro")
DECLARED_NOT = "  " + "; ".join(f"plays {name}" for name in OTHERS)


@pytest.fixture
def centre(tmp_path: Path) -> str:
    (tmp_path / "centre.py").write_text(CENTRE)
    return f"{tmp_path}/centre.py:Centre"


def test_check_says_that_nothing_is_wrong(noughts: Any, centre: str) -> None:
    shown = noughts(f"bot check py:{centre} --games 4").stdout
    assert "4 games of tictactoe against random moves" in shown
    assert "  loaded in" in shown
    counted, *left_out, last = shown.splitlines()[-4:]
    assert counted == "32 of 34 steps passed, 2 left out:"
    assert left_out == [
        "  has a name that can be used: it declares no name, so its spec is its name",
        "  declares known variants: it declares none, so it must play all",
    ]
    assert last == "Nothing is wrong."
    found = json.loads(
        noughts(f"bot check py{{lowest=true}}:{centre} --games 4 --variant connect4 --format json").stdout
    )
    assert (found["spec"], found["variant"]) == (f"py{{lowest=true}}:{centre}", "connect4")
    assert (found["games"], found["faults"], found["repeats"]) == (4, [], True)
    assert found["wins"] + found["draws"] + found["losses"] == 4
    assert 0 < found["move_us"]["mean"] <= found["move_us"]["most"]


def test_check_gives_a_line_for_each_reason_to_leave_out_steps(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "columns.py").write_text(CENTRE.replace("class Centre(Bot):", f"class Centre(Bot):\n    {ONE_VARIANT}"))
    shown = noughts(f"bot check py:{tmp_path}/columns.py --games 2").stdout.splitlines()
    (place,) = (number for number, line in enumerate(shown) if line.endswith("11 left out:"))
    *left_out, last = shown[place + 1 :]
    names, reasons = zip(*(line.rsplit(": ", 1) for line in left_out), strict=True)
    assert len(set(reasons)) == len(reasons) == 4
    assert sum(each.count(";") + 1 for each in names) == 11
    assert f"{names[1]}: {reasons[1]}" == f"{DECLARED_NOT}: it does not declare this variant"
    assert last == "Nothing is wrong."


def test_check_tells_the_bot_the_limit_of_a_move(noughts: Any, refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    line = f"bot check py:{tmp_path}/slow.py:Slow --games 2 --no-steps --format json"
    assert json.loads(noughts(f"{line} --time 3/move").stdout)["faults"] == []
    (late,) = json.loads(noughts(f"{line} --time 0.1/move", code=1).stdout)["faults"][:1]
    assert re.fullmatch(r"it took 0\.\d+ s for a move; its limit was 0\.1 s", late)
    refusal(f"{line} --time 60+1", code=2)


def test_check_shows_its_progress_on_a_terminal(centre: str) -> None:
    ours, theirs = pty.openpty()
    line = (sys.executable, "-m", "noughts_server.cli", "bot", "check", f"py:{centre}", "--games", "4")
    terminal = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs, env=terminal) as process:
        os.close(theirs)
        drawn = b""
        with suppress(OSError):  # the terminal's other end is closed
            while block := os.read(ours, 4096):
                drawn += block
        assert process.wait(60) == 0
    os.close(ours)
    assert re.search(rb"Checking.*step \d+ of \d+: ", drawn)


def odd_engine(habits: str = "") -> str:
    return f"'gomocup:{sys.executable} {PROGRAMS / 'odd_engine.py'} {habits}' --no-lock --games 2"


def test_an_engine_is_checked_on_the_board_that_it_plays(noughts: Any) -> None:
    shown = noughts(f"bot check {odd_engine()}").stdout
    assert "2 games of gomoku against random moves: 2 won" in shown
    assert re.search(r"^2\d of 34 steps passed", shown, re.MULTILINE)
    assert shown.endswith("Nothing is wrong.\n")


def test_variants_whose_rule_an_engine_does_not_know_are_left_out(noughts: Any) -> None:
    shown = noughts(f"bot check {odd_engine('rule=ERROR_unknown_rule')}").stdout
    assert "plays caro: it does not know the rule of this variant" in shown
    assert "The rule of caro: it does not know it." in shown
    assert shown.endswith("Nothing is wrong.\n")


def test_ask_takes_the_board_that_an_engine_plays(noughts: Any) -> None:
    asked = noughts(f"bot ask {odd_engine().removesuffix(' --games 2')} --format json", stdin="." * 225 + " X\n")
    assert json.loads(asked.stdout)["move"] == 0


@pytest.mark.parametrize(
    "habits, variant, said",
    [
        ("", "tictactoe", "got variant tictactoe, expected five in a row on a flat board"),
        ("", "connect4", "got variant connect4, expected five in a row on a flat board"),
        ("refuse-size=15", "gomoku", "refuses the game: it answers START 15 with 'ERROR message - unsupported size"),
    ],
)
def test_a_refused_board_is_reported_as_such(noughts: Any, habits: str, variant: str, said: str) -> None:
    shown = noughts(f"bot check {odd_engine(habits)} --variant {variant}", code=1).stdout
    assert said in shown
    assert "resigns" not in shown
    assert "rule of" not in shown


def test_check_of_a_faulty_bot_exits_with_1_and_says_what_is_wrong(noughts: Any, centre: str) -> None:
    shown = noughts(f"bot check 'exec:{sys.executable} {centre.partition(':')[0]}'", code=1).stdout
    assert "Wrong: exec:" in shown
    assert "expected a hello" in shown


def test_a_file_with_one_bot_is_a_spec_of_every_command(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "centre.py"
    file.write_text(CENTRE)
    for spec in (file, f"py:{file}"):
        assert json.loads(noughts(f"match {spec} random --games 2 --seed 1 --format json").stdout)["games"] == 2
        assert json.loads(noughts(f"bot ask {spec} --format json", stdin="......... X\n").stdout)["move"] == 4


def test_check_tells_a_line_that_comes_again_and_again_once(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(
        "from noughts_bots import Bot\n"
        "class Chatty(Bot):\n"
        "    def choose(self, position):\n"
        "        print('hello')\n"
        "        raise ValueError(position.ply)\n"
    )
    shown = noughts(f"bot check py:{tmp_path}/chatty.py:Chatty --games 6", code=1).stdout
    assert shown.count("hello") == 1
    assert "\n  hello   (6 times)\n" in shown


def test_a_bot_that_cannot_be_loaded_is_told_of_once(
    start: Any, centre: str, server: str, noughts: Any, database: str
) -> None:
    token = noughts(f"token create --owner ada --db {database}").stdout.strip()
    with start(f"bot run py:{centre}x --server {server}", {"NOUGHTS_TOKEN": token}) as bot:
        said, complained = bot.communicate(timeout=PATIENCE)
    assert bot.returncode == 2
    assert said == ""
    assert complained.count("got name 'Centrex'") == 1
    assert "loaded in" in complained


def test_check_of_a_bot_that_is_not_there_is_a_usage_error(refusal: Refusal, centre: str) -> None:
    refusal(f"bot check py:{centre}x", code=2)
    refusal("bot check dll:./nothing.so --format json", code=2)


def test_check_of_a_reference_bot_is_a_usage_error(refusal: Refusal) -> None:
    refusal("bot check random", code=2)


def test_ask_of_a_plugin_answers_from_another_process(noughts: Any, centre: str) -> None:
    result = noughts(f"bot ask py:{centre} --format json", stdin="X...O...X O\n.........\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["move"] in (1, 2, 3, 5, 6, 7)
    assert first["candidates"] == [first["move"]]
    assert (second["move"], second["scores"]) == (4, {})
    assert "centre" not in sys.modules
    assert not [name for name in sys.modules if name.startswith("noughts_plugin")]


def test_ask_of_a_plugin_names_a_line_that_no_game_leads_to(noughts: Any, centre: str) -> None:
    result = noughts(f"bot ask py:{centre} --format json", stdin=".........\nX........ X\n", code=1)
    assert len(result.stdout.splitlines()) == 1
    assert "line 2" in result.stderr
    assert "alternating moves" in result.stderr


def test_ask_of_a_plugin_that_cannot_be_loaded_fails(refusal: Refusal, centre: str) -> None:
    refusal(f"bot ask py:{centre}x", stdin=".........\n", code=2)
