"""The kinds of puzzles. All earlier ones are positions in which only one move wins."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.add_column("puzzles", sa.Column("kind", sa.SmallInteger, nullable=False, server_default="1"))
