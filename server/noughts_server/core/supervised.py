"""The child's side of `runtime.supervised_child`: it reads its first line, and ends together with its parent."""

import asyncio
import os
import signal
import sys


def first_line() -> str:
    """Return the first line of stdin. End this process if the parent has already ended.

    It reads single bytes, because a buffer would hide the following ones from the event loop.
    """
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) != b"\n":
        if not byte:
            sys.exit(0)
        line += byte
    return line.decode()


def stop_requested() -> asyncio.Event:
    """Return an event that is set by SIGTERM, and at the end of stdin, that is at the end of the parent.

    Ctrl-C in a terminal reaches both processes, but only the parent decides when this one stops. Call it inside the
    event loop.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    stdin = sys.stdin.fileno()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop.add_signal_handler(signal.SIGTERM, stopping.set)

    def stop_without_parent() -> None:
        if not os.read(stdin, 1):
            loop.remove_reader(stdin)
            stopping.set()

    loop.add_reader(stdin, stop_without_parent)
    return stopping
