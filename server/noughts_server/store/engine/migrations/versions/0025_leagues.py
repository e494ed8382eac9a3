"""Leagues: tournaments that repeat, and their seasons."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

_Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "leagues",
        sa.Column("id", _Key, nullable=False),
        sa.Column("slug", sa.String(63), nullable=False),
        sa.Column("owner_id", _Key, nullable=False),
        sa.Column("interval_ms", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("stopped_at", sa.BigInteger),
        sa.Column("stop_reason", sa.String(200)),
        sa.PrimaryKeyConstraint("id", name="pk_leagues"),
        sa.UniqueConstraint("slug", name="uq_leagues_slug"),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_leagues_owner_id"),
    )
    op.create_table(
        "seasons",
        sa.Column("league_id", _Key, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("tournament_id", _Key, nullable=False),
        sa.PrimaryKeyConstraint("league_id", "number", name="pk_seasons"),
        sa.UniqueConstraint("tournament_id", name="uq_seasons_tournament_id"),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name="fk_seasons_league_id"),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_seasons_tournament_id"),
    )
