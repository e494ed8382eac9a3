"""Silence limits of nodes, nodes that were lost with a unit, and why play has stopped."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.drop_column("units", "deaths")
    op.add_column("units", sa.Column("lost", sa.JSON(none_as_null=True)))
    for name in ("games", "plies", "claimed_at"):
        op.add_column("units", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("nodes", sa.Column("silence_ms", sa.Integer, nullable=False, server_default="5000"))
    op.add_column("nodes", sa.Column("joined_at", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("tournaments", sa.Column("retry_at", sa.BigInteger))
