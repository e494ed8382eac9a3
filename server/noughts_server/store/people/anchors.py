"""Anchors: bots of the server whose ratings are known, so that they fix the scale of each rating list."""

from sqlalchemy import Connection, exists, select, update

from noughts_server.store.engine.schema import bots, ratings
from noughts_server.store.people.bots import FIRST_VERSION, register_bot
from noughts_server.store.people.tokens import create_owner


def known_ratings(connection: Connection) -> dict[str, float]:
    """Return the ratings of all anchors by name."""
    rows = connection.execute(select(bots.c.name, bots.c.anchor).where(bots.c.anchor.is_not(None)))
    return {row.name: row.anchor for row in rows}


def register_anchor(connection: Connection, *, owner: str, name: str, rating: float, now_ms: int) -> None:
    """Register a bot with a known rating. A bot that has other ratings already does not become an anchor.

    Raises the errors of `log_in`.
    """
    owner_id = create_owner(connection, owner)
    bot = select(bots.c.id).where(bots.c.name == name, bots.c.owner_id == owner_id)
    if connection.scalar(bot) is None:
        register_bot(connection, owner_id=owner_id, name=name, version=FIRST_VERSION, now_ms=now_ms)
    is_rated = exists().where(ratings.c.bot_id == bots.c.id)
    connection.execute(update(bots).where(bots.c.id == bot.scalar_subquery(), ~is_rated).values(anchor=rating))
