"""The names that bots have and had, which other owners cannot imitate."""

import sqlalchemy as sa
from alembic import op

from noughts_server.store.people.confusable_names import skeleton

revision = "0031"
down_revision = "0030"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    names = op.create_table(
        "bot_names",
        sa.Column("name", sa.String(63), primary_key=True),
        sa.Column("skeleton", sa.String(63), nullable=False),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), nullable=False),
        sa.Column("renamed_at", sa.BigInteger),
    )
    op.create_index("ix_bot_names_skeleton", "bot_names", ["skeleton"])
    op.create_index("ix_bot_names_owner_id_renamed_at", "bot_names", ["owner_id", "renamed_at"])
    rows = (
        op.get_bind().execute(sa.text("SELECT bots.name, owner_id FROM bots JOIN owners ON owners.id = owner_id")).all()
    )
    if rows:
        op.bulk_insert(
            names, [{"name": n, "skeleton": skeleton(n), "owner_id": o, "renamed_at": None} for n, o in rows]
        )
