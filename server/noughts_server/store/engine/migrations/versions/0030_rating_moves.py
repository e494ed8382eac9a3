"""By how much the bots of each other owner have moved a rating. Tournaments from before keep their rule."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("bounded", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "rating_moves",
        sa.Column("list_id", _KEY, sa.ForeignKey("rating_lists.id"), primary_key=True),
        sa.Column("bot_id", _KEY, sa.ForeignKey("bots.id"), primary_key=True),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), primary_key=True),
        sa.Column("moved", sa.Float(53), nullable=False),
        sqlite_with_rowid=False,
    )
