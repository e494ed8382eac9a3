"""`noughts` as processes that are there in milliseconds: forked from one that has loaded everything it will need.

What is killed a thousand times must be started a thousand times, and the loading alone would take an hour.
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
    sys.path.append(str(ROOT))  # pytest finds this module without it; the forked processes do not
_CLOCK_BYTES = 8
_PATIENCE = 60.0


class WallClock:
    """The lead of the processes' wall clock over this machine's: they read it whenever they ask for the time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self.set(0)

    def set(self, ahead_seconds: float) -> None:
        """From now on their clock is so far ahead, or behind."""
        # In place: a file that is empty for a moment ends a process that looks there (SIGBUS).
        with self.path.open("r+b") as file:
            file.write(round(ahead_seconds * 1e9).to_bytes(_CLOCK_BYTES, sys.byteorder, signed=True))


class Forked:
    """A process that runs one function. What it says is in files."""

    def __init__(self, said: Path, run: Callable[..., object], *arguments: object) -> None:
        """`said` gets what it writes to stdout; what it writes to stderr is added to `said` with the suffix `.log`."""
        self.said = said
        said.unlink(missing_ok=True)
        self._process = _CONTEXT.Process(target=_become, args=(str(said), run, arguments), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        """Does it still run?"""
        return self._process.is_alive()

    def last_line(self) -> str:
        """Return its name, its exit code if it has ended, and the last line of its log."""
        log = Path(f"{self.said}.log")
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return f"{self.said.name} (exit code {self._process.exitcode}): {lines[-1] if lines else 'nothing'}"

    def signal(self, number: int) -> None:
        """Sends it a signal, if it still runs."""
        if self.alive:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it with SIGKILL, and waits until it is gone."""
        self.signal(signal.SIGKILL)
        self._process.join(_PATIENCE)

    def stop(self) -> int:
        """Ends it with SIGTERM; returns its exit code."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self._process.join(_PATIENCE)
        code = self._process.exitcode
        assert code is not None, f"{self.said.name} does not end by SIGTERM"
        return code


def noughts(
    arguments: Sequence[str], said: Path, variables: Mapping[str, str], clock: WallClock | None = None
) -> Forked:
    """A process of `noughts` with these arguments, and these variables in its environment."""
    return Forked(said, command_line, list(arguments), dict(variables), clock and str(clock.path))


def _become(said: str, run: Callable[..., object], arguments: tuple[object, ...]) -> None:
    """Turn this process into a process of `noughts`."""
    for fd, path in ((1, said), (2, f"{said}.log")):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, fd)
        os.close(opened)
    run(*arguments)


def command_line(arguments: list[str], variables: dict[str, str], clock: str | None = None) -> None:
    """Run the command of a process of `noughts`."""
    os.environ.update(variables)
    if clock is not None:
        _follow(clock)
    sys.argv = ["noughts", *arguments]
    from noughts_server.cli import main

    main()


def _follow(clock: str) -> None:
    """Makes the wall clock of this process the one that is kept in the file."""
    with open(clock, "rb") as file:
        ahead = mmap.mmap(file.fileno(), _CLOCK_BYTES, access=mmap.ACCESS_READ)
    real = time.time_ns
    time.time_ns = lambda: real() + int.from_bytes(ahead[:], sys.byteorder, signed=True)
