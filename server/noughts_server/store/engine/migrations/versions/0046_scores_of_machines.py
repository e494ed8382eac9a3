"""What the games of each machine show."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    op.create_table(
        "machine_scores",
        sa.Column("machine", sa.String(64), primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("games", sa.BigInteger, nullable=False),
        sa.Column("faults", sa.BigInteger, nullable=False),
        sa.Column("compared", sa.BigInteger, nullable=False),
        sa.Column("points", sa.Float(53), nullable=False),
        sa.Column("expected", sa.Float(53), nullable=False),
        sa.Column("squares", sa.Float(53), nullable=False),
    )
