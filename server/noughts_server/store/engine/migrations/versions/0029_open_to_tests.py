"""Bots that other owners can test theirs against."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.add_column("bots", sa.Column("open_to_tests", sa.Boolean, nullable=False, server_default=sa.false()))
