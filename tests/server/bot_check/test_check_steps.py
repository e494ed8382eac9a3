"""The steps of `noughts bot check`: a good bot of each kind passes them, and each fault is found by its step."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import Variant, parse_variant
from noughts_server.bot_check.check_steps import STEPS, StepResult, run_steps
from noughts_server.bot_check.conformance import ConformancePlan
from noughts_server.bot_check.inviting import inviting
from noughts_server.launching.launcher import Locking, launching
from tests.support.children.field import PROGRAMS
from tests.support.hosting import C_EXAMPLES, compile_library, compile_wasm
from tests.support.processes import environment, run_noughts
from tests.support.root import ROOT

HEAD = "from noughts_bots import Bot, Resign\nimport time\n"
LINES = ROOT / "bots" / "examples" / "lines" / "lowest.py"
JSON = ROOT / "bots" / "examples" / "json" / "lowest.py"
TICTACTOE, GOMOKU = parse_variant("tictactoe"), parse_variant("gomoku")
NAMES = ("tictactoe", "mnk", "connect4", "tictactoe3d", "qubic", "gomoku", "renju", "caro", "gomoku:exact")
ALL = f"    variants = {NAMES}\n"


async def steps_of(spec: str, variant: Variant = TICTACTOE) -> dict[str, StepResult]:
    async with launching(Locking.USUAL, print) as launcher:
        plan = ConformancePlan(variant, 2, 1, 3.0, ChildSettings(start=20.0, stop=1.0))
        if "dial=true" not in spec:
            return {each.name: each for each in await run_steps(parse_spec(spec), launcher, plan)}
        async with inviting() as invite:
            results = await run_steps(parse_spec(spec), launcher, replace(plan, invite=invite))
            return {each.name: each for each in results}


def failed(results: dict[str, StepResult]) -> list[str]:
    return [name for name, each in results.items() if each.outcome == "failed"]


def test_there_are_about_thirty_steps_each_of_another_name() -> None:
    assert len(STEPS) == len(set(STEPS)) == 34


@pytest.mark.parametrize("kind", ["py", "dll", "wasm", "exec", "dial", "lines", "gtp", "gomocup"])
async def test_a_good_bot_of_each_kind_passes_all_steps(tmp_path: Path, kind: str) -> None:
    match kind:
        case "py":
            (tmp_path / "good.py").write_text(
                HEAD + "class Good(Bot):\n    def choose(self, p):\n        return p.rng().choice(p.free)\n"
            )
            spec = f"py:{tmp_path}/good.py:Good"
        case "dll":
            spec = f"dll:{compile_library(C_EXAMPLES / 'lots.c', tmp_path, name='lots')}"
        case "wasm":
            spec = f"wasm:{compile_wasm(C_EXAMPLES / 'lots.c', tmp_path, 'lots')}"
        case "exec":
            spec = f"exec{{frames=json}}:{sys.executable} {JSON}"
        case "dial":
            (tmp_path / "good.py").write_text(
                HEAD + "from noughts_bots import run\nclass Good(Bot):\n    def choose(self, p):\n"
                "        return p.free[0]\nif __name__ == '__main__':\n    run(Good())\n"
            )
            spec = f"exec{{dial=true}}:{sys.executable} {tmp_path}/good.py"
        case "gtp":
            spec = f"gtp:{sys.executable} {PROGRAMS / 'gtp_engine.py'} honest"
        case "lines":
            spec = f"lines:{sys.executable} {LINES}"
        case _:
            spec = f"gomocup:{sys.executable} {PROGRAMS / 'engine.py'} honest {tmp_path}:1"
    results = await steps_of(spec, GOMOKU if kind in ("gomocup", "gtp") else TICTACTOE)
    assert failed(results) == [], [each for each in results.values() if each.outcome == "failed"]
    passed = sum(each.outcome == "passed" for each in results.values())
    assert passed >= {"gomocup": 20, "gtp": 22}.get(kind, 29)


FAULTS = {
    "plays qubic": "if p.variant.layers == 4: return 99\nreturn p.free[0]",
    "plays two variants in one process": "self.seen = getattr(self, 'seen', p.variant)\nif not hasattr(self, 'many'):\n"
    "    self.many = len(p.free) == 9 and p.variant is self.seen\nreturn p.free[0] if p.variant is self.seen else 999",
    "continues after an opening": "if len(p.moves) == 4 and p.moves[0] != p.variant.cells // 2 and p.side == 0"
    " and getattr(self, 'first', True): return 998\nreturn p.free[0]",
    "keeps a short time limit": "if p.own_clock_us and p.limit_us < 400_000: time.sleep(0.6)\nreturn p.free[0]",
    "plays without a clock": "return p.free[0] if 1 / p.own_clock_us else 0",
    "fills the last cell of a board": "return p.free[1]",
    "plays a hundred games in one process": "self.asked = getattr(self, 'asked', 0) + 1\n"
    "if self.asked > 200: raise Resign('tired')\nreturn p.free[0]",
}


@pytest.mark.parametrize("step", FAULTS)
async def test_each_fault_is_found_by_its_step_and_told_with_what_to_do(tmp_path: Path, step: str) -> None:
    body = FAULTS[step].replace("\n", "\n        ")
    (tmp_path / "odd.py").write_text(
        HEAD + f"class Odd(Bot):\n{ALL}    def choose(self, p):\n        print('hm')\n        {body}\n"
    )
    results = await steps_of(f"py:{tmp_path}/odd.py:Odd")
    assert step in failed(results)
    assert results[step].detail
    assert results[step].advice
    assert "hm" in results[step].said


async def test_a_bot_that_locks_a_file_cannot_play_beside_itself(tmp_path: Path) -> None:
    source = (
        HEAD + "import os, tempfile\n"
        "class Odd(Bot):\n"
        "    def __init__(self):\n"
        "        import socket\n"
        "        self.held = socket.socket(socket.AF_UNIX)\n"
        "        self.held.bind(chr(0) + 'noughts-' + str(os.getppid()))\n"
        "    def choose(self, p):\n"
        "        return p.free[0]\n"
    )
    (tmp_path / "odd.py").write_text(source)
    async with launching(Locking.OFF, lambda line: None) as launcher:
        spec = parse_spec(f"py:{tmp_path}/odd.py:Odd")
        results = {each.name: each for each in await run_steps(spec, launcher, ConformancePlan(TICTACTOE, 2, 1, 3.0))}
    assert "plays next to another process of the same bot" in failed(results)


async def test_what_does_not_start_is_asked_nothing_else(tmp_path: Path) -> None:
    results = await steps_of(f"exec:{sys.executable} -c pass")
    assert list(results) == ["starts and says hello"]


def said_of(line: str, code: int = 0) -> str:
    return run_noughts(shlex.split(line), environment(), code=code).stdout


def test_ci_gets_an_exit_code_json_and_junit(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        HEAD
        + f"class Odd(Bot):\n{ALL}    def choose(self, p):\n        return 99 if p.variant.layers == 4 else p.free[0]\n"
    )
    report = tmp_path / "junit.xml"
    shown = said_of(f"bot check py:{tmp_path}/odd.py:Odd --junit {report}", code=1)
    assert "Wrong: py:" in shown
    assert "plays qubic: it placed" in shown
    assert "What to do: play one of the free cells" in shown
    assert "33 of 34 steps passed" not in shown
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("35", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["plays qubic"]
    found = json.loads(said_of(f"bot check py:{tmp_path}/odd.py:Odd --format json", code=1))
    assert [step["name"] for step in found["steps"] if step["outcome"] == "failed"] == ["plays qubic"]
    assert said_of(f"bot check py:{tmp_path}/odd.py:Odd --no-steps").endswith("Nothing is wrong.\n")
