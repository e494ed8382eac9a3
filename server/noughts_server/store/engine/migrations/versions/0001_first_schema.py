"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "games",
        sa.Column("tournament_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("first_entry", sa.Integer(), nullable=False),
        sa.Column("second_entry", sa.Integer(), nullable=False),
        sa.Column("result", sa.SmallInteger(), nullable=False),
        sa.Column("termination", sa.SmallInteger(), nullable=False),
        sa.Column("moves", sa.LargeBinary(), nullable=False),
        sa.Column("times", sa.LargeBinary(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "ordinal", name="pk_games"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "owners",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_owners"),
        sa.UniqueConstraint("name", name="uq_owners_name"),
    )
    op.create_table(
        "rating_lists",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("variant", sa.String(length=63), nullable=False),
        sa.Column("time_class", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rating_lists"),
        sa.UniqueConstraint("variant", "time_class", name="uq_rating_lists_variant_time_class"),
    )
    op.create_table(
        "bots",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("owner_id", _KEY, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_bots_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_bots"),
        sa.UniqueConstraint("name", name="uq_bots_name"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("owner_id", _KEY, nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_tokens_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_table(
        "tournaments",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("slug", sa.String(length=63), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("owner_id", _KEY, nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("variant", sa.String(length=63), nullable=False),
        sa.Column("move_us", sa.BigInteger(), nullable=False),
        sa.Column("bank_us", sa.BigInteger(), nullable=False),
        sa.Column("increment_us", sa.BigInteger(), nullable=False),
        sa.Column("schedule", sa.SmallInteger(), nullable=False),
        sa.Column("games_per_pair", sa.Integer(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("rated", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("games_total", sa.BigInteger(), nullable=False),
        sa.Column("games_done", sa.BigInteger(), nullable=False),
        sa.Column("unit_games", sa.Integer(), nullable=False),
        sa.Column("folded", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_tournaments_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_tournaments"),
        sa.UniqueConstraint("slug", name="uq_tournaments_slug"),
    )
    op.create_index("ix_tournaments_state", "tournaments", ["state"], unique=False)
    op.create_table(
        "bot_versions",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("bot_id", _KEY, nullable=False),
        sa.Column("version", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["bot_id"], ["bots.id"], name="fk_bot_versions_bot_id"),
        sa.PrimaryKeyConstraint("id", name="pk_bot_versions"),
        sa.UniqueConstraint("bot_id", "version", name="uq_bot_versions_bot_id_version"),
    )
    op.create_table(
        "entry_scores",
        sa.Column("tournament_id", _KEY, nullable=False),
        sa.Column("entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("wins", sa.BigInteger(), nullable=False),
        sa.Column("draws", sa.BigInteger(), nullable=False),
        sa.Column("losses", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_entry_scores_tournament_id"),
        sa.PrimaryKeyConstraint("tournament_id", "entry", name="pk_entry_scores"),
    )
    op.create_table(
        "pair_scores",
        sa.Column("tournament_id", _KEY, nullable=False),
        sa.Column("first_entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("second_entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("wins", sa.BigInteger(), nullable=False),
        sa.Column("draws", sa.BigInteger(), nullable=False),
        sa.Column("losses", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_pair_scores_tournament_id"),
        sa.PrimaryKeyConstraint("tournament_id", "first_entry", "second_entry", name="pk_pair_scores"),
    )
    op.create_table(
        "rating_runs",
        sa.Column("first_seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("list_id", _KEY, nullable=False),
        sa.Column("tournament_id", _KEY, nullable=False),
        sa.Column("first_ordinal", sa.BigInteger(), nullable=False),
        sa.Column("games", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["list_id"], ["rating_lists.id"], name="fk_rating_runs_list_id"),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_rating_runs_tournament_id"),
        sa.PrimaryKeyConstraint("first_seq", name="pk_rating_runs"),
    )
    op.create_index(
        "ix_rating_runs_tournament_id_first_ordinal", "rating_runs", ["tournament_id", "first_ordinal"], unique=False
    )
    op.create_table(
        "ratings",
        sa.Column("list_id", _KEY, nullable=False),
        sa.Column("bot_id", _KEY, nullable=False),
        sa.Column("rating", sa.Float(precision=53), nullable=False),
        sa.Column("games", sa.BigInteger(), nullable=False),
        sa.Column("wins", sa.BigInteger(), nullable=False),
        sa.Column("draws", sa.BigInteger(), nullable=False),
        sa.Column("losses", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["bot_id"], ["bots.id"], name="fk_ratings_bot_id"),
        sa.ForeignKeyConstraint(["list_id"], ["rating_lists.id"], name="fk_ratings_list_id"),
        sa.PrimaryKeyConstraint("list_id", "bot_id", name="pk_ratings"),
    )
    op.create_table(
        "requests",
        sa.Column("token_id", _KEY, nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("method", sa.String(length=80), nullable=False),
        sa.Column("body_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("answer", sa.String(length=400), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_requests_token_id"),
        sa.PrimaryKeyConstraint("token_id", "request_id", name="pk_requests"),
    )
    op.create_table(
        "units",
        sa.Column("tournament_id", _KEY, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_units_tournament_id"),
        sa.PrimaryKeyConstraint("tournament_id", "number", name="pk_units"),
    )
    op.create_table(
        "entries",
        sa.Column("tournament_id", _KEY, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bot_version_id", _KEY, nullable=False),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.ForeignKeyConstraint(["bot_version_id"], ["bot_versions.id"], name="fk_entries_bot_version_id"),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_entries_tournament_id"),
        sa.PrimaryKeyConstraint("tournament_id", "number", name="pk_entries"),
        sa.UniqueConstraint("tournament_id", "label", name="uq_entries_tournament_id_label"),
    )
