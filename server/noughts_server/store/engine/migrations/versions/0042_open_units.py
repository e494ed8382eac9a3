"""An index of the units that are not played completely."""

from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.create_index("ix_units_open", "units", ["tournament_id", "played", "number"])
