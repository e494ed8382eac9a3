"""The index of ratings that one other owner has moved by much."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    large = sa.text("(moved >= 300 OR moved <= -300)")
    op.create_index("ix_rating_moves_large", "rating_moves", ["moved"], sqlite_where=large, postgresql_where=large)
