"""Webhooks and their outbox: an event waits in the database until its webhook has received it.

To report a further event, add a line to `EVENTS` and call `report_event` in the transaction of the change.
"""

import secrets
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, or_, select, update

from noughts_server.core.errors import NotFound, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import tournament_name, webhook_name
from noughts_server.store.engine import schema
from noughts_server.store.engine.schema import entries, outbox, owners, tournaments, webhooks

TEST = "webhook.test"
EVENTS: Mapping[str, str] = {
    "tournament.started": "Tournament {title} has started ({variant}).",
    "tournament.finished": "Tournament {title} is {state}; {games_done:,} games were played.",
    "bot.withdrawn": "{entry} was withdrawn from tournament {title} ({reason}).",
    "match.decided": "The test of {title} is decided: {decision} (LLR {llr:.2f}, {games_done:,} games).",
    "upset.record": "{winner} beat {loser}, whose rating was {rating_difference} higher, in tournament {title}.",
    "tournament.stopped": "Play in tournament {title} has stopped: {reason}",
    "tournament.resumed": "Play in tournament {title} has resumed.",
    TEST: "This is a test of {webhook}.",
}
"""The events, each with a readable sentence that contains facts of its document."""
MOST_WAITING = 1_000
"""Limit of the undelivered events of one webhook. If there are more, the oldest are dropped."""
# The delay after a request, which doubles with each failure up to the maximum.
PERIOD_MS = 1_000
LONGEST_DELAY_MS = 3_600_000

Webhook = Row[Any]
"""The columns of `webhooks`; `owner`, a name; `waiting`, the number of undelivered events."""
Event = Row[Any]
"""The columns of `outbox`, and `owner_id`, `url`, `format`, `secret`, `tried_at` and `failures` of its webhook."""

_WAITING = select(func.count()).where(outbox.c.webhook_id == webhooks.c.id).correlate(webhooks).scalar_subquery()
_WEBHOOKS: Select[Any] = select(webhooks, owners.c.name.label("owner"), _WAITING.label("waiting")).join(owners)


def create_webhook(
    connection: Connection, *, owner_id: int, url: str, format: str, events: str, now_ms: int, limits: Limits
) -> Webhook:
    """Create a webhook that was checked, with a new secret. `events` empty: all. Raises LimitReached."""
    limits.check("webhooks", "webhooks of yours", len(list_webhooks(connection, owner_id)))
    row = {"owner_id": owner_id, "url": url, "format": format, "secret": secrets.token_urlsafe(24), "events": events}
    row |= {"created_at": now_ms, "tried_at": 0, "failures": 0, "dropped": 0}
    return get_webhook(connection, connection.execute(insert(webhooks).returning(webhooks.c.id), row).scalar_one())


def get_webhook(connection: Connection, webhook_id: int, *, owner_id: int | None = None) -> Webhook:
    """Return a webhook; with `owner_id`, it must be this owner's. Raises NotFound, PermissionDenied."""
    row = connection.execute(_WEBHOOKS.where(webhooks.c.id == webhook_id)).one_or_none()
    if row is None:
        raise NotFound(webhook_name(webhook_id), hint="`noughts webhook list` shows the webhooks.")
    if owner_id not in (None, row.owner_id):
        raise PermissionDenied(webhook_name(webhook_id))
    return row


def list_webhooks(connection: Connection, owner_id: int) -> list[Webhook]:
    """Return the webhooks of an owner, oldest first."""
    return list(connection.execute(_WEBHOOKS.where(webhooks.c.owner_id == owner_id).order_by(webhooks.c.id)))


def delete_webhook(connection: Connection, webhook_id: int, *, owner_id: int | None = None) -> None:
    """Delete a webhook with its undelivered events. Raises NotFound, PermissionDenied."""
    get_webhook(connection, webhook_id, owner_id=owner_id)
    connection.execute(delete(outbox).where(outbox.c.webhook_id == webhook_id))
    connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id))


