"""The schema of version 1.1, from that of version 1.0."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from noughts_server.store.people.confusable_names import skeleton

revision = "0032"
down_revision = "0014"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

_COUNT_SCORES = """
    INSERT INTO bot_scores
    SELECT one.bot_id, other.bot_id, t.variant, SUM(p.wins), SUM(p.draws), SUM(p.losses)
    FROM pair_scores p
    JOIN tournaments t ON t.id = p.tournament_id
    JOIN entries one ON one.tournament_id = p.tournament_id AND one.number = p.first_entry
    JOIN entries other ON other.tournament_id = p.tournament_id AND other.number = p.second_entry
    GROUP BY one.bot_id, other.bot_id, t.variant
"""
# A void game has no score, but it is a meeting.
_FIND_MEETINGS = """
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
    _count_agreed_stones()
    _add_columns()
    _explore_openings()
    _create_webhooks()
    _count_processor_time()
    _count_accuracy()
    _count_scores_of_bots()
    _create_leagues()
    _create_rating_moves()
    _list_bot_names()


def _count_agreed_stones() -> None:
    """Derive from the times, as version 1.0 did, how many stones of a game were put by agreement."""
    tournaments = sa.table("tournaments", sa.column("id"), sa.column("variant"))
    agreed = sa.select(tournaments.c.id).where(tournaments.c.variant.like("%+swap%"))
    for name in ("games", "journal"):
        table = sa.table(name, *map(sa.column, ("tournament_id", "moves", "times", "opening_plies")))
        # The third time, of four bytes, marked that five stones were put, not three.
        third = sa.func.substr(table.c.times, 9, 4, type_=sa.LargeBinary)
        five = sa.and_(sa.func.length(table.c.times) >= 12, third != bytes(4))
        stones = sa.case((sa.func.length(table.c.moves) == 0, 0), (five, 5), else_=3)
        op.execute(sa.update(table).where(table.c.tournament_id.in_(agreed)).values(opening_plies=stones))


def _add_columns() -> None:
    op.drop_column("units", "deaths")
    added: dict[str, list[sa.Column[Any]]] = {
        "tournaments": [
            _number("explored", server_default="0"),
            sa.Column("match_counts", sa.JSON(none_as_null=True)),
            sa.Column("retry_at", sa.BigInteger),
            _flag("bounded"),
        ],
        "games": [sa.Column(name, sa.LargeBinary) for name in ("scores", "comments")],
        "journal": [sa.Column(name, sa.LargeBinary) for name in ("scores", "comments")],
        "units": [
            sa.Column("lost", sa.JSON(none_as_null=True)),
            *(_number(name, server_default="0") for name in ("games", "plies", "claimed_at")),
        ],
        "nodes": [
            sa.Column("accepts", sa.String(40), nullable=False, server_default=""),
            sa.Column("silence_ms", sa.Integer, nullable=False, server_default="5000"),
            _number("joined_at", server_default="0"),
        ],
        "rating_lists": [sa.Column("upset", sa.Integer, nullable=False, server_default="0")],
        "bots": [_flag("open_to_organisers"), _flag("open_to_tests")],
        "submissions": [sa.Column("variants", sa.JSON(none_as_null=True)), _flag("declines_challenges")],
        "entries": [_number("bot_id", server_default="0")],
    }
    for table, columns in added.items():
        for column in columns:
            op.add_column(table, column)


def _explore_openings() -> None:
    """Create the counts of the opening explorer, and the index of the tournaments that it has not counted yet."""
    waits, read = sa.text("kind = 1 AND explored < folded"), ["kind", "explored", "folded"]
    op.create_index("ix_tournaments_unexplored", "tournaments", read, sqlite_where=waits, postgresql_where=waits)
    columns = [
        _number("list_id"),
        _number("position"),
        sa.Column("move", sa.SmallInteger, autoincrement=False, nullable=False),
        sa.Column("result", sa.SmallInteger, autoincrement=False, nullable=False),
        sa.Column("games", sa.Integer, autoincrement=False, nullable=False),
        _number("tournament_id"),
        _number("ordinal"),
    ]
    key = sa.PrimaryKeyConstraint("list_id", "position", "move", "result", name="pk_explorer_moves")
    op.create_table("explorer_moves", *columns, key, sqlite_with_rowid=False)


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", _KEY, primary_key=True),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), nullable=False),
        sa.Column("url", sa.String(400), nullable=False),
        sa.Column("format", sa.String(16), nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("events", sa.String(400), nullable=False),
        *(_number(name) for name in ("created_at", "tried_at", "failures", "dropped")),
        sa.Column("problem", sa.String(400)),
    )
    op.create_index("ix_webhooks_owner_id", "webhooks", ["owner_id"])
    op.create_table(
        "outbox",
        sa.Column("id", _KEY, primary_key=True),
        sa.Column("webhook_id", _KEY, sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("delivery", sa.String(32), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        _number("created_at"),
    )
    op.create_index("ix_outbox_webhook_id", "outbox", ["webhook_id"])


def _count_processor_time() -> None:
    op.create_table(
        "processor_times",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), primary_key=True),
        _number("milliseconds"),
        sqlite_with_rowid=False,
    )


