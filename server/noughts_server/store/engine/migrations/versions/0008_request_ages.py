"""The time of each stored answer, so that old ones can be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("requests", sa.Column("created_at", sa.BigInteger(), nullable=False, server_default="0"))
