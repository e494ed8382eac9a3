"""Shells that run the commands of a page in the environment of a new user."""

import asyncio
import os
import re
import signal
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.support.root import ROOT

STEP_SECONDS = 60
"""How long a shell can take to end."""


def blocks(page: str) -> list[str]:
    """Return the blocks of commands of a page."""
    return re.findall(r"```bash\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def newcomers_environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user with an empty home and no settings, except the machine's settings of pip."""
    home = tmp_path / "home"
    home.mkdir()
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("NOUGHTS_", "XDG_", "PYTHON"))
    }
    for name in ("VIRTUAL_ENV", "GRPC_VERBOSITY"):
        variables.pop(name, None)
    # `python3` is the interpreter that runs the tests, outside its own environment.
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)))
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # Without compilation by pip, the installation takes half the time.
    return {**variables, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "PATH": path, "PIP_NO_COMPILE": "1"}


class Shell:
    """A shell that runs a block of commands, and its output so far."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.output = ""
        self._new_output = asyncio.Event()

    async def read(self) -> None:
        """Read the output until the shell ends."""
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(4096):
            self.output += data.decode(errors="replace")
            self._new_output.set()

    async def wait_for(self, *texts: str, within: float) -> None:
        """Wait until the output contains all these texts; fail after `within` seconds."""
        deadline = time.monotonic() + within
        while not all(text in self.output for text in texts):
            assert self.process.returncode is None, f"the shell ended; its output was:\n{self.output}"
            assert time.monotonic() < deadline, f"expected {texts} within {within} s; the output was:\n{self.output}"
            self._new_output.clear()
            try:
                async with asyncio.timeout(1):
                    await self._new_output.wait()
            except TimeoutError:
                continue


@asynccontextmanager
async def run_shell(block: str, folder: Path, environment: dict[str, str]) -> AsyncIterator[Shell]:
    """Run a block in a shell, and send SIGTERM to its process group at the end."""
    process = await asyncio.create_subprocess_exec(
        "sh", "-e", "-c", block, cwd=folder, env=environment, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )
    shell = Shell(process)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(shell.read())
        try:
            yield shell
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            async with asyncio.timeout(STEP_SECONDS):
                await process.wait()
