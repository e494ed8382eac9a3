"""Several referees share the units of a tournament."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "nodes",
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("seats", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_nodes"),
    )
    op.add_column("units", sa.Column("holder", sa.String(80)))
    op.add_column("units", sa.Column("played", sa.Integer, nullable=False, server_default="0"))
    op.add_column("units", sa.Column("deaths", sa.SmallInteger, nullable=False, server_default="0"))
