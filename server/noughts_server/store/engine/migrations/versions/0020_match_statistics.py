"""A match keeps the counts from which its statistics follow."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("tournaments", sa.Column("match_counts", sa.JSON(none_as_null=True)))
