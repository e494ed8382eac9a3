"""Each rating list keeps the largest rating difference that a winner has overcome."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("rating_lists", sa.Column("upset", sa.Integer, nullable=False, server_default="0"))
