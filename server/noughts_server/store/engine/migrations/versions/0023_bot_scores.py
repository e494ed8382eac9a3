"""Totals of two bots over all tournaments, the tournaments in which they met, and the bot of each entry."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

_COUNT = """
    INSERT INTO bot_scores
    SELECT one.bot_id, other.bot_id, t.variant, SUM(p.wins), SUM(p.draws), SUM(p.losses)
    FROM pair_scores p
    JOIN tournaments t ON t.id = p.tournament_id
    JOIN entries one ON one.tournament_id = p.tournament_id AND one.number = p.first_entry
    JOIN entries other ON other.tournament_id = p.tournament_id AND other.number = p.second_entry
    GROUP BY one.bot_id, other.bot_id, t.variant
"""
# A void game has no score, but it is a meeting.
_MEET = """
    INSERT INTO meetings
    SELECT DISTINCT
        CASE WHEN one.bot_id < other.bot_id THEN one.bot_id ELSE other.bot_id END,
        CASE WHEN one.bot_id < other.bot_id THEN other.bot_id ELSE one.bot_id END,
        p.tournament_id
    FROM (
        SELECT tournament_id, first_entry, second_entry FROM pair_scores
        UNION
        SELECT tournament_id, first_entry, second_entry FROM games WHERE result = 4
    ) p
    JOIN entries one ON one.tournament_id = p.tournament_id AND one.number = p.first_entry
    JOIN entries other ON other.tournament_id = p.tournament_id AND other.number = p.second_entry
"""


def upgrade() -> None:
    op.add_column("entries", sa.Column("bot_id", sa.BigInteger, nullable=False, server_default="0"))
    op.execute("UPDATE entries SET bot_id = (SELECT bot_id FROM bot_versions WHERE id = entries.bot_version_id)")
    op.drop_index("ix_entries_bot_version_id_tournament_id_number", "entries")
    op.create_index("ix_entries_bot_id_tournament_id_number", "entries", ["bot_id", "tournament_id", "number"])
    bots = (_number("first_bot"), _number("second_bot"))
    counts = (_number(name) for name in ("wins", "draws", "losses"))
    variant = sa.Column("variant", sa.String(63), nullable=False)
    key = sa.PrimaryKeyConstraint("first_bot", "second_bot", "variant", name="pk_bot_scores")
    op.create_table("bot_scores", *bots, variant, *counts, key, sqlite_with_rowid=False)
    op.create_index("ix_bot_scores_second_bot", "bot_scores", ["second_bot"])
    names = ("one_bot", "other_bot", "tournament_id")
    key = sa.PrimaryKeyConstraint(*names, name="pk_meetings")
    op.create_table("meetings", *map(_number, names), key, sqlite_with_rowid=False)
    op.execute(_COUNT)
    op.execute(_MEET)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, autoincrement=False, nullable=False)
