"""Known ratings of bots that anchor rating lists."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.add_column("bots", sa.Column("anchor", sa.Float))
