"""Analyses of games."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.create_table(
        "analyses",
        sa.Column("tournament_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "ordinal", name="pk_analyses"),
        sqlite_with_rowid=False,
    )
