"""All that is true of the store is true of each database."""

from collections.abc import Iterator

import pytest

from tests.support.databases import POSTGRESQL, SQLITE, databases_of
from tests.support.guard import processes_allowed
from tests.support.settings import often


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is tried on SQLite alone, unless all is tried: the statements are the same."""
    if often(1) == 1:
        items[:] = [item for item in items if not (item.get_closest_marker("long") and _kind_of(item) == POSTGRESQL)]


def _kind_of(item: pytest.Item) -> str | None:
    called = getattr(item, "callspec", None)
    return called.params.get("database_kind") if called is not None else None


@pytest.fixture(params=[SQLITE, POSTGRESQL], autouse=True)
def database_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kind of the test's databases. Modules about one kind only override it."""
    # The one process is PostgreSQL's, at the first of them.
    with processes_allowed(True), databases_of(request.param, reused=True):
        yield request.param
