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
from noughts_server.launching.launcher import SandboxMode, launching
from tests.support.children.field import PROGRAMS
from tests.support.hosting import C_EXAMPLES, compile_library, compile_wasm
from tests.support.processes import environment, run_noughts
from tests.support.root import ROOT

IMPORTS = "from noughts_bots import Bot, Resign\nimport time\n"
LINES_BOT = ROOT / "bots" / "examples" / "lines" / "lowest.py"
JSON_BOT = ROOT / "bots" / "examples" / "json" / "lowest.py"
TICTACTOE, GOMOKU = parse_variant("tictactoe"), parse_variant("gomoku")
NAMES = ("tictactoe", "mnk", "connect4", "tictactoe3d", "qubic", "gomoku", "renju", "caro", "gomoku:exact")
VARIANTS_LINE = f"    variants = {NAMES}\n"
"""The line of a class that says that the bot plays all of these variants."""


async def steps_of(spec: str, variant: Variant = TICTACTOE) -> dict[str, StepResult]:
    async with launching(SandboxMode.USUAL, print) as launcher:
        plan = ConformancePlan(variant, games=2, seed=1, move_seconds=3.0, times=ChildSettings(start=20.0, stop=1.0))
        if "dial=true" not in spec:
            return {result.name: result for result in await run_steps(parse_spec(spec), launcher, plan)}
        async with inviting() as invite:
            results = await run_steps(parse_spec(spec), launcher, replace(plan, invite=invite))
            return {result.name: result for result in results}


def failed_steps(results: dict[str, StepResult]) -> list[str]:
    return [name for name, result in results.items() if result.outcome == "failed"]


def test_check_has_34_steps_with_different_names() -> None:
    assert len(STEPS) == len(set(STEPS)) == 34


@pytest.mark.parametrize("kind", ["py", "dll", "wasm", "exec", "dial", "lines", "gtp", "gomocup"])
async def test_a_good_bot_of_each_kind_passes_all_steps(tmp_path: Path, kind: str) -> None:
    match kind:
        case "py":
            (tmp_path / "good.py").write_text(
                IMPORTS + "class Good(Bot):\n    def choose(self, p):\n        return p.rng().choice(p.free)\n"
            )
            spec = f"py:{tmp_path}/good.py:Good"
        case "dll":
            spec = f"dll:{compile_library(C_EXAMPLES / 'random.c', tmp_path, name='random-c')}"
        case "wasm":
            spec = f"wasm:{compile_wasm(C_EXAMPLES / 'random.c', tmp_path, 'random-c')}"
        case "exec":
            spec = f"exec{{frames=json}}:{sys.executable} {JSON_BOT}"
        case "dial":
            (tmp_path / "good.py").write_text(
                IMPORTS + "from noughts_bots import run\nclass Good(Bot):\n    def choose(self, p):\n"
                "        return p.free[0]\nif __name__ == '__main__':\n    run(Good())\n"
            )
            spec = f"exec{{dial=true}}:{sys.executable} {tmp_path}/good.py"
        case "gtp":
            spec = f"gtp:{sys.executable} {PROGRAMS / 'gtp_engine.py'} honest"
        case "lines":
            spec = f"lines:{sys.executable} {LINES_BOT}"
        case _:
            spec = f"gomocup:{sys.executable} {PROGRAMS / 'engine.py'} honest {tmp_path}:1"
    results = await steps_of(spec, GOMOKU if kind in ("gomocup", "gtp") else TICTACTOE)
    assert failed_steps(results) == [], [results[name] for name in failed_steps(results)]
    passed = sum(result.outcome == "passed" for result in results.values())
    assert passed >= {"gomocup": 20, "gtp": 22}.get(kind, 29)


