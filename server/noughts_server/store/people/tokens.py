"""Owners and their tokens. Only the hash of a secret is stored."""

import hashlib
import secrets
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, insert, or_, select, update

from noughts_server.core.errors import NotFound, PermissionDenied, TokenExpired, TokenRevoked, Unauthenticated
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import token_name
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.pages import Page, read_page
from noughts_server.store.engine.schema import invitations, owners, tokens
from noughts_server.store.people.confusable_names import skeleton
from noughts_server.store.people.scopes import ADMIN, DEFAULT_SCOPES, permits
from noughts_server.store.validation import check_name

_PREFIX = "nou_"
_RANDOM_BYTES = 24  # 32 characters
_TOUCH_MS = 60_000
"""The least time between two records of a token's use, so that few calls write."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret. Times are milliseconds since 1970 in UTC."""

    id: int
    owner: str
    label: str
    created_at: int
    revoked_at: int | None
    last_used_at: int | None
    """The time of the last use, accurate to one minute."""
    scopes: tuple[str, ...]
    expires_at: int | None


class NewToken(NamedTuple):
    """A token and its secret, which cannot be shown again."""

    token: Token
    secret: str


class Caller(NamedTuple):
    """The token of a caller and its owner."""

    token_id: int
    owner_id: int
    owner: str
    scopes: tuple[str, ...]
    expires_at: int | None
    stale: bool
    """Whether `touch_token` is due: the use of a token is recorded once a minute."""

    def permits(self, scope: str) -> bool:
        """Return whether the token has this scope or a wider one."""
        return permits(self.scopes, scope)

    @property
    def only_owner(self) -> int | None:
        """Return the owner to whose resources the caller is limited; None for `admin`."""
        return None if ADMIN in self.scopes else self.owner_id


SITE_OWNER, HOUSE_OWNER = "site", "house"
"""The owners of the server's own bots: those of its website, and those of `noughts live` and `--house-bots`."""


def create_owner(connection: Connection, name: str) -> int:
    """Return the key of the owner `name`, created if new. Raises InvalidArgument."""
    check_name("owner", name)
    owner_id: int | None = connection.execute(select(owners.c.id).where(owners.c.name == name)).scalar()
    if owner_id is not None:
        return owner_id
    row = {"name": name, "skeleton": skeleton(name)}
    return int(connection.execute(insert(owners).returning(owners.c.id), row).scalar_one())


def create_token(
    connection: Connection,
    *,
    owner: str,
    label: str = "",
    scopes: Iterable[str] = DEFAULT_SCOPES,
    lifetime_ms: int | None = None,
    made_by: int | None = None,
    now_ms: int,
    limits: Limits | None = None,
) -> NewToken:
    """Create a token for an owner, who is created if new. The caller has checked label, scopes and lifetime.

    It expires after `lifetime_ms` milliseconds (None: never). `made_by` is the token of the request. Raises
    InvalidArgument, and LimitReached if the owner has too many valid tokens (`limits` None: unlimited).
    """
    owner_id = create_owner(connection, owner)
    if limits is not None:
        alive = (tokens.c.revoked_at.is_(None), or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now_ms))
        of_owner = select(func.count()).select_from(tokens).where(tokens.c.owner_id == owner_id, *alive)
        limits.check("tokens", f"tokens of {owner}", connection.execute(of_owner).scalar_one())
    secret = _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    row: dict[str, Any] = {"owner_id": owner_id, "label": label, "hash": _hash(secret), "created_at": now_ms}
    row |= {
        "scopes": " ".join(scopes),
        "expires_at": None if lifetime_ms is None else now_ms + lifetime_ms,
        "made_by": made_by,
    }
    key = connection.execute(insert(tokens).returning(tokens.c.id), row).scalar_one()
    return NewToken(_read_token(connection, key), secret)


def authenticate(connection: Connection, secret: str, *, now_ms: int) -> Caller:
    """Return the caller with this secret. Raises Unauthenticated (unknown), TokenRevoked, TokenExpired."""
    with_secret = select(tokens, owners.c.name).join(owners).where(tokens.c.hash == _hash(secret))
    row = connection.execute(with_secret).one_or_none()
    if row is None:
        raise Unauthenticated("the token is unknown")
    end_error = _end_error(row.revoked_at, row.expires_at, now_ms)
    if end_error is not None:
        raise end_error
    stale = row.last_used_at is None or now_ms - row.last_used_at >= _TOUCH_MS
    return Caller(
        token_id=row.id,
        owner_id=row.owner_id,
        owner=row.name,
        scopes=tuple(row.scopes.split()),
        expires_at=row.expires_at,
        stale=stale,
    )


def ended_tokens(connection: Connection, token_ids: Collection[int], *, now_ms: int) -> dict[int, Unauthenticated]:
    """Return the tokens that are no longer valid, with the reason of each."""
    ended: dict[int, Unauthenticated] = {}
    over = or_(tokens.c.revoked_at.is_not(None), tokens.c.expires_at <= now_ms)
    for batch in in_batches(token_ids):
        statement = select(tokens.c.id, tokens.c.revoked_at, tokens.c.expires_at).where(tokens.c.id.in_(batch), over)
        for token_id, revoked_at, expires_at in connection.execute(statement):
            ended[token_id] = _end_error(revoked_at, expires_at, now_ms) or TokenExpired()
    return ended


