"""The accuracy of bots: how often they kept the exact value of a game."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    names = ("list_id", "bot_id", "judged_games", "decisions", "blunders")
    columns = (sa.Column(name, sa.BigInteger, autoincrement=False, nullable=False) for name in names)
    key = sa.PrimaryKeyConstraint(*names[:2], name="pk_accuracies")
    op.create_table("accuracies", *columns, key, sqlite_with_rowid=False)
