"""Bots that organisers can enter in their tournaments."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("bots", sa.Column("open_to_organisers", sa.Boolean, nullable=False, server_default=sa.false()))
