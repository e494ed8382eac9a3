"""The time beyond the clock that moves were allowed for the network and the time margin; unknown in older games."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("games", sa.Column("allowances", sa.LargeBinary(), nullable=True))
