"""Puzzles, and how far the games of each tournament were searched for them."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("searched", sa.BigInteger, nullable=False, server_default="0"))
    waits = sa.text("kind = 1 AND searched < folded AND searched < 10000")
    read = ["kind", "searched", "folded"]
    op.create_index("ix_tournaments_unsearched", "tournaments", read, sqlite_where=waits, postgresql_where=waits)
    op.create_table(
        "puzzles",
        sa.Column("variant", sa.String(63), nullable=False),
        sa.Column("position", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("tournament_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        sa.Column("ply", sa.SmallInteger, nullable=False),
        sa.Column("line", sa.LargeBinary, nullable=False),
        sa.Column("moves", sa.SmallInteger, nullable=False),
        sa.Column("exact", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("variant", "position", "tournament_id", name="pk_puzzles"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_puzzles_order", "puzzles", ["variant", "moves", "position", "tournament_id"])
    op.create_index("ix_puzzles_tournament", "puzzles", ["tournament_id"])
