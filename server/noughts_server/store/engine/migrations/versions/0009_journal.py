"""The journal of games that resume after a crash."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "journal",
        sa.Column("tournament_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first_entry", sa.Integer(), nullable=False),
        sa.Column("second_entry", sa.Integer(), nullable=False),
        sa.Column("moves", sa.LargeBinary(), nullable=False),
        sa.Column("times", sa.LargeBinary(), nullable=False),
        sa.Column("first_clock_us", sa.BigInteger(), nullable=False),
        sa.Column("second_clock_us", sa.BigInteger(), nullable=False),
        sa.Column("opening_plies", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "ordinal", name="pk_journal"),
        sqlite_with_rowid=False,
    )
