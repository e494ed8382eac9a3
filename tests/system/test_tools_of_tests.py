"""What the tests bring themselves: a Node for playwright, and a PostgreSQL that may fail to start."""

from functools import cache

import pytest
from playwright._impl._driver import compute_driver_executable

from tests.support import databases, postgresql
from tests.support.browser_program import use_node_of_wheel
from tests.support.databases import POSTGRESQL, SQLITE, Place, databases_of
from tests.support.node import NODE


def test_playwright_runs_on_the_node_of_our_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAYWRIGHT_NODEJS_PATH", raising=False)
    use_node_of_wheel()
    assert compute_driver_executable()[0] == str(NODE)


def test_failed_start_of_postgresql_fails_only_its_own_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def fail(_postgresql: object) -> None:
        starts.append(1)
        raise RuntimeError("initdb exited with 1")

    monkeypatch.setattr(postgresql.Postgresql, "__init__", fail)
    # This process may have a server already, which other tests need: the caches of this test are its own.
    monkeypatch.setattr(postgresql, "_started", cache(postgresql._started.__wrapped__))
    monkeypatch.setattr(databases, "_running", cache(databases._running.__wrapped__))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="initdb"), databases_of(POSTGRESQL):
            raise AssertionError("the block of a database that is not there was entered")
    assert Place.kind == SQLITE
    assert len(starts) == 1
