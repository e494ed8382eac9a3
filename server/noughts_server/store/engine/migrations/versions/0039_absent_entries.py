"""Entries of ladders whose bots are offline."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.add_column("entries", sa.Column("absent", sa.Boolean, nullable=False, server_default=sa.false()))
