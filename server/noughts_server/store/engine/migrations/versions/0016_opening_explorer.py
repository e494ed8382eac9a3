"""The opening explorer counts how often each move was played in each of the first positions of games."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("explored", sa.BigInteger, nullable=False, server_default="0"))
    waits = sa.text("kind = 1 AND explored < folded")
    read = ["kind", "explored", "folded"]
    op.create_index("ix_tournaments_unexplored", "tournaments", read, sqlite_where=waits, postgresql_where=waits)
    keys = {"list_id": sa.BigInteger, "position": sa.BigInteger, "move": sa.SmallInteger, "result": sa.SmallInteger}
    others = {"games": sa.Integer, "tournament_id": sa.BigInteger, "ordinal": sa.BigInteger}
    columns = (sa.Column(name, kind, autoincrement=False, nullable=False) for name, kind in (keys | others).items())
    key = sa.PrimaryKeyConstraint(*keys, name="pk_explorer_moves")
    op.create_table("explorer_moves", *columns, key, sqlite_with_rowid=False)
