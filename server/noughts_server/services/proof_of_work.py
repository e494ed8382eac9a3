"""The proof of work of open registration.

A challenge is `TIME.RANDOM.SIGNATURE`. The signature binds it to the address that asked for it, so the server stores
nothing for a challenge until it is used. All servers of a cluster have the same key. A solution is a text such that the
SHA-256 of `CHALLENGE:TEXT` begins with a number of zero bits. The server checks it with one hash.
"""

import hashlib
import hmac
import secrets
from typing import NamedTuple

from noughts_server.core.errors import InvalidArgument
from noughts_server.core.proof_of_work import leading_zero_bits
from noughts_server.store.people.proofs import SolvedChallenge

LIFE_MS = 600_000
"""Milliseconds in which a challenge must be solved."""
_LONGEST_SOLUTION = 100
_SIGNATURE_BYTES = 16
_NEW = "Get a new challenge, and solve that."


class Challenge(NamedTuple):
    """A challenge, and when it expires in milliseconds since 1970."""

    text: str
    expires_at: int


class ProofOfWork:
    """Creates challenges and checks their solutions. The store makes each solution count once."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def challenge(self, address: str, *, now_ms: int) -> Challenge:
        """Return a new challenge for this address."""
        unsigned = f"{now_ms}.{secrets.token_hex(12)}"
        return Challenge(f"{unsigned}.{self._signature(unsigned, address)}", now_ms + LIFE_MS)

    def check(self, text: str, solution: str, *, address: str, bits: int, now_ms: int) -> SolvedChallenge:
        """Return the challenge if the solution has `bits` bits of work, and solves this address's own challenge.

        The challenge must be at most ten minutes old. Raises InvalidArgument.
        """
        unsigned, _, signature = text.rpartition(".")
        expected = self._signature(unsigned, address)
        if not hmac.compare_digest(signature.encode(errors="replace"), expected.encode()):
            raise _wrong("challenge", text, "a challenge of this server for your address")
        made_at = int(unsigned.partition(".")[0])
        if now_ms >= made_at + LIFE_MS:
            raise _wrong("challenge", text, f"one of the last {LIFE_MS // 60_000} minutes")
        if len(solution) > _LONGEST_SOLUTION or leading_zero_bits(text, solution) < bits:
            raise _wrong("solution", solution, f"a text that gives {bits} leading zero bits")
        return SolvedChallenge(text, made_at + LIFE_MS)

    def _signature(self, unsigned: str, address: str) -> str:
        message = f"{unsigned} {address}".encode(errors="replace")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[: 2 * _SIGNATURE_BYTES]


def _wrong(field: str, got: str, expected: str) -> InvalidArgument:
    return InvalidArgument.of(f"proof.{field}", got, expected, hint=_NEW)
