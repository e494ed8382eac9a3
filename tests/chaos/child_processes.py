"""Processes of `noughts` that start in milliseconds: forks of a process that has loaded all modules.

Tests that kill a process a thousand times must start it a thousand times; loading alone would take an hour.
"""

import mmap
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.root import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "noughts_server.cli.commands.serve",
        "noughts_server.cli.processes.serving",
        "noughts_server.cli.commands.bot.run",
        "noughts_server.launching.relay",
        "noughts_server.cli.commands.referee",
        "noughts_server.referee_node",
        "noughts_server.cluster.control",
        "noughts_server.store.engine.database",
        "noughts_bots.connection.session",
        "noughts_bots.reference.random_",
    ]
)
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # pytest finds this module without it, forked processes do not
_CLOCK_BYTES = 8
"""Size of the shared number of nanoseconds by which the clock is ahead."""
_PATIENCE = 60.0
"""Limit of the wait for the end of a process, in seconds."""


class WallClock:
    """The wall clock of processes: that of this machine plus an offset in a file, which they read at each use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self.set(0)

    def set(self, ahead_seconds: float) -> None:
        """Set the offset; a negative one puts the clock back."""
        # Write in place: a process that reads an empty file through its mapping is ended by SIGBUS.
        with self.path.open("r+b") as file:
            file.write(round(ahead_seconds * 1e9).to_bytes(_CLOCK_BYTES, sys.byteorder, signed=True))


class ForkedProcess:
    """A process that runs one function. Its output is in files."""

    def __init__(self, output: Path, run: Callable[..., object], *arguments: object) -> None:
        """Write stdout to the new file `output`, and append stderr to the file of this name with the suffix `.log`."""
        self.output = output
        output.unlink(missing_ok=True)
        self._process = _CONTEXT.Process(target=_run_redirected, args=(str(output), run, arguments), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.is_alive()

    def last_line(self) -> str:
        """Return the name, the exit code (None while it runs) and the last line of the log."""
        log = Path(f"{self.output}.log")
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return f"{self.output.name} (exit code {self._process.exitcode}): {lines[-1] if lines else 'nothing'}"

    def signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.alive:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process with SIGKILL, and wait until it has ended."""
        self.signal(signal.SIGKILL)
        self._process.join(_PATIENCE)

    def stop(self) -> int:
        """End the process with SIGTERM, and return its exit code."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self._process.join(_PATIENCE)
        code = self._process.exitcode
        assert code is not None, f"{self.output.name} does not end by SIGTERM"
        return code


def noughts(
    arguments: Sequence[str], output: Path, variables: Mapping[str, str], clock: WallClock | None = None
) -> ForkedProcess:
    """Start `noughts` with these arguments, environment variables and wall clock."""
    return ForkedProcess(output, command_line, list(arguments), dict(variables), str(clock.path) if clock else None)


def _run_redirected(output: str, run: Callable[..., object], arguments: tuple[object, ...]) -> None:
    """Run a function in the forked process, with stdout and stderr in files."""
    for fd, path in ((1, output), (2, f"{output}.log")):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, fd)
        os.close(opened)
    run(*arguments)


def command_line(arguments: list[str], variables: dict[str, str], clock: str | None = None) -> None:
    """Run the command of a process of `noughts`."""
    os.environ.update(variables)
    if clock is not None:
        _use_clock(clock)
    sys.argv = ["noughts", *arguments]
    from noughts_server.cli import main

    main()


def _use_clock(clock: str) -> None:
    """Add the offset in this file to the wall clock of this process, at each use."""
    with open(clock, "rb") as file:
        ahead = mmap.mmap(file.fileno(), _CLOCK_BYTES, access=mmap.ACCESS_READ)
    real = time.time_ns
    time.time_ns = lambda: real() + int.from_bytes(ahead[:], sys.byteorder, signed=True)
