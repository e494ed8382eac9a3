"""Webhooks, and the outbox of their events."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    number, text = sa.BigInteger, sa.String(400)
    about = {"url": text, "format": sa.String(16), "secret": sa.String(64), "events": text, "created_at": number}
    _create("webhooks", "owner", **about, tried_at=number, failures=number, dropped=number, problem=text)
    about = {"delivery": sa.String(32), "event": sa.String(40), "document": sa.JSON, "created_at": number}
    _create("outbox", "webhook", **about)


def _create(table: str, parent: str, **columns: Any) -> None:
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    of = sa.Column(f"{parent}_id", key, sa.ForeignKey(f"{parent}s.id"), nullable=False)
    others = (sa.Column(name, kind, nullable=name == "problem") for name, kind in columns.items())
    op.create_table(table, sa.Column("id", key, primary_key=True), of, *others)
    op.create_index(f"ix_{table}_{parent}_id", table, [f"{parent}_id"])
