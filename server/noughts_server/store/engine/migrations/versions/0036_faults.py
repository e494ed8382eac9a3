"""Resignations with a reason, e.g. after an exception of the bot, are in the index of games lost by a fault."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"

_LOST_BY_FAULT = sa.text("termination IN (3, 4, 5, 6, 7) AND (termination <> 7 OR fault IS NOT NULL)")


def upgrade() -> None:
    op.drop_index("ix_games_faults", "games")
    columns = ["tournament_id", "termination", "ordinal"]
    op.create_index("ix_games_faults", "games", columns, postgresql_where=_LOST_BY_FAULT, sqlite_where=_LOST_BY_FAULT)
