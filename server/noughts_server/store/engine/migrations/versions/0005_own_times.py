"""Tournaments in which bots can have different time controls."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("own_times", sa.JSON()))
