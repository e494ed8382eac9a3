"""Games with scaled times, and what nodes of a cluster report of their machines."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    op.add_column("games", sa.Column("time_factor", sa.Float(53)))
    op.add_column("journal", sa.Column("time_factor", sa.Float(53)))
    op.add_column("nodes", sa.Column("version", sa.String(80), nullable=False, server_default=""))
    op.add_column("nodes", sa.Column("speed", sa.Float(53), nullable=False, server_default="0"))
