"""Scopes of tokens, retired bots, join windows, challenges, rating history, and indexes for reading."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Variants that now have their own names.
_RENAMED = {"mnk:15,15,5": "gomoku", "mnk:20,20,5": "gomoku20"}


def upgrade() -> None:
    for table in (sa.table("tournaments", sa.column("variant")), sa.table("rating_lists", sa.column("variant"))):
        for old, new in _RENAMED.items():
            op.execute(table.update().where(table.c.variant == old).values(variant=new))
    op.add_column("tokens", sa.Column("scopes", sa.String(400), nullable=False, server_default="play organise"))
    op.add_column("tokens", sa.Column("expires_at", sa.BigInteger()))
    op.add_column("tokens", sa.Column("made_by", sa.BigInteger()))
    op.add_column("bots", sa.Column("retired_at", sa.BigInteger()))
    op.add_column("tournaments", sa.Column("kind", sa.SmallInteger(), nullable=False, server_default="1"))
    op.add_column("tournaments", sa.Column("entries_min", sa.Integer(), nullable=False, server_default="2"))
    op.add_column("tournaments", sa.Column("entries_max", sa.Integer(), nullable=False, server_default="4096"))
    op.add_column("tournaments", sa.Column("join_from", sa.BigInteger()))
    op.add_column("tournaments", sa.Column("join_until", sa.BigInteger()))
    op.add_column("tournaments", sa.Column("start_at", sa.BigInteger()))
    op.add_column("tournaments", sa.Column("reason", sa.String(200)))
    op.create_table(
        "rating_history",
        sa.Column("list_id", _KEY, nullable=False),
        sa.Column("bot_id", _KEY, nullable=False),
        sa.Column("games", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("rating", sa.Float(53), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["list_id"], ["rating_lists.id"], name="fk_rating_history_list_id"),
        sa.ForeignKeyConstraint(["bot_id"], ["bots.id"], name="fk_rating_history_bot_id"),
        sa.PrimaryKeyConstraint("list_id", "bot_id", "games", name="pk_rating_history"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_bots_owner_id", "bots", ["owner_id"])
    op.create_index("ix_bots_retired_at", "bots", ["retired_at"])
    op.create_index(
        "ix_entries_bot_version_id_tournament_id_number", "entries", ["bot_version_id", "tournament_id", "number"]
    )
    op.create_index("ix_ratings_bot_id", "ratings", ["bot_id"])
    op.create_index("ix_ratings_list_id_rating_bot_id", "ratings", ["list_id", "rating", "bot_id"])
    op.create_index("ix_tokens_made_by", "tokens", ["made_by"])
    op.create_index("ix_tournaments_kind", "tournaments", ["kind"])
