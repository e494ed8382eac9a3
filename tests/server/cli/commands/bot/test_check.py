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
OTHER_VARIANTS = ("tictactoe", "mnk:7,6,4", "tictactoe3d", "qubic", "gomoku", "gomoku:exact", "renju", "caro")
SKIPPED_STEPS = "  " + "; ".join(f"plays {name}" for name in OTHER_VARIANTS)


@pytest.fixture
def centre(tmp_path: Path) -> str:
    (tmp_path / "centre.py").write_text(CENTRE)
    return f"{tmp_path}/centre.py:Centre"


def test_check_says_that_nothing_is_wrong(noughts: Any, centre: str) -> None:
    output = noughts(f"bot check py:{centre} --games 4").stdout
    assert "4 games of tictactoe against random moves" in output
    assert "  loaded in" in output
    summary, *left_out, last = output.splitlines()[-4:]
    assert summary == "32 of 34 steps passed, 2 left out:"
    assert left_out == [
        "  has a name that can be used: it declares no name, so its spec is its name",
        "  declares known variants: it declares none, so it must play all",
    ]
    assert last == "Nothing is wrong."
    report = json.loads(
        noughts(f"bot check py{{lowest=true}}:{centre} --games 4 --variant connect4 --format json").stdout
    )
    assert (report["spec"], report["variant"]) == (f"py{{lowest=true}}:{centre}", "connect4")
    assert (report["games"], report["faults"], report["repeats"]) == (4, [], True)
    assert report["wins"] + report["draws"] + report["losses"] == 4
    assert 0 < report["move_us"]["mean"] <= report["move_us"]["most"]


def test_check_gives_a_line_for_each_reason_to_leave_out_steps(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "columns.py").write_text(CENTRE.replace("class Centre(Bot):", f"class Centre(Bot):\n    {ONE_VARIANT}"))
    lines = noughts(f"bot check py:{tmp_path}/columns.py --games 2").stdout.splitlines()
    (heading,) = (index for index, line in enumerate(lines) if line.endswith("11 left out:"))
    *left_out, last = lines[heading + 1 :]
    names, reasons = zip(*(line.rsplit(": ", 1) for line in left_out), strict=True)
    assert len(set(reasons)) == len(reasons) == 4
    assert sum(len(group.split("; ")) for group in names) == 11
    assert f"{names[1]}: {reasons[1]}" == f"{SKIPPED_STEPS}: it does not declare this variant"
    assert last == "Nothing is wrong."


def test_check_tells_the_bot_the_limit_of_a_move(noughts: Any, refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    line = f"bot check py:{tmp_path}/slow.py:Slow --games 2 --no-steps --format json"
    assert json.loads(noughts(f"{line} --time 3/move").stdout)["faults"] == []
    faults = json.loads(noughts(f"{line} --time 0.1/move", code=1).stdout)["faults"]
    assert re.fullmatch(r"it took \d+\.\d+ s for a move; its limit was 0\.1 s", faults[0])
    refusal(f"{line} --time 60+1", code=2)


def test_check_shows_its_progress_on_a_terminal(centre: str) -> None:
    controller, terminal = pty.openpty()
    line = (sys.executable, "-m", "noughts_server.cli", "bot", "check", f"py:{centre}", "--games", "4")
    env = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=terminal, env=env) as process:
        os.close(terminal)
        drawn = b""
        with suppress(OSError):  # the terminal's other end is closed
            while block := os.read(controller, 4096):
                drawn += block
        assert process.wait(60) == 0
    os.close(controller)
    assert re.search(rb"Checking.*step \d+ of \d+: ", drawn)


def odd_engine(habits: str = "") -> str:
    """The spec of an engine with these habits, and the option with which it runs outside the sandbox."""
    return f"'gomocup:{sys.executable} {PROGRAMS / 'odd_engine.py'} {habits}' --no-lock"


