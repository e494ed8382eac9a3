"""An index of the games that were lost by a fault."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    faulty = sa.text("termination IN (3, 4, 5, 6)")
    op.create_index(
        "ix_games_faults",
        "games",
        ["tournament_id", "termination", "ordinal"],
        sqlite_where=faulty,
        postgresql_where=faulty,
    )
