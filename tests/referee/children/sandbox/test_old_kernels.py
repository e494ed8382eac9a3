"""Kernels without Landlock or seccomp: the reported gaps, bots that still play, and commands that are refused."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support import refusing
from tests.support.processes import PROGRAM, environment

WITHOUT = {
    "no Landlock": refusing.LANDLOCK,
    "no seccomp": refusing.SECCOMP,
    "no filters": refusing.SECCOMP_FILTERS,
    "neither": f"{refusing.LANDLOCK},{refusing.SECCOMP}",
}
NO_LANDLOCK = ["files (no Landlock)", "ports (Landlock older than version 4)"]
if os.geteuid():
    # Children of root run as separate users, so they cannot signal each other. Other children need Landlock for this.
    NO_LANDLOCK.append("signals (Landlock older than version 6)")
GAPS = {
    "no Landlock": NO_LANDLOCK,
    "no seccomp": ["system calls (no seccomp)"],
    "no filters": ["system calls (no seccomp)"],
    "neither": [*NO_LANDLOCK, "system calls (no seccomp)"],
}
BOT = """
from noughts_bots import Bot


class First(Bot):
    def choose(self, position):
        return position.free[0]
"""


def noughts(without: str, line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, refusing.__file__, WITHOUT[without], *PROGRAM, *line.split()],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with the bot. Everyone can read it: without Landlock, children of root run as other users."""
    with TemporaryDirectory() as name:
        (folder := Path(name)).chmod(0o755)
        (folder / "bot.py").write_text(BOT)
        yield folder


@pytest.mark.at_length
@pytest.mark.parametrize("without", WITHOUT)
def test_bots_play_and_each_gap_is_reported_once(without: str, folder: Path) -> None:
    result = noughts(without, "match py:./bot.py:First random --games 4 --seed 1 --format json", folder)
    assert result.returncode == 0, result.stderr
    assert "crashed" not in result.stdout
    reports = [line for line in result.stderr.splitlines() if line.startswith("not sandboxed here: ")]
    assert len(reports) == len(GAPS[without]), result.stderr
    for gap in GAPS[without]:
        assert result.stderr.count(gap) == 1, result.stderr


@pytest.mark.parametrize(
    "line, without",
    [
        ("match py:./bot.py:First random --require-lock", "neither"),
        ("serve --accept py --no-web --listen 127.0.0.1:0 --db games.db", "no Landlock"),
        ("serve --accept py --no-web --listen 127.0.0.1:0 --db games.db", "no filters"),
    ],
)
def test_commands_that_require_the_sandbox_are_refused(line: str, without: str, folder: Path) -> None:
    result = noughts(without, line, folder)
    assert result.returncode == 1, result.stdout
    assert "Traceback" not in result.stderr
    refusal = result.stderr.splitlines()[-1]
    for gap in GAPS[without]:
        assert gap in refusal
