"""Bots of other packages (entry points of the group `noughts.bots`), which pip builds and installs in a folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import install_package, json_of_process, run_noughts, with_packages
from tests.support.root import ROOT
from tests.support.shared import make_once

EXAMPLE = ROOT / "examples" / "bot-patient"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has installed the example, and a package whose module cannot be imported."""
    return with_packages(make_once(tmp_path_factory, "bots", install))


def install(target: Path) -> None:
    install_package(EXAMPLE, target)
    (target / "noughts_faulty.py").write_text("raise RuntimeError('imported')\n")
    for package, points in (("faulty", "broken = noughts_faulty:Bot\ntwice = a:B\n"), ("other", "twice = c:D\n")):
        metadata = target / f"noughts_{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: noughts-{package}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[noughts.bots]\n{points}")


def test_bots_of_packages_are_listed_without_importing_them(installed: dict[str, str]) -> None:
    rows = {row["name"]: row for row in json_of_process("bot list", installed)["bots"]}
    expected = {
        "name": "py:patient",
        "syntax": "py:patient",
        "description": "Blocks before it wins",
        "variants": "",
        "package": "noughts-patient",
    }
    assert {column: rows["py:patient"][column] for column in expected} == expected
    assert rows["random"]["package"] is None
    assert rows["py:broken"]["package"] == "noughts-faulty"
    output = run_noughts(["bot", "list"], {**installed, "COLUMNS": "160"}).stdout
    assert "py:patient" in output
    assert "noughts-patient 1.0" in output


def test_a_bot_of_a_package_plays_by_its_name(installed: dict[str, str], tmp_path: Path) -> None:
    document = json_of_process(
        "bot check py:patient --games 40 --variant mnk:5,5,4", {**installed, "PWD": str(tmp_path)}
    )
    assert document["faults"] == []
    assert document["repeats"] is True
    assert document["wins"] > 2 * document["losses"]
    with_option = json_of_process("bot check py{plies=25}:patient --games 40 --variant mnk:5,5,4", installed)
    assert with_option["faults"] == []
    assert with_option["wins"] < document["wins"]


def test_bot_ask_finds_a_bot_of_a_package_by_its_name(installed: dict[str, str]) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "noughts_server.cli", "bot", "ask", "py:patient", "--format", "json"],
        input="XX.OO.... X\n", env=installed, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["move"] == 5


@pytest.mark.parametrize(
    "name, complaint",
    [
        ("patien", "got name 'patien', expected the installed broken, patient, twice; did you mean py:patient?"),
        ("broken", "got RuntimeError: imported, expected a module that can be imported; reinstall or fix the package"),
        ("twice", "got a bot from noughts-faulty and noughts-other, expected one from a single package"),
    ],
)
def test_a_bot_of_a_package_that_cannot_be_loaded_is_refused(
    installed: dict[str, str], name: str, complaint: str
) -> None:
    command = [sys.executable, "-m", "noughts_bots.hosts", "py", name]
    process = subprocess.run(
        command, env=installed, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 1
    assert process.stdout == ""
    assert complaint in process.stderr.splitlines()[-1]
