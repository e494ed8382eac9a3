"""A forked child waits for its order, enters the sandbox, and becomes its program or runs the entry."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from noughts_proto.forking import Program, exit_code
from noughts_referee.children import kernel
from noughts_referee.children.command import resolve
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox import Limits, Sandbox
from noughts_referee.children.unsandboxed import ALLOWED, sandbox_refusal

LARGEST_PACKET = 128 * 1024
"""Bytes of a request."""
PIPES = 3
"""The number of descriptors that come with an order."""

_CANNOT_RUN = 126
"""The exit code of a child that could not run its program, as in shells."""
_CHILDREN_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Entry:
    """The code of children that are not programs of their own."""

    run: Program
    """Takes KIND TARGET key=value ... and returns the exit code."""
    rehearse: Callable[[], None]
    """Does the first steps of every child, without any effect."""


def run_child(orders: int, parent: int, entry: Entry, limits: Limits, handled: Iterable[signal.Signals]) -> NoReturn:
    """Run a forked process to its end. It must never return into the zygote's loop.

    `orders` is the file descriptor of the socket with its order. `handled` are the signals that the zygote handles.
    """
    code = _CANNOT_RUN
    name = ""
    try:
        _leave(orders, handled)
        _rehearse(entry, limits)
        order, pipes = _receive(orders)
        name = f"{order['kind']}:{order['target']}: "
        command = resolve(ChildCommand(order["kind"], order["target"], order["options"]))
        if order["memory_bytes"]:
            limits = replace(limits, memory_bytes=order["memory_bytes"])
        programs = command.kind.starts_programs
        sandbox = Sandbox(
            limits=limits,
            scratch=order["scratch"],
            readable=command.readable,
            programs=programs,
            user=order["user"],
            tasks=order["tasks"],
            port=order["port"],
        )
        folder = order["folder"] or sandbox.scratch
        _take_place(pipes, folder, sandbox.scratch, order["environment"], reaps=programs)
        if command.kind.target == "command" and (refused := sandbox_refusal(command.words)):
            raise ValueError(f"got {refused}, expected {ALLOWED}; use --no-lock")
        if order["cores"]:
            os.sched_setaffinity(0, order["cores"])
        try:
            sandbox.restrict()
        except OSError as error:
            raise OSError(f"this machine does not allow the sandbox: {error}") from error
        if os.getppid() == parent:
            if not command.kind.hosted:
                words = command.words
                for number in (
                    signal.SIGPIPE,
                    signal.SIGXFSZ,
                ):  # Programs would inherit that Python ignores these signals.
                    signal.signal(number, signal.SIG_DFL)
                os.execv(words[0], words)
            options = [f"{key}={value}" for key, value in command.options.items()]
            code = exit_code(entry.run, [command.kind.name, command.target, *options])
    except (OSError, ValueError) as error:
        os.write(2, f"{name}{error}\n".encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _rehearse(entry: Entry, limits: Limits) -> None:
    """Do the steps of a real order that have no effect.

    A fork shares memory with its parent until it writes, and reference counts are writes. Copying pages took half of
    the time to a bot's first answer. The rehearsal copies them before the order comes.
    """
    with suppress(Exception):  # The error will occur again in the real run.
        command = resolve(ChildCommand("py", "rehearsal.py:Bot"))
        Sandbox(
            limits=limits,
            scratch="/",
            readable=command.readable,
            programs=command.kind.starts_programs,
            user=None,
            tasks=0,
        ).rehearse()
        _environment("/")
        entry.rehearse()


def _leave(orders: int, handled: Iterable[signal.Signals]) -> None:
    """Leave the zygote's signals, files and session, except for the socket with the order."""
    kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in handled:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
    kernel.close_files(PIPES, orders - 1)
    kernel.close_files(orders + 1)
    os.setsid()
    kernel.nice_own_session()
    os.umask(0o077)


def _receive(orders: int) -> tuple[dict[str, Any], list[int]]:
    """Return the order and the pipes. End the process if the zygote is gone."""
    with socket.socket(fileno=orders) as source:
        packet, pipes, _, _ = socket.recv_fds(source, LARGEST_PACKET, PIPES)
        while part := source.recv(LARGEST_PACKET):
            packet += part
    if not packet:
        os._exit(0)
    order: dict[str, Any] = json.loads(packet)
    return order, pipes


def _take_place(pipes: list[int], folder: str, scratch: str, environment: dict[str, str], *, reaps: bool) -> None:
    """Make the pipes standard input, output and error, close all other files, and change to the folder."""
    for fd, pipe in enumerate(pipes):
        os.dup2(pipe, fd)
    kernel.close_files(PIPES)
    os.chdir(folder)
    own = _environment(scratch) | environment
    os.environ.clear()
    os.environ.update(own)
    if reaps:
        kernel.control_process(kernel.SET_CHILD_SUBREAPER, 1)


def _environment(scratch: str) -> dict[str, str]:
    inherited = {key: os.environ[key] for key in ("LANG", "PYTHONPATH") if key in os.environ}
    return {"PATH": _CHILDREN_PATH, "HOME": scratch, "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1", **inherited}
