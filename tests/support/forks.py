"""Processes of our own modules are forked from processes that have loaded them, because a start takes half a second.

A forked process is a child of this process, as if it had been started.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.support.forking import MOST_FILES, ROOM
from tests.support.patience import PATIENCE
from tests.support.root import ROOT

_LOADED: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "noughts_server.cli": (
            "noughts_bots.connection.session",
            "noughts_bots.reference.specs",
            "noughts_server.cli.app",
            "noughts_server.cli.commands.bot.run",
            "noughts_server.cli.commands.match",
            "noughts_server.cli.commands.serve",
            "noughts_server.cli.processes.interrupts",
            "noughts_server.cli.processes.serving",
            "noughts_server.client.client",
            "noughts_server.launching.relay",
            "noughts_server.server",
            "noughts_server.store.engine.database",
        ),
        "noughts_referee.children.zygote": (
            "noughts_bots.hosts.warm",
            "noughts_referee.children.forked_child",
            "noughts_referee.children.scratch_disks",
            "noughts_referee.children.watch",
        ),
    }
)
"""The modules that are forked, and what is loaded for each of them."""
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TERMINAL_WIDTH")
"""The beginnings of variables that Python or a library reads when it is loaded."""
_ANSWER_SECONDS = 2 * PATIENCE
"""The longest time of a fork. The first one waits until the modules are loaded."""


def fork_known_modules() -> None:
    """From now on, fork each process that runs a module of `_LOADED`.

    It is started if its variables of `_READ_AT_START` differ from those of this process, or if it needs more than
    arguments, variables, files, a folder and a session.
    """
    if sys.platform != "linux":
        return
    start = subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def fork_or_start(
        self: Any, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any, env: Any,
        startupinfo: Any, creationflags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int,
        errread: int, errwrite: int, restore_signals: Any, gid: Any, gids: Any, uid: Any, umask: Any,
        start_new_session: Any, process_group: Any,
    ) -> None:  # fmt: skip
        words = [] if isinstance(args, str | bytes | Path) else list(map(os.fspath, args))
        module = _module_of(words)
        variables = dict(os.environ if env is None else env)
        if (
            module not in _LOADED
            or any(value is not None for value in (executable, preexec_fn, gid, gids, uid))
            or (umask, process_group) != (-1, -1)
            or len(pass_fds) + 4 > MOST_FILES
            or _variables_of_start(variables) != _VARIABLES
        ):
            start(
                self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
                p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
                start_new_session, process_group,
            )  # fmt: skip
            return
        sys.audit("subprocess.Popen", words[0], words, cwd, env)
        streams = [own if file == -1 else file for own, file in enumerate((p2cread, c2pwrite, errwrite))]
        request = {
            "descriptors": [0, 1, 2, *pass_fds],
            "command": words,
            "module": module,
            "environment": variables,
            "leads_session": bool(start_new_session),
        }
        self.pid = _fork([*streams, *pass_fds], cwd or ".", module, request)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    subprocess.Popen._execute_child = fork_or_start  # type: ignore[attr-defined]


def _variables_of_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}


_VARIABLES = _variables_of_start(os.environ)


def _module_of(words: Sequence[str]) -> str:
    """Return the name of the module that a command of this interpreter runs; empty if it runs no module."""
    match words:
        case [sys.executable, "-P", "-m", module, *_] | [sys.executable, "-m", module, *_]:
            return module
    return ""


class _ForkServer:
    """A process that forks others; see `tests.support.forking`. It ends with this process."""

    def __init__(self, module: str) -> None:
        self._requests, self._end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.settimeout(_ANSWER_SECONDS)
        self._requests.send(json.dumps(_LOADED[module]).encode())
        # A process can ask to end with the thread that started it: here with a thread that lasts.
        self._is_started = threading.Event()
        threading.Thread(target=self._start, name=f"forks of {module}", daemon=True).start()
        self._is_started.wait()
        atexit.register(self.close)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forking", str(self._end.fileno()), ROOM],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **_VARIABLES},
            pass_fds=[self._end.fileno()],
        )
        self._end.close()
        self._is_started.set()
        threading.Event().wait()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def fork(self, files: Sequence[int], request: Mapping[str, object]) -> int:
        """Fork a process with these files, and return its ID; a negative number is that of an error.

        If that fails or is interrupted, the server ends, so that no later call gets the answer of this one.
        """
        try:
            socket.send_fds(self._requests, [json.dumps(request).encode()], files)
            answer = self._requests.recv(64)
            if not answer:
                raise ChildProcessError("the process that forks others has ended")
            return int(answer)
        except BaseException:
            self._process.kill()
            self.close()
            raise

    def close(self) -> None:
        self._requests.close()
        self._process.wait(_ANSWER_SECONDS)


_servers: dict[str, _ForkServer] = {}
_lock = threading.Lock()


def _fork(files: Sequence[int], folder: str | Path, module: str, request: Mapping[str, object]) -> int:
    """Fork a process that runs the module with these files in this folder, and return its ID. Raises OSError."""
    folder_file = os.open(folder, os.O_PATH)
    try:
        with _lock:
            if module not in _servers or _servers[module].has_ended:
                _servers[module] = _ForkServer(module)
            pid = _servers[module].fork([folder_file, *files], request)
    finally:
        os.close(folder_file)
    if pid < 0:
        raise OSError(-pid, os.strerror(-pid))
    return pid
