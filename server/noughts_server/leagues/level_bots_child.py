"""The process of the house bots: it logs in a bot for each level, and opens their ladders.

The first line of its stdin is JSON with the server's address, a token, and the name of each bot by its spec. It ends at
the end of its stdin, that is at the end of its parent.
"""

import asyncio
import json
import os

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.process import tune_collector
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.unhurried import Unhurried
from noughts_server.core.supervised import first_line, stop_requested
from noughts_server.leagues.ladders import log_in, start_ladders
from noughts_server.leagues.level_bots import level_ladders

_LOWEST_PRIORITY = 19
_GAMES = 4
"""Concurrent games of each bot."""
_PAUSE_SECONDS = 0.1
"""The wait before each move, so that a fast opponent does not fill the database with games."""


async def _play(server: str, token: str, names: dict[str, str]) -> None:
    tune_collector()
    stopping = stop_requested()
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
    os.nice(_LOWEST_PRIORITY)
    run_loop(_play(**json.loads(first_line())))


if __name__ == "__main__":
    main()
