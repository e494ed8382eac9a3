"""Commands that work on the database itself."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from noughts_server.cli.options.database import read_database
from noughts_server.cli.printing import note
from noughts_server.cli.signals import run_loop

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Store

Returned = TypeVar("Returned")


def in_database(
    url: str | None,
    work: Callable[["Store"], Awaitable[Returned]],
    *,
    alone: bool = False,
    create: bool = False,
    reading: bool = False,
) -> Returned:
    """Return the result of `work` on the database at `url` (default: this user's); with `alone`, no server may run.

    Without `create` it must exist; with it, a missing one is created, with a note. If `work` is only `reading`, the
    database may be one that cannot be written.
    """
    from noughts_server.store.engine.database import Store, default_database_url

    url = read_database(url) or default_database_url()

    async def opened() -> Returned:
        store = await Store.open(url, alone=alone, create=create, reading=reading)
        if store.created:
            note(f"New database at {store.url}.")
        try:
            return await work(store)
        finally:
            await store.close()

    return run_loop(opened())
