"""The kinds of puzzles. All earlier ones are positions in which only one move wins."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    op.add_column("puzzles", sa.Column("kind", sa.SmallInteger, nullable=False, server_default="1"))
