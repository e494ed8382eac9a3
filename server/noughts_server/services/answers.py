"""Answers of read-only methods. Threads read the database and build the answers, and callers take turns."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from noughts_server.core.turns import give_way
from noughts_server.services.access import VISITOR
from noughts_server.store.engine.database import Connection, Store

Answer = TypeVar("Answer")
Row = TypeVar("Row")

PAGE_WITHOUT_TOKEN = 250
"""Limit of the rows of a page without a token."""


async def answer_in_turn(store: Store, build: Callable[[Connection], Answer]) -> Answer:
    """Call `build` in a thread when it is the turn of this method's caller, and return its answer."""
    visitor = VISITOR.get(None)
    if visitor is None:
        return await store.answer(build, "")
    return await store.answer(build, visitor.payer, kind=visitor.method, group=visitor.group)


def page_rows(size: int) -> int:
    """Return the size of the page for a caller that requested `size` rows."""
    return size if VISITOR.get().caller is not None else min(size, PAGE_WITHOUT_TOKEN)


def build_each(build: Callable[[Row], Answer], rows: Iterable[Row]) -> Iterator[Answer]:
    """Yield the answer that `build` returns for each row, and let games continue between rows."""
    for row in rows:
        yield build(row)
        give_way()
