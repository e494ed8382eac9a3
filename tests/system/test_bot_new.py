"""`noughts bot new`: each project is written, built, and passes its own check."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from noughts_server.scaffolds import LANGUAGES
from tests.support.node import NODE
from tests.support.processes import environment, json_of, run_noughts
from tests.support.root import ROOT
from tests.support.tools import cargo, compiler, zig

ABI = ROOT / "bots" / "examples" / "rust" / "src" / "abi.rs"


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """Environment variables with a PATH on which `noughts`, the compilers and Node are found."""
    folder = tmp_path / "tools"
    folder.mkdir()
    commands = {
        "noughts": (sys.executable, "-m", "noughts_server.cli"),
        "zig": zig(),
        "cc": compiler("cc"),
        "go": (str(Path(sys.executable).with_name("go")),),
        "node": (str(NODE),),
    }
    for name, command in commands.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
        program.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    return {**environment(), "PATH": path, "GOCACHE": str(ROOT / "build" / "go"), "GOTOOLCHAIN": "local"}


@pytest.mark.at_length
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_project_is_built_and_passes_its_own_check(tmp_path: Path, tools: dict[str, str], language: str) -> None:
    if language == "rust":
        cargo()
    folder = tmp_path / "my-bot"
    document = json_of(f"bot new my-bot --language {language} --folder {folder}", tools)
    assert {"README.md", "Makefile", ".github/workflows/check.yml", ".gitignore"} <= set(document["files"])
    texts = [file.read_text() for file in folder.rglob("*") if file.is_file()]
    assert not any("$NAME" in text or "$CLASS" in text or "$SPEC" in text for text in texts)
    process = subprocess.run(
        ["make", "check"], cwd=folder, env=tools, capture_output=True, text=True, timeout=110, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "\nNothing is wrong.\n" in process.stdout
    suite = ElementTree.parse(folder / "check.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("35", "0")
    if language in ("c", "zig"):
        subprocess.run(["make", "wasm"], cwd=folder, env=tools, capture_output=True, timeout=110, check=True)
        assert "Nothing is wrong." in run_noughts(["bot", "check", f"wasm:{folder}/my-bot.wasm"], tools).stdout


def test_check_of_a_project_plays_the_only_variant_of_its_bot(tmp_path: Path, tools: dict[str, str]) -> None:
    folder = tmp_path / "drop"
    json_of(f"bot new drop --folder {folder}", tools)
    bot = folder / "bot.py"
    bot.write_text(re.sub(r"variants = .*", 'variants = ("connect4",)', bot.read_text()))
    process = subprocess.run(["make", "check"], cwd=folder, env=tools, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "10 games of connect4 against random moves" in process.stdout
    # CI runs the same command, in an action that names no variant either.
    assert "variant:" not in (folder / ".github/workflows/check.yml").read_text()


def test_the_contract_in_rust_is_that_of_the_example() -> None:
    template = ROOT / "server" / "noughts_server" / "scaffolds" / "rust" / "src" / "abi.rs.template"
    assert template.read_text() == ABI.read_text()


@pytest.mark.parametrize(
    "line, code, complaint",
    [
        ("bot new My-Bot", 2, "NAME 'My-Bot': expected 1 to 40 from a-z"),
        ("bot new mine --language cobol", 2, "--language 'cobol': expected one of python, c, zig, rust, node, go"),
        ("bot new mine --folder {full}", 1, "it already exists, and is not empty"),
    ],
)
def test_a_project_that_cannot_be_created_is_refused(tmp_path: Path, line: str, code: int, complaint: str) -> None:
    (tmp_path / "file").write_text("x")
    assert complaint in run_noughts(line.format(full=tmp_path).split(), environment(), code=code).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
