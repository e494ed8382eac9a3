"""The variants that submitted bots declare."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column("submissions", sa.Column("variants", sa.JSON(none_as_null=True)))
