"""Tunings whose games workers play."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "tunings",
        sa.Column("id", _KEY, primary_key=True),
        sa.Column("slug", sa.String(63), nullable=False),
        sa.Column("owner_id", _KEY, nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("bot", sa.Text, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("pairs", sa.Integer, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("conditions", sa.JSON, nullable=False),
        sa.Column("iterations_done", sa.Integer, nullable=False),
        sa.Column("course_values", sa.JSON, nullable=False),
        sa.Column("lost_by_fault", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.UniqueConstraint("slug", name="uq_tunings_slug"),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_tunings_owner_id"),
    )
    op.create_index("ix_tunings_owner_id_state", "tunings", ["owner_id", "state"])
    op.create_table(
        "tuning_iterations",
        sa.Column("tuning_id", _KEY, autoincrement=False, nullable=False),
        sa.Column("iteration", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("wins", sa.Integer, nullable=False),
        sa.Column("draws", sa.Integer, nullable=False),
        sa.Column("losses", sa.Integer, nullable=False),
        sa.Column("course_values", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("tuning_id", "iteration", name="pk_tuning_iterations"),
        sa.ForeignKeyConstraint(["tuning_id"], ["tunings.id"], name="fk_tuning_iterations_tuning_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tuning_parts",
        sa.Column("tuning_id", _KEY, autoincrement=False, nullable=False),
        sa.Column("iteration", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("first_pair", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("pairs", sa.Integer, nullable=False),
        sa.Column("claim", sa.String(32), nullable=False),
        sa.Column("worker", sa.String(64), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("wins", sa.Integer),
        sa.Column("draws", sa.Integer),
        sa.Column("losses", sa.Integer),
        sa.Column("lost_by_fault", sa.Integer),
        sa.PrimaryKeyConstraint("tuning_id", "iteration", "first_pair", name="pk_tuning_parts"),
        sa.ForeignKeyConstraint(["tuning_id"], ["tunings.id"], name="fk_tuning_parts_tuning_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tuning_workers",
        sa.Column("tuning_id", _KEY, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tuning_id", "name", name="pk_tuning_workers"),
        sa.ForeignKeyConstraint(["tuning_id"], ["tunings.id"], name="fk_tuning_workers_tuning_id"),
        sqlite_with_rowid=False,
    )
