"""The house bots of `noughts serve --house-bots levels`: a bot for each level, and an open ladder for each game.

They play in a child process of the lowest priority, so that they take only what others leave. They are anchors: their
ratings are fixed, and they never meet each other. So they only play if another bot is in the ladder.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from noughts_bots.reference.levels.table import levels
from noughts_proto.security import local_address
from noughts_server.leagues.ladders import Ladder, usable_name
from noughts_server.runtime.supervised_child import supervised_child
from noughts_server.server import Server
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.anchors import register_anchor
from noughts_server.store.people.tokens import HOUSE_OWNER, temporary_token

logger = structlog.get_logger("noughts.server")

_LABEL = "house bots"
_CHILD = "noughts_server.leagues.level_bots_child"
_BOARDS = 16
"""Concurrent games of each ladder."""
_TIME = "60+1"
_TITLES = {"tictactoe": "Noughts and crosses", "connect4": "Connect Four", "gomoku": "Five in a row", "qubic": "Qubic"}


def level_ladders() -> list[Ladder]:
    """Return the open ladder of each game, with the specs of its levels."""
    return [
        Ladder(
            name=f"levels-{variant}",
            title=f"{_TITLES[variant]} against levels",
            variant=variant,
            time=_TIME,
            bots=tuple(f"level:elo={elo}" for elo in rows),
            boards=_BOARDS,
        )
        for variant, rows in levels().items()
    ]


@asynccontextmanager
async def playing_levels(server: Server) -> AsyncIterator[list[str]]:
    """Keep the level bots online and their ladders open inside the block. Yield the names of the ladders."""

    def register_anchors(connection: Connection) -> dict[str, str]:
        now = server.store.now_ms()
        names = {}
        for elo in sorted({elo for rows in levels().values() for elo in rows}):
            name = usable_name(connection, f"level-{elo}")
            register_anchor(connection, owner=HOUSE_OWNER, name=name, rating=float(elo), now_ms=now)
            names[f"level:elo={elo}"] = name
        return names

    def on_end(code: int, wait: float) -> None:
        logger.warning("house_bots_restarted", code=code, seconds=round(wait, 1))

    async with temporary_token(server.store, owner=HOUSE_OWNER, label=_LABEL) as token:
        names = await server.store.write(register_anchors)
        first_line = json.dumps({"server": local_address(server.address), "token": token, "names": names})
        async with supervised_child((_CHILD,), first_line, on_end):
            yield [ladder.name for ladder in level_ladders()]
