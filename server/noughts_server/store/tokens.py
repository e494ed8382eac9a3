"""Owners and their tokens. Only the hash of a secret is stored."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, insert, select, update

from noughts_server.errors import NotFound, PermissionDenied, Unauthenticated
from noughts_server.store.schema import owners, tokens
from noughts_server.store.validation import check_name, check_text

_PREFIX = "nou_"
_RANDOM_BYTES = 24  # 32 characters
_LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret. Moments are milliseconds since 1970 in UTC."""

    id: int
    owner: str
    label: str
    created_at: int
    revoked_at: int | None
    last_used_at: int | None


class NewToken(NamedTuple):
    """A token and its secret, which cannot be shown again."""

    token: Token
    secret: str


class Caller(NamedTuple):
    """Who presented a token."""

    token_id: int
    owner_id: int
    owner: str


def create_owner(connection: Connection, name: str) -> int:
    """The key of the owner called `name`, who is made if new. Raises InvalidArgument."""
    check_name("owner", name)
    known: int | None = connection.execute(select(owners.c.id).where(owners.c.name == name)).scalar()
    if known is not None:
        return known
    return int(connection.execute(insert(owners).returning(owners.c.id), {"name": name}).scalar_one())


def create_token(connection: Connection, *, owner: str, label: str = "", now_ms: int) -> NewToken:
    """Makes a token for an owner, who is made too if new. Raises InvalidArgument."""
    check_text("label", label, _LONGEST_LABEL)
    secret = _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    row = {
        "owner_id": create_owner(connection, owner),
        "label": label,
        "hash": _hash(secret),
        "created_at": now_ms,
    }
    key = connection.execute(insert(tokens).returning(tokens.c.id), row).scalar_one()
    return NewToken(_token(connection, key), secret)


def authenticate(connection: Connection, secret: str) -> Caller:
    """Who holds this secret. Raises Unauthenticated for an unknown or revoked one."""
    found = connection.execute(
        select(tokens.c.id, tokens.c.owner_id, owners.c.name, tokens.c.revoked_at)
        .join(owners)
        .where(tokens.c.hash == _hash(secret))
    ).one_or_none()
    if found is None:
        raise Unauthenticated("the token is unknown")
    if found.revoked_at is not None:
        raise Unauthenticated("the token was revoked")
    return Caller(found.id, found.owner_id, found.name)


def touch_token(connection: Connection, token_id: int, *, now_ms: int) -> None:
    """Notes that a token was used."""
    connection.execute(update(tokens).where(tokens.c.id == token_id).values(last_used_at=now_ms))


def list_tokens(connection: Connection, *, owner_id: int | None = None) -> list[Token]:
    """The tokens of one owner, or all of them, oldest first."""
    statement = _tokens().order_by(tokens.c.id)
    if owner_id is not None:
        statement = statement.where(tokens.c.owner_id == owner_id)
    return [Token(*row) for row in connection.execute(statement)]


def revoke_token(connection: Connection, token_id: int, *, now_ms: int, owner_id: int | None = None) -> Token:
    """Makes a token worthless from now on; again does no harm. Raises NotFound, PermissionDenied (another owner's)."""
    # Databases keep 64 bits; a larger number is nobody's.
    known = select(tokens.c.owner_id).where(tokens.c.id == min(token_id, (1 << 63) - 1))
    owner: int | None = connection.execute(known).scalar()
    if owner is None:
        raise NotFound(f"tokens/{token_id}", hint="`noughts token list` shows the tokens.")
    if owner_id not in (None, owner):
        raise PermissionDenied(f"tokens/{token_id}")
    connection.execute(
        update(tokens).where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None)).values(revoked_at=now_ms)
    )
    return _token(connection, token_id)


def _tokens() -> Select[Any]:
    return select(
        tokens.c.id,
        owners.c.name,
        tokens.c.label,
        tokens.c.created_at,
        tokens.c.revoked_at,
        tokens.c.last_used_at,
    ).join(owners)


def _token(connection: Connection, token_id: int) -> Token:
    return Token(*connection.execute(_tokens().where(tokens.c.id == token_id)).one())


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
