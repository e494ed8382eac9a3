"""Migrate a database to the schema of this version."""

from pathlib import Path

from sqlalchemy import Connection, func, inspect, select, text

from noughts_server.core.errors import DatabaseTooNew, DatabaseUnusable
from noughts_server.store.engine import dialect
from noughts_server.store.engine.schema import LONGEST_SILENCE_MS, REVISION, metadata, nodes

MIGRATIONS = Path(__file__).with_name("migrations")


def upgrade(connection: Connection, database: str) -> str | None:
    """Create the schema in an empty database, or migrate an older one, in the transaction of `connection`.

    Return the schema from which it was migrated, or None. Raises DatabaseTooNew, and DatabaseUnusable if the database
    has tables of other programs, or if nodes of an older version use it.
    """
    revision = _revision(connection, database)
    # The two usual cases do not import Alembic, because the import takes longer than the rest of this function.
    if revision is None:
        _create(connection)
    elif revision != REVISION:
        _check_no_node_runs(connection, database, revision)
        _migrate(connection)
        return revision
    return None


def check_current(connection: Connection, database: str) -> None:
    """Raise DatabaseTooNew or DatabaseUnusable unless the database has the schema of this version."""
    revision = _revision(connection, database)
    if revision is None:
        raise DatabaseUnusable(database, "it is empty", hint="Is it a Noughts database?")
    if revision != REVISION:
        problem = f"it has schema {revision}, but this command reads {REVISION} and does not migrate"
        hint = "Read it with the version of Noughts that wrote it, or start `noughts serve`, which migrates it."
        raise DatabaseUnusable(database, problem, hint=hint)


def _create(connection: Connection) -> None:
    """Create the tables as the code defines them; a test checks that the migrations lead to the same ones."""
    metadata.create_all(connection, checkfirst=False)
    columns = "version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)"
    connection.execute(text(f"CREATE TABLE alembic_version ({columns})"))
    connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": REVISION})


def _check_no_node_runs(connection: Connection, database: str, revision: str) -> None:
    """Raise DatabaseUnusable if a node of a cluster runs, because its older version cannot use the newer schema."""
    # Every schema since 1.0.0 has this column; it has no silence limits at first.
    since = dialect.of(connection).now_ms(connection) - LONGEST_SILENCE_MS
    running = connection.execute(select(func.count()).where(nodes.c.seen_at > since)).scalar_one()
    if running:
        problem = f"it has schema {revision}, and servers or referees of that older version still use it ({running})"
        seconds = LONGEST_SILENCE_MS // 1000
        hint = f"Stop all of them, and try again. One that was killed counts for {seconds} s."
        raise DatabaseUnusable(database, problem, hint=hint)


def _revision(connection: Connection, database: str) -> str | None:
    """Return the schema of the database; None if it is empty. Raises the errors of `upgrade`."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        if tables:
            ours = ", ".join(sorted(set(tables) & set(metadata.tables))) or "none of ours"
            raise DatabaseUnusable(database, f"it has tables from another program ({ours})", hint="Use another file.")
        return None
    revision: str = connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or ""
    if revision > REVISION:
        raise DatabaseTooNew(database, revision, REVISION)
    revisions = {path.name.partition("_")[0] for path in MIGRATIONS.glob("versions/[0-9]*.py")}
    if revision not in revisions:
        hint = "If it is older, open it once with Noughts 1.0.0, which migrates it."
        raise DatabaseUnusable(database, f"it has schema {revision}, which no release since 1.0.0 has", hint=hint)
    return revision


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # A percent sign in the path would be read as an interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
