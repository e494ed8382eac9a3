"""The token of the site that a server minds: its own, as long as it runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.tokens import create_token, list_tokens, revoke_token

OWNER = "site"
"""The owner of the bots as which visitors play in their browsers."""
_LABEL = "people who play in their browsers"


@asynccontextmanager
async def site_token(store: Store) -> AsyncIterator[str]:
    """A token that permits to play, for as long as the block lasts; one that a killed server has left is revoked."""

    def make(connection: Connection) -> str:
        now = store.now_ms()
        _revoke(connection, now)
        made = create_token(connection, owner=OWNER, label=_LABEL, scopes=("play",), now_ms=now)
        return made.secret

    yield await store.write(make)
    await store.write(lambda connection: _revoke(connection, store.now_ms()))


def _revoke(connection: Connection, now_ms: int) -> None:
    for token in list_tokens(connection):
        if token.owner == OWNER and token.label == _LABEL and token.revoked_at is None:
            revoke_token(connection, token.id, now_ms=now_ms)
