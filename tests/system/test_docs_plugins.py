"""The plugins in docs/how-to/writing-a-bot.md: the tests write its files into a folder, and run its commands there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import environment
from tests.support.root import ROOT
from tests.support.tools import cargo, compiler

pytestmark = pytest.mark.at_length

GUIDE = (ROOT / "docs" / "how-to" / "writing-a-bot.md").read_text()


def named_blocks(language: str) -> dict[str, str]:
    """Return the fenced blocks of this language that have a name, by name."""
    return dict(re.findall(rf"^```{language} (\S+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL))


FILES = {name: text for language in ("python", "c", "rust") for name, text in named_blocks(language).items()}
COMMANDS = named_blocks("sh")


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_of_the_guide_find_nothing_wrong_with_its_plugins(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "mine"
    if name == "rust":
        shutil.copytree(ROOT / "bots" / "examples" / "rust", folder, ignore=shutil.ignore_patterns("target"))
    for file, text in FILES.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    python = sys.executable
    called = {"noughts": (python, "-m", "noughts_server.cli"), "python": (python,), "cc": compiler("cc")}
    if name == "rust":
        called["cargo"] = (cargo(),)
    for program, command in called.items():
        (tmp_path / program).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (tmp_path / program).chmod(0o755)
    variables = environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    process = subprocess.run(
        ["sh", "-e", "-c", COMMANDS[name]],
        cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert process.returncode == 0, f"{process.stdout}\n{process.stderr}"
    assert process.stdout.count("Nothing is wrong.") == COMMANDS[name].count("bot check")
    assert "crashed" not in process.stdout


def test_the_guide_has_a_plugin_of_each_kind() -> None:
    assert {"py", "c", "rust", "dial"} <= set(COMMANDS)
    assert {"centre.py", "sides.c", "src/lib.rs", "edges.py"} <= set(FILES)
