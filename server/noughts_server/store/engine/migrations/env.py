"""Run by Alembic; the connection, with its transaction, comes from `noughts_server.store.engine.migrate`."""

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
