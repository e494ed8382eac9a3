"""Games and journaled games have the thoughts of bots."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    for table in ("games", "journal"):
        op.add_column(table, sa.Column("thoughts", sa.LargeBinary))
