"""Targets of probes outside the sandbox: a private folder, an open one, listening sockets, another process."""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.interpreter import python
from noughts_referee.children import sandbox_launcher
from tests.support import refusing


def processes_with(marker: str) -> list[int]:
    """Return the IDs of processes that have this text in their command line."""
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line:
                processes.append(int(entry.name))
    return processes


def refuse_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start zygotes without the right to mount, so that scratch folders are not separate disks."""
    refused = [sys.executable, refusing.__file__, refusing.MOUNT]
    monkeypatch.setattr(sandbox_launcher, "python", lambda *words: [*refused, *python(*words)])


@contextmanager
def _system_v() -> Iterator[tuple[int, int]]:
    """Create shared memory and a message queue that every user can open; the block gets their numbers."""
    libc = ctypes.CDLL(None)
    memory, queue = libc.shmget(0, 4096, 0o1666), libc.msgget(0, 0o1666)
    try:
        yield memory, queue
    finally:
        libc.shmctl(memory, 0, None)
        libc.msgctl(queue, 0, None)


@contextmanager
def targets(user: int | None) -> Iterator[dict[str, Any]]:
    """Create targets that only the sandbox protects from a child. `user` owns the files and the process `victim`."""
    with ExitStack() as stack:
        base = Path(tempfile.mkdtemp(prefix="noughts-targets-"))
        stack.callback(shutil.rmtree, base)
        base.chmod(0o755)
        for name in ("home", "open", "bot"):
            (base / name).mkdir()
            (base / name).chmod(0o777)
        for name, text in {"home/diary.txt": "dear diary", "open/full.txt": "full", "bot/weights.txt": "1 2 3"}.items():
            (base / name).write_text(text)
            (base / name).chmod(0o666)
            if user is not None:
                os.chown(base / name, user, user)
        near, far = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(base / "open" / "socket"))
        (base / "open" / "socket").chmod(0o777)
        unix.listen()
        memory, queue = stack.enter_context(_system_v())
        victim = stack.enter_context(subprocess.Popen(["/usr/bin/sleep", "600"], user=user))
        stack.callback(victim.kill)
        yield {
            "home": str(base / "home"),
            "open": str(base / "open"),
            "bot": str(base / "bot"),
            "socket": str(base / "open" / "socket"),
            "port": near.getsockname()[1],
            "other_port": far.getsockname()[1],
            "victim": victim.pid,
            "memory": memory,
            "queue": queue,
            "uid": os.getuid() if user is None else user,
        }
        assert victim.poll() is None, f"a process outside the sandbox ended with code {victim.poll()}"
