"""Every test of the store runs on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import POSTGRESQL, SQLITE, database_kind_of, databases_of
from tests.support.guard import processes_allowed
from tests.support.settings import repetitions


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Except in thorough runs, run each test on PostgreSQL only with its first parameters: others add no statements.

    One test of each module runs there in `make test`, the others in `make test-long`.
    """
    if repetitions(1) == 1:
        seen_tests: set[object] = set()
        items[:] = [
            item for item in items if database_kind_of(item) != POSTGRESQL or _is_first_of_its_test(item, seen_tests)
        ]
    modules: set[Path] = set()
    for item in items:
        if database_kind_of(item) == POSTGRESQL and not item.get_closest_marker("at_length"):
            if item.path in modules:
                item.add_marker("at_length")
            modules.add(item.path)


def _is_first_of_its_test(item: pytest.Item, seen_tests: set[object]) -> bool:
    test = item.path, getattr(item, "originalname", item.name)
    if test in seen_tests or item.get_closest_marker("long"):
        return False
    seen_tests.add(test)
    return True


@pytest.fixture(params=[SQLITE, POSTGRESQL], autouse=True)
def database_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kind of the test's databases. Modules about only one kind override this fixture."""
    # The first test on PostgreSQL starts its process.
    with processes_allowed(True), databases_of(request.param, reused=True):
        yield request.param
