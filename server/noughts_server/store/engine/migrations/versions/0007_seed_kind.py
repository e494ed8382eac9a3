"""How a tournament's seed came about; those of older databases are used as they were before."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("seed_kind", sa.SmallInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("tournaments") as tournaments:
        tournaments.drop_column("seed_kind")