def test_an_engine_is_checked_on_the_board_that_it_plays(noughts: Any) -> None:
    output = noughts(f"bot check {odd_engine()} --games 2").stdout
    assert "2 games of gomoku against random moves: 2 won" in output
    assert re.search(r"^2\d of 34 steps passed", output, re.MULTILINE)
    assert output.endswith("Nothing is wrong.\n")


def test_variants_whose_rule_an_engine_does_not_know_are_left_out(noughts: Any) -> None:
    output = noughts(f"bot check {odd_engine('rule=ERROR_unknown_rule')} --games 2").stdout
    assert "plays caro: it does not know the rule of this variant" in output
    assert "The rule of caro: it does not know it." in output
    assert output.endswith("Nothing is wrong.\n")


def test_ask_takes_the_board_that_an_engine_plays(noughts: Any) -> None:
    result = noughts(f"bot ask {odd_engine()} --format json", stdin="." * 225 + " X\n")
    assert json.loads(result.stdout)["move"] == 0


@pytest.mark.parametrize(
    "habits, variant, complaint",
    [
        ("", "tictactoe", "got variant tictactoe, expected a variant of Gomocup engines: five in a row"),
        ("", "connect4", "got variant connect4, expected a variant of Gomocup engines: five in a row"),
        ("refuse-size=15", "gomoku", "refuses the game: it answers START 15 with 'ERROR message - unsupported size"),
    ],
)
def test_a_refused_board_is_reported_as_such(noughts: Any, habits: str, variant: str, complaint: str) -> None:
    output = noughts(f"bot check {odd_engine(habits)} --games 2 --variant {variant}", code=1).stdout
    assert complaint in output
    assert "resigns" not in output
    assert "rule of" not in output


def test_check_of_a_faulty_bot_exits_with_1_and_says_what_is_wrong(noughts: Any, centre: str) -> None:
    output = noughts(f"bot check 'exec:{sys.executable} {centre.partition(':')[0]}'", code=1).stdout
    assert "Wrong: exec:" in output
    assert "expected a hello" in output


def test_a_file_with_one_bot_is_a_spec(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "centre.py"
    file.write_text(CENTRE)
    for spec in (file, f"py:{file}"):
        assert json.loads(noughts(f"match {spec} random --games 2 --seed 1 --format json").stdout)["games"] == 2
        assert json.loads(noughts(f"bot ask {spec} --format json", stdin="......... X\n").stdout)["move"] == 4


def test_check_prints_a_repeated_line_of_a_bot_once(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(
        "from noughts_bots import Bot\n"
        "class Chatty(Bot):\n"
        "    def choose(self, position):\n"
        "        print('hello')\n"
        "        raise ValueError(position.ply)\n"
    )
    output = noughts(f"bot check py:{tmp_path}/chatty.py:Chatty --games 6", code=1).stdout
    assert output.count("hello") == 1
    assert "\n  hello   (6 times)\n" in output


def test_bot_run_reports_once_that_a_bot_cannot_be_loaded(
    start: Any, centre: str, server: str, noughts: Any, database: str
) -> None:
    token = noughts(f"token create --owner ada --db {database}").stdout.strip()
    with start(f"bot run py:{centre}x --server {server}", {"NOUGHTS_TOKEN": token}) as bot:
        output, errors = bot.communicate(timeout=PATIENCE)
    assert bot.returncode == 2
    assert output == ""
    assert errors.count("got name 'Centrex'") == 1
    assert "loaded in" in errors


def test_check_of_a_missing_bot_is_a_usage_error(refusal: Refusal, centre: str) -> None:
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


def test_ask_of_a_plugin_names_the_line_of_an_impossible_position(noughts: Any, centre: str) -> None:
    result = noughts(f"bot ask py:{centre} --format json", stdin=".........\nX........ X\n", code=1)
    assert len(result.stdout.splitlines()) == 1
    assert "line 2" in result.stderr
    assert "alternating moves" in result.stderr


def test_ask_of_a_plugin_that_cannot_be_loaded_fails(refusal: Refusal, centre: str) -> None:
    refusal(f"bot ask py:{centre}x", stdin=".........\n", code=2)
