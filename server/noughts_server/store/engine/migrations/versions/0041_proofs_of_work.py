"""The key of the proofs of work, and the solved challenges, for all servers of a cluster."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    op.create_table(
        "server_keys",
        sa.Column("purpose", sa.String(40), primary_key=True),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
    )
    op.create_table(
        "solved_challenges",
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_solved_challenges_expires_at", "solved_challenges", ["expires_at"])
