"""Descriptions and links of bots."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.add_column("bots", sa.Column("description", sa.String(500), nullable=False, server_default=""))
    op.add_column("bots", sa.Column("link", sa.String(200), nullable=False, server_default=""))
