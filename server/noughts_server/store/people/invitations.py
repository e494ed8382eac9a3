"""Invitations: secrets with which new owners register. Only the hash of a secret is stored.

A secret is `inv_`, a selector of 12 characters and 32 more characters. A row is found by its selector, which permits
nothing, and the hash of the whole secret is compared in constant time. So the time of an answer tells nothing about
secrets.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, insert, select, update

from noughts_server.core.errors import InvitationRefused, NotFound
from noughts_server.core.resource_names import invitation_name, tournament_name
from noughts_server.store.engine.pages import Page, read_page
from noughts_server.store.engine.schema import invitations, owners, tournaments

_PREFIX = "inv_"
_SELECTOR_BYTES = 9  # 12 characters
_RANDOM_BYTES = 24  # 32 characters
_SELECTOR_END = len(_PREFIX) + 12
_NO_HASH = bytes(32)
_MOST_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation without its secret. Times are milliseconds since 1970 in UTC."""

    id: int
    label: str
    scopes: tuple[str, ...]
    """The scopes of the tokens of new owners."""
    tournament: str
    """The ID of the tournament that the first bot of each new owner enters; empty: none."""
    uses: int
    """How many owners can register with it."""
    used: int
    """How many have registered."""
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    owners: tuple[str, ...] = ()
    """The names of those who have registered, at most 1,000, in this order."""


class NewInvitation(NamedTuple):
    """An invitation and its secret, which cannot be shown again."""

    invitation: Invitation
    secret: str


def create_invitation(
    connection: Connection,
    *,
    scopes: Iterable[str],
    uses: int = 1,
    label: str = "",
    tournament: str = "",
    lifetime_ms: int | None = None,
    made_by: int | None = None,
    now_ms: int,
) -> NewInvitation:
    """Create an invitation for `uses` new owners. The caller has checked label, scopes, uses and lifetime.

    It expires after `lifetime_ms` milliseconds (None: never). `made_by` is the token of the request. Raises NotFound
    for an unknown tournament.
    """
    with_slug = select(tournaments.c.id).where(tournaments.c.slug == tournament)
    if tournament and connection.execute(with_slug).first() is None:
        raise NotFound(tournament_name(tournament), hint="`noughts tournament list` shows the tournaments.")
    secret = _PREFIX + secrets.token_urlsafe(_SELECTOR_BYTES) + secrets.token_urlsafe(_RANDOM_BYTES)
    row: dict[str, Any] = {"selector": _selector(secret), "hash": _hash(secret), "label": label, "uses": uses}
    row |= {"scopes": " ".join(scopes), "tournament": tournament or None, "created_at": now_ms, "made_by": made_by}
    row["expires_at"] = None if lifetime_ms is None else now_ms + lifetime_ms
    key = connection.execute(insert(invitations).returning(invitations.c.id), row).scalar_one()
    return NewInvitation(get_invitation(connection, key), secret)


def named_invitation(connection: Connection, secret: str) -> int | None:
    """Return the number of the invitation with this secret's selector; None if there is none.

    The rest of the secret is not checked.
    """
    with_selector = select(invitations.c.id).where(invitations.c.selector == _selector(secret))
    return connection.scalar(with_selector)


def use_invitation(connection: Connection, secret: str, *, now_ms: int) -> Invitation:
    """Count a use of the invitation with this secret, and return it. Raises InvitationRefused.

    The condition of the statement makes the count exact and revocation effective, whatever other transactions do.
    """
    row = connection.execute(select(invitations).where(invitations.c.selector == _selector(secret))).one_or_none()
    is_right = hmac.compare_digest(_NO_HASH if row is None else row.hash, _hash(secret))
    if row is None or not is_right:
        raise InvitationRefused("unknown")
    if row.revoked_at is not None:
        raise InvitationRefused("revoked")
    if row.expires_at is not None and row.expires_at <= now_ms:
        raise InvitationRefused("expired")
    use = update(invitations).where(
        invitations.c.id == row.id,
        invitations.c.revoked_at.is_(None),
        invitations.c.used < invitations.c.uses,
    )
    if connection.execute(use.values(used=invitations.c.used + 1)).rowcount != 1:
        raise InvitationRefused("used up")
    return _invitation(row)


def get_invitation(connection: Connection, number: int) -> Invitation:
    """Return the invitation with this number. Raises NotFound."""
    # Databases store 64 bits; no invitation has a larger number.
    with_number = select(invitations).where(invitations.c.id == min(number, (1 << 63) - 1))
    row = connection.execute(with_number).one_or_none()
    if row is None:
        raise NotFound(invitation_name(number), hint="`noughts invite list` shows the invitations.")
    return _with_owners(connection, _invitation(row))


def list_invitations(connection: Connection) -> list[Invitation]:
    """Return all invitations, oldest first."""
    rows = connection.execute(select(invitations).order_by(invitations.c.id)).all()
    return [_with_owners(connection, _invitation(row)) for row in rows]


def invitation_page(connection: Connection, *, size: int = 0, page_token: str = "") -> Page[Invitation]:
    """Return a page of the invitations, oldest first. Raises InvalidArgument for a bad size or token."""

    def read(row: Row[Any]) -> Invitation:
        return _with_owners(connection, _invitation(row))

    keys = (invitations.c.id,)
    return read_page(connection, select(invitations), read, "invitations", keys, size=size, page_token=page_token)


def revoke_invitation(connection: Connection, number: int, *, now_ms: int) -> Invitation:
    """Revoke an invitation. The tokens of those who have registered stay valid. Repeating it has no effect.

    Raises NotFound.
    """
    invitation_id = get_invitation(connection, number).id
    unrevoked = update(invitations).where(invitations.c.id == invitation_id, invitations.c.revoked_at.is_(None))
    connection.execute(unrevoked.values(revoked_at=now_ms))
    return get_invitation(connection, number)


def _with_owners(connection: Connection, invitation: Invitation) -> Invitation:
    owner_names = select(owners.c.name).where(owners.c.invitation_id == invitation.id).order_by(owners.c.id)
    names = tuple(connection.execute(owner_names.limit(_MOST_NAMES)).scalars())
    return replace(invitation, owners=names)


def _invitation(row: Row[Any]) -> Invitation:
    return Invitation(
        id=row.id,
        label=row.label,
        scopes=tuple(row.scopes.split()),
        tournament=row.tournament or "",
        uses=row.uses,
        used=row.used,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )


def _selector(secret: str) -> str:
    return secret[len(_PREFIX) : _SELECTOR_END]


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
