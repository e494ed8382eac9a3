"""The time at which a tournament was paused."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("paused_at", sa.BigInteger))
