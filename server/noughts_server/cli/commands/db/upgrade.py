"""The command `noughts db upgrade`."""

from typing import TYPE_CHECKING

from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Store


@command(
    example="""
$ noughts db upgrade --db games.db
schema ...: nothing to do
""",
    extra="server",
)
def upgrade(database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Create or migrate a database for this version, as a server does at its start.

    It does nothing if the schema is current, so that it can run before each upgrade. It refuses to migrate while
    servers or referees of a cluster run. Make a backup first.
    """
    from noughts_server.store.engine.schema import REVISION

    async def schema_before(store: "Store") -> str | None:
        if store.created:
            return None
        return store.migrated_from or REVISION

    before = in_database(database, schema_before, create=True)
    if before is None:
        summary = f"schema {REVISION}: created"
    elif before == REVISION:
        summary = f"schema {REVISION}: nothing to do"
    else:
        summary = f"schema {REVISION}: migrated from {before}"
    output.show({"schema": REVISION, "before": before}, summary)
