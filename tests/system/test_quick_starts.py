"""The commands of the league tutorial in its three terminals, and the quick starts of the README, as written."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noughts_proto.transport import DEFAULT_SERVER
from tests.support.root import ROOT

from .shells import STEP_SECONDS, blocks, newcomers_environment, run_shell

INSTALL_SECONDS = 240

pytestmark = [pytest.mark.timeout(INSTALL_SECONDS + 3 * STEP_SECONDS), pytest.mark.at_length]


def terminals() -> list[str]:
    """Return the tutorial's commands for each of its three terminals."""
    commands = blocks("docs/tutorials/first-league.md")
    assert len(commands) == 3
    return commands


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the files that a clone has."""
    copy = tmp_path / "noughts"
    process = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, process.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return newcomers_environment(tmp_path)


async def test_the_tutorial_of_a_league_works_as_written(folder: Path, environment: dict[str, str]) -> None:
    serving, playing, organising = terminals()
    # A free port replaces the default one, because two runs can be on one machine.
    assert f"# {DEFAULT_SERVER}" in serving
    serving, replaced = re.subn(
        r"^noughts serve\b", "noughts serve --no-web --listen 127.0.0.1:0", serving, flags=re.MULTILINE
    )
    assert replaced == 1
    async with run_shell(serving, folder, environment) as first:
        await first.wait_for("serves at ", "Ctrl-C", within=INSTALL_SECONDS)
        [address] = re.findall(r"serves at (127\.0\.0\.1:\d+)", first.output)
        organising = organising.replace(DEFAULT_SERVER, address)
        environment["NOUGHTS_SERVER"] = address
        async with run_shell(playing, folder, environment) as second:
            await second.wait_for("bots/rival", "bots/centre", within=STEP_SECONDS)
            async with run_shell(organising, folder, environment) as third:
                async with asyncio.timeout(STEP_SECONDS):
                    code = await third.process.wait()
            assert code == 0, third.output
    output = third.output
    assert "2,000" in output or "2000" in output
    assert output.count("rival") > 3
    assert "provisional" not in output.lower()
    assert (folder / "ada.token").read_text().startswith("nou_")


@pytest.mark.parametrize("number", range(4), ids=["bot author", "organiser", "operator", "researcher"])
async def test_quick_start_of_the_readme_works_as_written(
    number: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    # A free port replaces the default one, because two runs can be on one machine.
    serving = (
        "noughts serve --no-web --listen 127.0.0.1:0 > serve.txt 2>&1 &\n"
        "until grep -q 'serves at' serve.txt; do sleep 0.1; done\n"
        "export NOUGHTS_SERVER=$(grep -o '127.0.0.1:[0-9]*' serve.txt | head -n 1)"
    )
    block = re.sub(r"^noughts serve &.*\nsleep 3$", lambda _: serving, blocks("README.md")[number], flags=re.MULTILINE)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    async with run_shell(block, tmp_path, environment) as shell, asyncio.timeout(STEP_SECONDS):
        code = await shell.process.wait()
    assert code == 0, shell.output
