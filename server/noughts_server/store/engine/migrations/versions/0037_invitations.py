"""Invitations, and the names of owners as `confusable_names` compares them."""

import sqlalchemy as sa
from alembic import op

from noughts_server.store.people.confusable_names import skeleton

revision = "0037"
down_revision = "0036"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("owners", sa.Column("skeleton", sa.String(63), nullable=False, server_default=""))
    op.add_column("owners", sa.Column("invitation_id", sa.BigInteger))
    op.add_column("owners", sa.Column("first_tournament", sa.String(63)))
    connection = op.get_bind()
    owners = sa.table("owners", sa.column("id"), sa.column("name"), sa.column("skeleton"))
    rows = connection.execute(sa.select(owners.c.id, owners.c.name)).all()
    change = sa.update(owners).where(owners.c.id == sa.bindparam("owner")).values(skeleton=sa.bindparam("key"))
    if rows:
        connection.execute(change, [{"owner": row.id, "key": skeleton(row.name)} for row in rows])
    op.create_index("ix_owners_skeleton", "owners", ["skeleton"])
    op.create_index("ix_owners_invitation_id", "owners", ["invitation_id"])
    op.create_table(
        "invitations",
        sa.Column("id", _KEY, primary_key=True),
        sa.Column("selector", sa.String(12), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("scopes", sa.String(400), nullable=False),
        sa.Column("tournament", sa.String(63)),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("used", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("made_by", sa.BigInteger),
        sa.UniqueConstraint("selector", name="uq_invitations_selector"),
    )
    op.create_index("ix_invitations_made_by", "invitations", ["made_by"])