def _count_accuracy() -> None:
    """Create the counts of how often bots kept the exact value of a game."""
    columns = [_number(name) for name in ("list_id", "bot_id", "judged_games", "decisions", "blunders")]
    key = sa.PrimaryKeyConstraint("list_id", "bot_id", name="pk_accuracies")
    op.create_table("accuracies", *columns, key, sqlite_with_rowid=False)


def _count_scores_of_bots() -> None:
    """Count the scores of pairs of bots over all tournaments, and list the tournaments in which they met."""
    op.execute("UPDATE entries SET bot_id = (SELECT bot_id FROM bot_versions WHERE id = entries.bot_version_id)")
    op.drop_index("ix_entries_bot_version_id_tournament_id_number", "entries")
    op.create_index("ix_entries_bot_id_tournament_id_number", "entries", ["bot_id", "tournament_id", "number"])
    op.create_table(
        "bot_scores",
        _number("first_bot"),
        _number("second_bot"),
        sa.Column("variant", sa.String(63), nullable=False),
        *(_number(name) for name in ("wins", "draws", "losses")),
        sa.PrimaryKeyConstraint("first_bot", "second_bot", "variant", name="pk_bot_scores"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_bot_scores_second_bot", "bot_scores", ["second_bot"])
    op.create_table(
        "meetings",
        *(_number(name) for name in ("one_bot", "other_bot", "tournament_id")),
        sa.PrimaryKeyConstraint("one_bot", "other_bot", "tournament_id", name="pk_meetings"),
        sqlite_with_rowid=False,
    )
    op.execute(_COUNT_SCORES)
    op.execute(_FIND_MEETINGS)


def _create_leagues() -> None:
    """Create the tables of tournaments that repeat, and of their seasons."""
    op.create_table(
        "leagues",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("slug", sa.String(63), nullable=False),
        sa.Column("owner_id", _KEY, nullable=False),
        _number("interval_ms"),
        _number("created_at"),
        sa.Column("stopped_at", sa.BigInteger),
        sa.Column("stop_reason", sa.String(200)),
        sa.PrimaryKeyConstraint("id", name="pk_leagues"),
        sa.UniqueConstraint("slug", name="uq_leagues_slug"),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_leagues_owner_id"),
    )
    op.create_table(
        "seasons",
        sa.Column("league_id", _KEY, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("tournament_id", _KEY, nullable=False),
        sa.PrimaryKeyConstraint("league_id", "number", name="pk_seasons"),
        sa.UniqueConstraint("tournament_id", name="uq_seasons_tournament_id"),
        sa.ForeignKeyConstraint(["league_id"], ["leagues.id"], name="fk_seasons_league_id"),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournaments.id"], name="fk_seasons_tournament_id"),
    )


def _create_rating_moves() -> None:
    """Create the sums by which the bots of each other owner have moved a rating, with an index of the large ones."""
    op.create_table(
        "rating_moves",
        sa.Column("list_id", _KEY, sa.ForeignKey("rating_lists.id"), primary_key=True),
        sa.Column("bot_id", _KEY, sa.ForeignKey("bots.id"), primary_key=True),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), primary_key=True),
        sa.Column("moved", sa.Float(53), nullable=False),
        sqlite_with_rowid=False,
    )
    large = sa.text("(moved >= 300 OR moved <= -300)")
    op.create_index("ix_rating_moves_large", "rating_moves", ["moved"], sqlite_where=large, postgresql_where=large)


def _list_bot_names() -> None:
    """List the names that bots have, which other owners cannot imitate."""
    names = op.create_table(
        "bot_names",
        sa.Column("name", sa.String(63), primary_key=True),
        sa.Column("skeleton", sa.String(63), nullable=False),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), nullable=False),
        sa.Column("renamed_at", sa.BigInteger),
    )
    op.create_index("ix_bot_names_skeleton", "bot_names", ["skeleton"])
    op.create_index("ix_bot_names_owner_id_renamed_at", "bot_names", ["owner_id", "renamed_at"])
    bots = op.get_bind().execute(sa.text("SELECT bots.name, owner_id FROM bots JOIN owners ON owners.id = owner_id"))
    rows = [
        {"name": name, "skeleton": skeleton(name), "owner_id": owner, "renamed_at": None} for name, owner in bots.all()
    ]
    if rows:
        op.bulk_insert(names, rows)


def _number(name: str, server_default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, autoincrement=False, nullable=False, server_default=server_default)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