FAULTS = {
    "plays qubic": "if p.variant.layers == 4: return 99\nreturn p.free[0]",
    "plays two variants in one process": "self.seen = getattr(self, 'seen', p.variant)\n"
    "return p.free[0] if p.variant is self.seen else 999",
    "continues after an opening": "if len(p.moves) == 4 and p.moves[0] != p.variant.cells // 2 and p.side == 0:"
    " return 998\nreturn p.free[0]",
    "keeps a short time limit": "if p.own_clock_us and p.limit_us < 400_000: time.sleep(0.6)\nreturn p.free[0]",
    "plays without a clock": "return p.free[0] if 1 / p.own_clock_us else 0",
    "fills the last cell of a board": "return p.free[1]",
    "plays a hundred games in one process": "self.asked = getattr(self, 'asked', 0) + 1\n"
    "if self.asked > 200: raise Resign('tired')\nreturn p.free[0]",
}
"""The name of each step, with the body of a `choose` whose fault this step finds."""


@pytest.mark.parametrize("step", FAULTS)
async def test_each_fault_is_found_by_its_step_which_gives_advice(tmp_path: Path, step: str) -> None:
    body = FAULTS[step].replace("\n", "\n        ")
    (tmp_path / "odd.py").write_text(
        IMPORTS + f"class Odd(Bot):\n{VARIANTS_LINE}    def choose(self, p):\n        print('hm')\n        {body}\n"
    )
    results = await steps_of(f"py:{tmp_path}/odd.py:Odd")
    assert step in failed_steps(results)
    assert results[step].detail
    assert results[step].advice
    assert "hm" in results[step].output


@pytest.mark.parametrize(
    "change, step",
    [
        ('if cells: answers.update(resigned=[0], reason=["a", "b"])', "plays a game moving first"),
        ('if len(cells) > 1: answers["cell"] = cells[1:]', "plays 64 games at once"),
    ],
)
async def test_columns_of_different_lengths_are_a_fault(tmp_path: Path, change: str, step: str) -> None:
    text = JSON_BOT.read_text()
    (tmp_path / "odd.py").write_text(text.replace("    send(done", f"    {change}\n    send(done"))
    results = await steps_of(f"exec{{frames=json}}:{sys.executable} {tmp_path}/odd.py")
    expected = "got moves with columns of different lengths, expected columns of equal length"
    assert (results[step].outcome, results[step].detail) == ("failed", expected)


async def test_bot_that_takes_a_global_name_fails_in_a_second_process(tmp_path: Path) -> None:
    source = (
        IMPORTS + "import os\n"
        "class Odd(Bot):\n"
        "    def __init__(self):\n"
        "        import socket\n"
        "        self.held = socket.socket(socket.AF_UNIX)\n"
        "        self.held.bind(chr(0) + 'noughts-' + str(os.getppid()))\n"
        "    def choose(self, p):\n"
        "        return p.free[0]\n"
    )
    (tmp_path / "odd.py").write_text(source)
    async with launching(SandboxMode.OFF, lambda line: None) as launcher:
        spec = parse_spec(f"py:{tmp_path}/odd.py:Odd")
        plan = ConformancePlan(TICTACTOE, games=2, seed=1, move_seconds=3.0)
        results = {result.name: result for result in await run_steps(spec, launcher, plan)}
    assert "plays next to another process of the same bot" in failed_steps(results)


async def test_no_step_follows_after_a_failed_start(tmp_path: Path) -> None:
    results = await steps_of(f"exec:{sys.executable} -c pass")
    assert list(results) == ["starts and says hello"]


def output_of(line: str, code: int = 0) -> str:
    return run_noughts(shlex.split(line), environment(), code=code).stdout


def test_failed_step_is_in_exit_code_output_json_and_junit_report(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        IMPORTS + f"class Odd(Bot):\n{VARIANTS_LINE}"
        "    def choose(self, p):\n        return 99 if p.variant.layers == 4 else p.free[0]\n"
    )
    report = tmp_path / "junit.xml"
    output = output_of(f"bot check py:{tmp_path}/odd.py:Odd --junit {report}", code=1)
    assert "Wrong: py:" in output
    assert "plays qubic: it placed" in output
    assert "What to do: play one of the free cells" in output
    assert "33 of 34 steps passed" not in output
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("35", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["plays qubic"]
    document = json.loads(output_of(f"bot check py:{tmp_path}/odd.py:Odd --format json", code=1))
    assert [step["name"] for step in document["steps"] if step["outcome"] == "failed"] == ["plays qubic"]
    assert output_of(f"bot check py:{tmp_path}/odd.py:Odd --no-steps").endswith("Nothing is wrong.\n")
