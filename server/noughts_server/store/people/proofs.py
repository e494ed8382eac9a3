"""The data about proofs of work that the servers of a cluster share: the key of challenges, and solved challenges."""

import hashlib
import secrets
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from noughts_server.core.errors import InvalidArgument
from noughts_server.store.engine.schema import server_keys, solved_challenges

_PURPOSE = "proof of work"
_KEY_BYTES = 32


class SolvedChallenge(NamedTuple):
    """A challenge whose solution was checked, and when it expires in milliseconds since 1970."""

    text: str
    expires_at: int


def proof_key(connection: Connection) -> bytes | None:
    """Return the key with which challenges are signed; None if no server has created one."""
    key: bytes | None = connection.scalar(select(server_keys.c.key).where(server_keys.c.purpose == _PURPOSE))
    return key


def create_proof_key(connection: Connection) -> bytes:
    """Create the key unless another server has created it meanwhile, and return it."""
    key = proof_key(connection)
    if key is None:
        key = secrets.token_bytes(_KEY_BYTES)
        connection.execute(insert(server_keys).values(purpose=_PURPOSE, key=key))
    return key


def use_challenge(connection: Connection, challenge: SolvedChallenge, *, now_ms: int) -> None:
    """Record that the challenge was used. Raises InvalidArgument if it was used before, at any server."""
    connection.execute(delete(solved_challenges).where(solved_challenges.c.expires_at <= now_ms))
    digest = hashlib.sha256(challenge.text.encode()).digest()
    if connection.execute(select(solved_challenges).where(solved_challenges.c.hash == digest)).first() is not None:
        hint = "Get a new challenge, and solve that."
        raise InvalidArgument.of("proof.challenge", challenge.text, "one that has not been solved yet", hint=hint)
    connection.execute(insert(solved_challenges).values(hash=digest, expires_at=challenge.expires_at))
