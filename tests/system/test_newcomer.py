"""The way of a newcomer: the three terminals of the tutorial, and the quick starts of the README, as written there."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from noughts_proto.transport import DEFAULT_SERVER
from tests.support.root import ROOT

INSTALL_SECONDS, STEP_SECONDS = 240, 60

pytestmark = pytest.mark.timeout(INSTALL_SECONDS + 3 * STEP_SECONDS)


def terminals() -> list[str]:
    """What the tutorial says for each of the three."""
    found = blocks("docs/tutorials/your-first-bot.md")
    assert len(found) == 3
    return found


def blocks(page: str) -> list[str]:
    """Return the blocks of commands of a page."""
    return re.findall(r"```bash\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A fresh copy of what a clone holds."""
    copy = tmp_path / "noughts"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Somebody with an empty home and no settings; how pip reaches its packages is the machine's business."""
    home = tmp_path / "home"
    home.mkdir()
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("NOUGHTS_", "XDG_", "PYTHON"))}
    for name in ("VIRTUAL_ENV", "GRPC_VERBOSITY"):
        ours.pop(name, None)
    # `python3` is the interpreter that runs the tests, outside its own environment.
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)))
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # Python compiles what it loads; to have pip compile all of it takes half of the time.
    return {**ours, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "PATH": path, "PIP_NO_COMPILE": "1"}


class Terminal:
    """A shell that runs a block, and what has been shown so far."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.shown = ""
        self._news = asyncio.Event()

    async def read(self) -> None:
        """Until it ends."""
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(4096):
            self.shown += data.decode(errors="replace")
            self._news.set()

    async def shows(self, *texts: str, within: float) -> None:
        """Returns when all these have been shown."""
        deadline = time.monotonic() + within
        while not all(text in self.shown for text in texts):
            assert self.process.returncode is None, f"it ended; it showed:\n{self.shown}"
            assert time.monotonic() < deadline, f"expected {texts} within {within} s; it showed:\n{self.shown}"
            self._news.clear()
            try:
                async with asyncio.timeout(1):
                    await self._news.wait()
            except TimeoutError:
                continue


@asynccontextmanager
async def terminal(block: str, folder: Path, environment: dict[str, str]) -> AsyncIterator[Terminal]:
    """Closed at the end of the block, as one closes a window."""
    process = await asyncio.create_subprocess_exec(
        "sh", "-e", "-c", block, cwd=folder, env=environment, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )
    shell = Terminal(process)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(shell.read())
        try:
            yield shell
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            async with asyncio.timeout(STEP_SECONDS):
                await process.wait()


async def test_the_tutorial_of_a_league_works_as_written(folder: Path, environment: dict[str, str]) -> None:
    began = time.monotonic()
    serving, playing, organising = terminals()
    # Any free port takes the place of the one that everybody knows without being told: two runs may meet here.
    assert f"# {DEFAULT_SERVER}" in serving
    serving, asked = re.subn(
        r"^noughts serve\b", "noughts serve --no-web --listen 127.0.0.1:0", serving, flags=re.MULTILINE
    )
    assert asked == 1
    async with terminal(serving, folder, environment) as first:
        await first.shows("serves at ", "Ctrl-C", within=INSTALL_SECONDS)
        [address] = re.findall(r"serves at (127\.0\.0\.1:\d+)", first.shown)
        organising = organising.replace(DEFAULT_SERVER, address)
        environment["NOUGHTS_SERVER"] = address
        async with terminal(playing, folder, environment) as second:
            await second.shows("bots/rival", "bots/centre", within=STEP_SECONDS)
            async with terminal(organising, folder, environment) as third:
                async with asyncio.timeout(STEP_SECONDS):
                    code = await third.process.wait()
            assert code == 0, third.shown
    shown = third.shown
    assert "2,000" in shown or "2000" in shown
    assert shown.count("rival") > 3
    assert "provisional" not in shown.lower()
    assert (folder / "ada.token").read_text().startswith("nou_")
    assert time.monotonic() - began < 600


@pytest.mark.parametrize("number", range(4), ids=["bot author", "organiser", "operator", "researcher"])
async def test_quick_start_of_the_readme_works_as_written(
    number: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    # Any free port takes the place of the usual one: two runs may meet here.
    serving = (
        "noughts serve --no-web --listen 127.0.0.1:0 > serve.txt 2>&1 &\n"
        "until grep -q 'serves at' serve.txt; do sleep 0.1; done\n"
        "export NOUGHTS_SERVER=$(grep -o '127.0.0.1:[0-9]*' serve.txt | head -n 1)"
    )
    block = re.sub(r"^noughts serve &.*\nsleep 3$", lambda _: serving, blocks("README.md")[number], flags=re.MULTILINE)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    async with terminal(block, tmp_path, environment) as shell, asyncio.timeout(STEP_SECONDS):
        code = await shell.process.wait()
    assert code == 0, shell.shown
