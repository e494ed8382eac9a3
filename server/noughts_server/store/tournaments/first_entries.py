"""The first entries of newcomers: their first bot enters the tournament of their invitation."""

from sqlalchemy import Connection, select, update

from noughts_server.core.limits import Limits
from noughts_server.store.engine.schema import owners
from noughts_server.store.people.bots import BotVersion
from noughts_server.store.tournaments.entries import Entry, join_tournament


def first_tournament(connection: Connection, owner_id: int) -> str:
    """Return the ID of the tournament that the owner's first bot will enter; empty if there is none."""
    return connection.scalar(select(owners.c.first_tournament).where(owners.c.id == owner_id)) or ""


def enter_first_bot(connection: Connection, slug: str, bot: BotVersion, *, now_ms: int, limits: Limits) -> Entry | None:
    """Enter the bot in the tournament of its owner's invitation; return None if another bot has entered meanwhile.

    Raises the errors of `join_tournament`.
    """
    this = update(owners).where(owners.c.id == bot.owner_id, owners.c.first_tournament == slug)
    if connection.execute(this.values(first_tournament=None)).rowcount != 1:
        return None
    return join_tournament(
        connection,
        slug,
        bot=bot.bot,
        version=bot.version,
        owner_id=bot.owner_id,
        now_ms=now_ms,
        limits=limits,
    )
