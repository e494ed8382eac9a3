"""The origin of a tournament's seed; older tournaments keep using theirs as before."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("seed_kind", sa.SmallInteger(), nullable=False, server_default="0"))
