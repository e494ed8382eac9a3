"""The GitHub action that checks a bot in CI. The tests run its steps as a runner of GitHub does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
import yaml

from tests.support.processes import environment, first_line, json_of, run_here, started
from tests.support.root import ROOT
from tests.support.tools import run

pytestmark = pytest.mark.at_length

ACTION = ROOT / ".github" / "actions" / "bot-check" / "action.yml"
PAGE = ROOT / "docs" / "how-to" / "checking-in-ci.md"
BOT = """
from noughts_bots import Bot

class Odd(Bot):
    name = "odd"
    variants = ("tictactoe", "qubic")

    def choose(self, position):
        print("</details> | `@everybody`")
        return {cell}
"""


class ActionRun(NamedTuple):
    code: int
    outputs: dict[str, str]
    summary: str
    errors: str

    @property
    def comment(self) -> str:
        return Path(self.outputs["comment"]).read_text()

    @property
    def suite(self) -> ElementTree.Element:
        return ElementTree.parse(self.outputs["junit"]).getroot()


def run_action(
    folder: Path, *, install: bool = False, variables: dict[str, str] | None = None, **changed_inputs: str
) -> ActionRun:
    """Run the action's steps in a repository until one fails, as a runner does.

    `install`: also run the steps that call pip, which takes seconds.
    """
    action = yaml.safe_load(ACTION.read_text())
    inputs = {name: declared.get("default", "") for name, declared in action["inputs"].items()}
    assert changed_inputs.keys() <= inputs.keys()
    inputs |= changed_inputs
    runner = folder.parent / "runner"
    runner.mkdir()
    output_file, summary = runner / "outputs", runner / "summary"
    variables = {
        **environment(),
        **(variables or {}),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "GITHUB_OUTPUT": str(output_file),
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(runner),
        # The packages of the action are already installed here, so pip needs no index.
        **dict.fromkeys(("PIP_DRY_RUN", "PIP_NO_INDEX", "PIP_NO_DEPS"), "1"),
        "PIP_NO_BUILD_ISOLATION": "0",
    }
    outputs: dict[str, dict[str, str]] = {}
    process = subprocess.CompletedProcess[str]([], 0, "", "")

    def fill_in(text: str) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {
            f"steps.{name}.outputs.{key}": value for name, values in outputs.items() for key, value in values.items()
        }
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: known.get(match[1], ""), text)

    for step in action["runs"]["steps"]:
        condition = re.fullmatch(r"inputs\.([\w-]+) != ''", step.get("if", "inputs.spec != ''"))
        assert condition is not None
        if "uses" in step or not inputs[condition[1]] or ("pip" in step["run"] and not install):
            continue
        assert "${{" not in step["run"]
        script = runner / "script.sh"
        script.write_text(step["run"])
        output_file.write_text("")
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=folder,
            env=variables | {name: fill_in(value) for name, value in step.get("env", {}).items()},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        if "id" in step:
            outputs[step["id"]] = dict(line.split("=", 1) for line in output_file.read_text().splitlines())
        if process.returncode:
            break
    outputs_of_action = {name: fill_in(declared["value"]) for name, declared in action["outputs"].items()}
    return ActionRun(
        process.returncode, outputs_of_action, summary.read_text() if summary.exists() else "", process.stderr
    )


def steps_of(workflow: str) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(workflow)["jobs"].values() for step in job["steps"]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository of a bot"
    folder.mkdir()
    (folder / "good.py").write_text(BOT.format(cell="position.free[0]"))
    (folder / "bad.py").write_text(BOT.format(cell="99 if position.variant.layers == 4 else position.free[0]"))
    return folder


def test_good_bot_passes_and_its_match_is_in_the_comment(repository: Path) -> None:
    match_options: dict[str, Any] = {"match-options": "--games 4 --seed 1"}
    result = run_action(repository, install=True, spec="py:good.py:Odd", against="py:bad.py:Odd", **match_options)
    assert result.code == 0, result.errors
    assert result.comment == result.summary
    assert result.comment.startswith("## py:good.py:Odd passes the check\n")
    assert "\n    Nothing is wrong.\n" in result.comment
    _, match = result.comment.split("\n## Match\n\n")
    assert "\n    4 games: " in match
    assert "\n    Elo difference: " in match
    assert all(line.startswith("    ") for line in match.splitlines())
    assert (result.suite.get("tests"), result.suite.get("failures")) == ("35", "0")
    assert json.loads(Path(result.outputs["report"]).read_text())["faults"] == []


def test_a_bad_bot_fails_with_its_fault_and_the_fix(repository: Path) -> None:
    result = run_action(repository, spec="py:bad.py:Odd", against="random", options="--games 2 --seed 5")
    assert result.code == 1
    assert result.comment == result.summary
    assert result.comment.startswith("## py:bad.py:Odd fails the check\n\n| Step | What the bot did | What to do |\n")
    assert "\n| plays qubic | it placed a stone off the board" in result.comment
    # What a bot prints stays in the block of code.
    assert re.findall(r"^.*</details>.*$", result.comment, re.MULTILINE)[-1] == "</details>"
    assert result.comment.count("\n</details>") == 1
    assert "## Match" not in result.comment
    failed = [case.get("name") for case in result.suite if case.find("failure") is not None]
    assert failed == ["plays qubic", "plays two variants in one process"]


def test_a_bot_that_does_not_start_fails_with_the_reason(repository: Path) -> None:
    result = run_action(repository, spec="exec:true", options="--games 2")
    assert result.code == 1
    assert "\n| plays against random moves | got " in result.comment
    assert result.suite.get("failures") == "1"


def test_wrong_spec_is_explained_in_the_comment(repository: Path) -> None:
    result = run_action(repository, spec="py:$(touch there);`touch there`.py:Odd", variant="connect4 --games 2")
    assert result.code == 2
    assert result.comment == result.summary
    assert result.comment.startswith("## The bot could not be checked\n\n    Error: ")
    assert (result.outputs["junit"], result.outputs["report"]) == ("", "")
    assert sorted(file.name for file in repository.iterdir()) == ["bad.py", "good.py"]


def test_match_that_cannot_be_played_fails_the_action(repository: Path) -> None:
    result = run_action(repository, spec="py:good.py:Odd", options="--no-steps --games 2", against="py:older.py:Odd")
    assert result.code == 2
    assert "\n## Match\n\n    Error: " in result.comment
    assert "older.py, which is not a file" in result.comment


def test_good_bot_is_submitted_and_tested_at_a_server(repository: Path, tmp_path: Path) -> None:
    server_env = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    serving = "serve --listen 127.0.0.1:0 --no-web --accept py --format json"
    with started(serving.split(), server_env) as server:
        address = json.loads(first_line(server))["grpc"]
        token = json_of("token create --owner ada --scope play --scope submit --scope organise", server_env)["token"]
        server_variables = {"NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        run_here(["bot", "submit", str(repository / "good.py"), "--name", "odd"], server_env | server_variables)
        checked: dict[str, Any] = {"spec": "py:good.py:Odd", "options": "--no-steps --games 2", "variant": "tictactoe"}
        for number, (sprt, code, verdict) in enumerate(
            (("elo0=-1000,elo1=-200", 0, "H1 accepted"), ("elo0=200,elo1=1000", 1, "H0 accepted")), start=2
        ):
            (repository / "good.py").write_text(BOT.format(cell=f"position.free[-1]  # {number}"))
            tested: dict[str, Any] = {"test-against": "1", "test-options": f"--name odd --sprt {sprt}"}
            result = run_action(repository, variables=server_variables, **checked, **tested)
            assert result.code == code, result.errors
            _, test = result.comment.split("\n## Test\n\n")
            assert f"    odd-{number} against odd-1: {verdict}\n" in test
            shutil.rmtree(repository.parent / "runner")


def test_workflow_of_a_new_bot_uses_the_action(tmp_path: Path) -> None:
    folder = tmp_path / "centre"
    json_of(f"bot new centre --folder {folder}", environment())
    assert (folder / ".github/actions/bot-check/action.yml").read_text() == ACTION.read_text()
    workflow = (folder / ".github/workflows/check.yml").read_text()
    (given,) = (step["with"] for step in steps_of(workflow) if step.get("id") == "bot")
    assert given.pop("noughts") == "--find-links wheels noughts[server]"
    result = run_action(folder, **given, options="--games 2")
    assert result.code == 0, result.errors
    assert "passes the check" in result.comment


def test_action_and_workflows_follow_the_schemas_of_github(tmp_path: Path) -> None:
    json_of(f"bot new centre --language rust --folder {tmp_path}/centre", environment())
    page_workflows = re.findall(
        r"^```yaml\n# \.github/workflows/(\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    for name, workflow in page_workflows:
        (tmp_path / name).write_text(workflow)
    check = Path(sys.executable).with_name("check-jsonschema")
    run(check, "--builtin-schema", "vendor.github-actions", ACTION)
    workflows = [tmp_path / "centre/.github/workflows/check.yml", ROOT / ".github/workflows/ci.yml"]
    run(
        check,
        "--builtin-schema",
        "vendor.github-workflows",
        *workflows,
        *(tmp_path / name for name, _ in page_workflows),
    )
    assert [name for name, _ in page_workflows] == ["check.yml", "compare.yml"]
    used = [step["with"] for _, text in page_workflows for step in steps_of(text) if step.get("id") == "bot"]
    assert all(given.keys() <= yaml.safe_load(ACTION.read_text())["inputs"].keys() for given in used)
