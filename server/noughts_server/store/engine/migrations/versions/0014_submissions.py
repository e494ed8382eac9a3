"""Bots that are submitted as files."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "programs",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_programs"),
        sa.UniqueConstraint("hash", name="uq_programs_hash"),
    )
    op.create_table(
        "submissions",
        sa.Column("bot_version_id", _KEY, nullable=False, autoincrement=False),
        sa.Column("program_id", _KEY, nullable=False),
        sa.Column("owner_id", _KEY, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("entry", sa.String(400), nullable=False),
        sa.Column("file_name", sa.String(200), nullable=False),
        sa.Column("submitted_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("bot_version_id", name="pk_submissions"),
        sa.ForeignKeyConstraint(["bot_version_id"], ["bot_versions.id"], name="fk_submissions_bot_version_id"),
        sa.ForeignKeyConstraint(["program_id"], ["programs.id"], name="fk_submissions_program_id"),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_submissions_owner_id"),
    )
    op.create_index("ix_submissions_owner_id_submitted_at", "submissions", ["owner_id", "submitted_at"])
    op.create_index("ix_submissions_program_id", "submissions", ["program_id"])
