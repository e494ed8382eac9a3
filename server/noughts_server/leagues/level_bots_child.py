"""The process of the house bots: it logs in a bot for each level, and opens their ladders.

The first line of its stdin is JSON with the server's address, a token, and the name of each bot by its spec. It ends at
the end of its stdin, that is at the end of its parent.
"""

import asyncio
import json
import os
import signal
import sys

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.process import tune_collector
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.unhurried import Unhurried
from noughts_server.leagues.ladders import log_in, start_ladders
from noughts_server.leagues.level_bots import level_ladders

_LOWEST_PRIORITY = 19
_GAMES = 4
"""Concurrent games of each bot."""
_PAUSE_SECONDS = 0.1
"""The wait before each move, so that a fast opponent does not fill the database with games."""


async def _play(server: str, token: str, names: dict[str, str]) -> None:
    tune_collector()
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    stdin = sys.stdin.fileno()

    def stop_without_parent() -> None:
        if not os.read(stdin, 1):
            loop.remove_reader(stdin)
            stopping.set()

    loop.add_reader(stdin, stop_without_parent)
    async with asyncio.TaskGroup() as tasks:
        bots = {
            name: Unhurried(make_bot(parse_spec(spec)), _PAUSE_SECONDS, max_games=_GAMES)
            for spec, name in names.items()
        }
        sessions = await log_in(tasks, server, token, bots)
        await asyncio.to_thread(start_ladders, server, token, level_ladders(), names)
        await stopping.wait()
        for session in sessions:
            session.cancel()


def main() -> None:
    # Only the parent decides when this process ends, and Ctrl-C in a terminal reaches both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_LOWEST_PRIORITY)
    if line := _first_line():
        run_loop(_play(**json.loads(line)))


def _first_line() -> bytes:
    """Return the first line of stdin. Read single bytes, because a buffer would hide the end from the event loop."""
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
