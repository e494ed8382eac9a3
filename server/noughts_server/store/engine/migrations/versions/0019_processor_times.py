"""The processor time of submitted bots is counted for all servers, and referees say which they run."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "processor_times",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), primary_key=True),
        sa.Column("milliseconds", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.add_column("nodes", sa.Column("accepts", sa.String(40), nullable=False, server_default=""))
