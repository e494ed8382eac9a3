"""Bad habits of bots in Python, which are programs, plugins or Gomocup engines.

A process has one habit, and misbehaves with its second move of each game. If a forbidden action is refused, it
continues to play; else it resigns, so that its games show that the sandbox had no effect.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

HOG_BYTES = 2048 * 1024 * 1024
MOST_FORKS = 200
LINE_BYTES = 50_000_000
PAUSE_SECONDS = 0.002
"""Seconds between blocks of lines of an endless output, which leave other processes some time of the cores."""
_printed_habits: list[str] = []
"""Habits whose output has been printed; it is printed only once."""


class Allowed(Exception):
    """An action that should have been refused had an effect."""


def wait_for_ever() -> NoReturn:
    while True:
        signal.pause()


def wait_for_the_end() -> NoReturn:
    """Wait until the referee closes the pipe, and exit."""
    while os.read(0, 1 << 16):
        pass
    os._exit(0)


def write(data: bytes) -> None:
    """Write all of it to standard output."""
    while data:
        data = data[os.write(1, data) :]


def begin(habit: str) -> None:
    """Act before the process is ready."""
    match habit:
        case "never starts":
            wait_for_ever()
        case "dies at once":
            os.write(2, b"no licence found\n")
            os._exit(9)
        case "slow start":
            time.sleep(1.0)
        case "ignores the end":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def misbehave(habit: str, ground: str) -> None:
    """Act before the second move. `ground` is FOLDER:PORT, where it tries forbidden actions.

    Raises Allowed.
    """
    folder, _, port = ground.rpartition(":")
    match habit:
        case "crash":
            os.write(2, b"what a pity\n")
            os._exit(3)
        case "exit":
            sys.stderr.write("good bye\n")
            sys.exit(7)
        case "segfault":
            os.write(2, b"a pointer to nowhere\n")
            ctypes.string_at(8)
        case "hang":
            wait_for_ever()
        case "hang ignoring SIGTERM":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            wait_for_ever()
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "loop":
            while True:
                pass
        case "late":
            time.sleep(2.0)
        case "print":
            write(b"MESSAGE My move is the centre\n")
        case "endless output":
            while True:
                write(b"MESSAGE once more\n" * 500)
                time.sleep(PAUSE_SECONDS)
        case "50 MB" if not _printed_habits:
            _printed_habits.append(habit)
            write(b"MESSAGE " + bytes(LINE_BYTES) + b"\n")
        case "memory":
            with contextlib.suppress(MemoryError):
                raise Allowed(f"{len(bytearray(HOG_BYTES))} bytes")
        case "fork bomb":
            for _ in range(MOST_FORKS):
                try:
                    pid = os.fork()
                except OSError:
                    return
                if pid == 0:
                    wait_for_ever()
            raise Allowed(f"{MOST_FORKS} processes")
        case "files":
            with contextlib.suppress(PermissionError):
                raise Allowed(Path("/etc/passwd").read_text())
            with contextlib.suppress(PermissionError):
                raise Allowed(f"{Path(folder, 'mine.txt').write_text('here')} characters")
        case "network":
            with contextlib.suppress(PermissionError):
                raise Allowed(str(socket.create_connection(("127.0.0.1", int(port)), timeout=5)))
        case "leaves a process":
            script = "import signal; print('there', flush=True); signal.pause()"
            with contextlib.suppress(PermissionError):
                left = subprocess.Popen([sys.executable, "-c", script, ground], process_group=0, stdout=subprocess.PIPE)
                assert left.stdout is not None
                left.stdout.readline()
                os._exit(4)
