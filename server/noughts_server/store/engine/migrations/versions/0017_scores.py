"""Games can have the scores of the bots."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    for name in ("games", "journal"):
        op.add_column(name, sa.Column("scores", sa.LargeBinary))
