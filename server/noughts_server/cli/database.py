"""Commands that work on the database itself."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from noughts_server.cli.options.database import read_database
from noughts_server.cli.printing import note
from noughts_server.cli.processes.signals import run_loop

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
    """Return the result of `work` on the database at `url`; the default is the user's own database.

    With `alone`, no server can use the database at the same time. With `create`, a missing database is created, and a
    note reports it; without, it is an error. With `reading`, the database can be one that cannot be written.
    """
    from noughts_server.store.engine.database import Store, default_database_url

    url = read_database(url) or default_database_url()

    async def run_work() -> Returned:
        store = await Store.open(url, alone=alone, create=create, reading=reading)
        if store.created:
            note(f"New database at {store.url}.")
        try:
            return await work(store)
        finally:
            await store.close()

    return run_loop(run_work())
