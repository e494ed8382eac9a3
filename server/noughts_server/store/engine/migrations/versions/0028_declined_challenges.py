"""Submitted bots that decline challenges."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    declines = sa.Column("declines_challenges", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("submissions", declines)