def report_event(
    connection: Connection,
    event: str,
    tournament: int,
    now_ms: int,
    *,
    only: int | None = None,
    costly: Callable[[], Mapping[str, object]] | None = None,
    **facts: object,
) -> None:
    """Put an event of a tournament into the outbox, for the webhooks of its owner and of the owners of its entries.

    With `only`, the number of an entry, the owners of other entries do not receive it. `costly` returns further facts;
    it is called once, and only if a webhook waits for the event. Challenges have no events.
    """
    playing = select(schema.bots.c.owner_id).select_from(entries).join(schema.bot_versions).join(schema.bots)
    playing = playing.where(entries.c.tournament_id == tournament)
    if only is not None:
        playing = playing.where(entries.c.number == only)
    has_interest = or_(webhooks.c.owner_id == tournaments.c.owner_id, webhooks.c.owner_id.in_(playing))
    statement = select(webhooks.c.id.label("webhook"), webhooks.c.events, tournaments).where(
        tournaments.c.id == tournament, tournaments.c.kind != schema.Kind.CHALLENGE, has_interest
    )
    waiting = [row for row in connection.execute(statement).all() if not row.events or event in row.events.split()]
    if waiting and costly is not None:
        facts |= costly()
    for row in waiting:
        document = {"tournament": tournament_name(row.slug), "title": row.title or row.slug}
        document |= {"variant": row.variant, "state": str(schema.TournamentState(row.state))}
        document |= {"games_total": row.games_total, "games_done": row.games_done, **facts}
        _append(connection, row.webhook, event, document, now_ms)


def queue_test(connection: Connection, webhook_id: int, *, now_ms: int, owner_id: int | None = None) -> None:
    """Put a test into the outbox, and end the delay after failures. Raises NotFound, PermissionDenied."""
    get_webhook(connection, webhook_id, owner_id=owner_id)
    connection.execute(update(webhooks).where(webhooks.c.id == webhook_id).values(failures=0, problem=None))
    _append(connection, webhook_id, TEST, {"webhook": webhook_name(webhook_id)}, now_ms)


def _append(connection: Connection, webhook_id: int, event: str, document: Mapping[str, Any], now_ms: int) -> None:
    row = {"webhook_id": webhook_id, "delivery": uuid.uuid4().hex, "event": event, "document": document}
    connection.execute(insert(outbox), row | {"created_at": now_ms})
    newest = select(outbox.c.id).where(outbox.c.webhook_id == webhook_id).order_by(outbox.c.id.desc())
    last = connection.execute(newest.offset(MOST_WAITING).limit(1)).scalar()
    if last is not None:
        dropped = connection.execute(
            delete(outbox).where(outbox.c.webhook_id == webhook_id, outbox.c.id <= last)
        ).rowcount
        webhook = update(webhooks).where(webhooks.c.id == webhook_id)
        connection.execute(webhook.values(dropped=webhooks.c.dropped + dropped))


def due_events(connection: Connection, *, now_ms: int) -> list[Event]:
    """Return the oldest event of each webhook that can receive one now."""
    waiting = outbox.alias()
    oldest = select(func.min(waiting.c.id)).where(waiting.c.webhook_id == webhooks.c.id).scalar_subquery()
    columns = (webhooks.c[name] for name in ("owner_id", "url", "format", "secret", "tried_at", "failures"))
    events = connection.execute(select(outbox, *columns).join(webhooks).where(outbox.c.id == oldest))
    delayed = ((row, min(PERIOD_MS << min(row.failures, 12), LONGEST_DELAY_MS)) for row in events)
    return [row for row, delay_ms in delayed if row.tried_at + delay_ms <= now_ms]


def begin_request(connection: Connection, event: Event, *, until_ms: int) -> bool:
    """Reserve a webhook for a request until `until_ms`; return False if another server has reserved it."""
    unchanged = (webhooks.c.id == event.webhook_id, webhooks.c.tried_at == event.tried_at)
    return connection.execute(update(webhooks).where(*unchanged).values(tried_at=until_ms)).rowcount == 1


def end_request(connection: Connection, event: Event, problem: str | None, *, now_ms: int) -> None:
    """Store the result of a request. If there was no problem, the event leaves the outbox."""
    if problem is None:
        connection.execute(delete(outbox).where(outbox.c.id == event.id, outbox.c.delivery == event.delivery))
    values = {"tried_at": now_ms, "problem": problem, "failures": webhooks.c.failures + 1 if problem else 0}
    connection.execute(update(webhooks).where(webhooks.c.id == event.webhook_id).values(**values))
