"""Faults of games: why the loser lost by its own fault."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("games", sa.Column("fault", sa.Text()))
