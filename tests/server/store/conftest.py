"""All that is true of the store is true of each database."""

from collections.abc import Iterator

import pytest

from tests.support.databases import POSTGRESQL, SQLITE, databases_of
from tests.support.guard import processes_allowed


@pytest.fixture(params=[SQLITE, POSTGRESQL], autouse=True)
def database_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kind of the test's databases. Modules about one kind only override it."""
    # The one process is PostgreSQL's, at the first of them.
    with processes_allowed(True), databases_of(request.param):
        yield request.param
