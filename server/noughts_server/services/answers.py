"""Answers of read-only methods: threads read and build them, in the turns of the callers."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from noughts_server.core.turns import give_way
from noughts_server.services.access import VISITOR
from noughts_server.store.engine.database import Connection, Store

Answer = TypeVar("Answer")
Row = TypeVar("Row")

STRANGERS_PAGE = 250
"""Limit of the rows of a page without a token."""


async def answered(store: Store, build: Callable[[Connection], Answer]) -> Answer:
    """Return what `build` reads and makes for the caller of this method, in a thread and in the caller's turn."""
    visitor = VISITOR.get(None)
    if visitor is None:
        return await store.answer(build, "")
    return await store.answer(build, visitor.payer, kind=visitor.method, group=visitor.group)


def page_rows(size: int) -> int:
    """Return the size of the page that a caller gets who asked for this one."""
    return size if VISITOR.get().caller is not None else min(size, STRANGERS_PAGE)


def each(build: Callable[[Row], Answer], rows: Iterable[Row]) -> Iterator[Answer]:
    """Yield what `build` makes of each row, and let games continue between rows."""
    for row in rows:
        yield build(row)
        give_way()