def _end_error(revoked_at: int | None, expires_at: int | None, now_ms: int) -> Unauthenticated | None:
    """Return why a token is no longer valid; None if it is valid."""
    if revoked_at is not None:
        return TokenRevoked()
    return TokenExpired() if expires_at is not None and expires_at <= now_ms else None


def set_expiry(connection: Connection, *, label: str, expires_at: int | None) -> None:
    """Set the expiry of tokens with this label (None: never), except revoked ones and those that a token created."""
    valid = update(tokens).where(tokens.c.label == label, tokens.c.revoked_at.is_(None), tokens.c.made_by.is_(None))
    connection.execute(valid.values(expires_at=expires_at))


def touch_token(connection: Connection, token_id: int, *, now_ms: int) -> None:
    """Record that a token was used."""
    connection.execute(update(tokens).where(tokens.c.id == token_id).values(last_used_at=now_ms))


def list_tokens(connection: Connection) -> list[Token]:
    """Return all tokens, oldest first."""
    return [_token(row) for row in connection.execute(_tokens().order_by(tokens.c.id))]


def token_page(connection: Connection, *, owner_id: int | None, size: int = 0, page_token: str = "") -> Page[Token]:
    """Return a page of one owner's tokens, or of all, oldest first. Raises InvalidArgument for a bad size or token."""
    statement = _tokens() if owner_id is None else _tokens().where(tokens.c.owner_id == owner_id)
    return read_page(connection, statement, _token, "tokens", (tokens.c.id,), size=size, page_token=page_token)


def get_token(connection: Connection, token_id: int, *, owner_id: int | None = None) -> Token:
    """Return the token with this number. Raises NotFound, PermissionDenied (another owner's)."""
    # Databases store 64 bits; no token has a larger number.
    owner_of_token = select(tokens.c.owner_id).where(tokens.c.id == min(token_id, (1 << 63) - 1))
    owner: int | None = connection.execute(owner_of_token).scalar()
    if owner is None:
        raise NotFound(token_name(token_id), hint="`noughts token list` shows the tokens.")
    if owner_id not in (None, owner):
        raise PermissionDenied(token_name(token_id))
    return _read_token(connection, token_id)


def revoke_token(connection: Connection, token_id: int, *, now_ms: int, owner_id: int | None = None) -> Token:
    """Revoke a token, all tokens that it created for its owner, and all invitations that these created.

    A thief of a token therefore cannot keep access by creating others. Repeating it has no effect. Raises NotFound,
    PermissionDenied (another owner's).
    """
    get_token(connection, token_id, owner_id=owner_id)
    doomed = select(tokens.c.id, tokens.c.owner_id).where(tokens.c.id == token_id).cte("doomed", recursive=True)
    created = tokens.alias()
    same_owner = created.c.owner_id == doomed.c.owner_id
    doomed = doomed.union(select(created.c.id, created.c.owner_id).where(created.c.made_by == doomed.c.id, same_owner))
    valid = update(tokens).where(tokens.c.id.in_(select(doomed.c.id)), tokens.c.revoked_at.is_(None))
    connection.execute(valid.values(revoked_at=now_ms))
    by_them = update(invitations).where(invitations.c.made_by.in_(select(doomed.c.id)))
    connection.execute(by_them.where(invitations.c.revoked_at.is_(None)).values(revoked_at=now_ms))
    return _read_token(connection, token_id)


def revoke_tokens(connection: Connection, *, owner: str, label: str, now_ms: int) -> None:
    """Revoke the tokens of an owner with this label."""
    for token in list_tokens(connection):
        if token.owner == owner and token.label == label and token.revoked_at is None:
            revoke_token(connection, token.id, now_ms=now_ms)


@asynccontextmanager
async def temporary_token(
    store: Store, *, owner: str, label: str, scopes: Iterable[str] = DEFAULT_SCOPES
) -> AsyncIterator[str]:
    """Yield the secret of a token, and revoke it at the end. Before, revoke the one of a killed process."""

    def revoke(connection: Connection) -> None:
        revoke_tokens(connection, owner=owner, label=label, now_ms=store.now_ms())

    def create(connection: Connection) -> str:
        revoke(connection)
        return create_token(connection, owner=owner, label=label, scopes=scopes, now_ms=store.now_ms()).secret

    yield await store.write(create)
    await store.write(revoke)


def _tokens() -> Select[Any]:
    return select(tokens, owners.c.name.label("owner")).join(owners)


def _read_token(connection: Connection, token_id: int) -> Token:
    return _token(connection.execute(_tokens().where(tokens.c.id == token_id)).one())


def _token(row: Any) -> Token:
    return Token(
        id=row.id,
        owner=row.owner,
        label=row.label,
        created_at=row.created_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
        scopes=tuple(row.scopes.split()),
        expires_at=row.expires_at,
    )


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
