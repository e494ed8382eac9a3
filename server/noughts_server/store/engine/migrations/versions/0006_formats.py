"""Formats whose pairings follow from results, extensions, openings, withdrawals from running tournaments."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("options", sa.JSON()))
    op.add_column("tournaments", sa.Column("base_entries", sa.Integer()))
    op.add_column("tournaments", sa.Column("base_games_per_pair", sa.Integer()))
    op.add_column("entries", sa.Column("withdrawn_at", sa.BigInteger()))
    op.add_column("entries", sa.Column("withdrawn_reason", sa.String(200)))
    op.add_column("games", sa.Column("opening_plies", sa.SmallInteger(), nullable=False, server_default="0"))
    op.create_table(
        "pairings",
        sa.Column("tournament_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first_entry", sa.Integer(), nullable=False),
        sa.Column("second_entry", sa.Integer(), nullable=False),
        sa.Column("encounter", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "ordinal", name="pk_pairings"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_pairings_tournament_id_first_entry_ordinal", "pairings", ["tournament_id", "first_entry", "ordinal"]
    )
    op.create_index(
        "ix_pairings_tournament_id_second_entry_ordinal", "pairings", ["tournament_id", "second_entry", "ordinal"]
    )
    op.create_table(
        "byes",
        sa.Column("tournament_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "round", "entry", name="pk_byes"),
    )
