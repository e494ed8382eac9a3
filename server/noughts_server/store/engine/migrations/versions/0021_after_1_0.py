"""What versions after 1.0 store: stones by agreement, counts of openings, scores, webhooks, tests and record upsets."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0014"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _count_agreed_stones()
    added: dict[str, list[sa.Column[Any]]] = {
        "tournaments": [
            sa.Column("explored", sa.BigInteger, nullable=False, server_default="0"),
            sa.Column("match_counts", sa.JSON(none_as_null=True)),
        ],
        "games": [sa.Column(name, sa.LargeBinary) for name in ("scores", "comments")],
        "journal": [sa.Column(name, sa.LargeBinary) for name in ("scores", "comments")],
        "nodes": [sa.Column("accepts", sa.String(40), nullable=False, server_default="")],
        "rating_lists": [sa.Column("upset", sa.Integer, nullable=False, server_default="0")],
    }
    for table, columns in added.items():
        for column in columns:
            op.add_column(table, column)
    waits, read = sa.text("kind = 1 AND explored < folded"), ["kind", "explored", "folded"]
    op.create_index("ix_tournaments_unexplored", "tournaments", read, sqlite_where=waits, postgresql_where=waits)
    keys = {"list_id": sa.BigInteger, "position": sa.BigInteger, "move": sa.SmallInteger, "result": sa.SmallInteger}
    others = {"games": sa.Integer, "tournament_id": sa.BigInteger, "ordinal": sa.BigInteger}
    counts = (sa.Column(name, kind, autoincrement=False, nullable=False) for name, kind in (keys | others).items())
    key = sa.PrimaryKeyConstraint(*keys, name="pk_explorer_moves")
    op.create_table("explorer_moves", *counts, key, sqlite_with_rowid=False)
    op.create_table(
        "processor_times",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("owner_id", _KEY, sa.ForeignKey("owners.id"), primary_key=True),
        sa.Column("milliseconds", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    number, text = sa.BigInteger, sa.String(400)
    about = {"url": text, "format": sa.String(16), "secret": sa.String(64), "events": text, "created_at": number}
    _create_list("webhooks", "owner", **about, tried_at=number, failures=number, dropped=number, problem=text)
    about = {"delivery": sa.String(32), "event": sa.String(40), "document": sa.JSON, "created_at": number}
    _create_list("outbox", "webhook", **about)


def _count_agreed_stones() -> None:
    """Derive from the times, as older versions did, how many stones of a game were put by agreement."""
    tournaments = sa.table("tournaments", sa.column("id"), sa.column("variant"))
    agreed = sa.select(tournaments.c.id).where(tournaments.c.variant.like("%+swap%"))
    for name in ("games", "journal"):
        table = sa.table(name, *map(sa.column, ("tournament_id", "moves", "times", "opening_plies")))
        # The third time, of four bytes, marked that five stones were put, not three.
        third = sa.func.substr(table.c.times, 9, 4, type_=sa.LargeBinary)
        five = sa.and_(sa.func.length(table.c.times) >= 12, third != bytes(4))
        stones = sa.case((sa.func.length(table.c.moves) == 0, 0), (five, 5), else_=3)
        op.execute(sa.update(table).where(table.c.tournament_id.in_(agreed)).values(opening_plies=stones))


def _create_list(table: str, parent: str, **columns: Any) -> None:
    of = sa.Column(f"{parent}_id", _KEY, sa.ForeignKey(f"{parent}s.id"), nullable=False)
    others = (sa.Column(name, kind, nullable=name == "problem") for name, kind in columns.items())
    op.create_table(table, sa.Column("id", _KEY, primary_key=True), of, *others)
    op.create_index(f"ix_{table}_{parent}_id", table, [f"{parent}_id"])
