"""An index of the games that organisers stopped."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"

_STOPPED = sa.text("fault = 'was in a game that its owner, the organiser, stopped'")


def upgrade() -> None:
    columns = ["tournament_id", "ordinal"]
    op.create_index("ix_games_stopped", "games", columns, postgresql_where=_STOPPED, sqlite_where=_STOPPED)
