"""Whether games between bots of one owner are rated; in older tournaments they are."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("own_rated", sa.Boolean(), nullable=False, server_default="1"))
