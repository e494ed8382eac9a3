"""Alembic runs this module; `noughts_server.store.engine.migrate` provides the connection and its transaction."""

from alembic import context

from noughts_server.store.engine.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite changes tables by copying them.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
