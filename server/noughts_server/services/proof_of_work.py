"""The proof of work of open registration.

A challenge is `TIME.RANDOM.SIGNATURE`. The signature binds it to the address that asked for it and to this process, so
the server stores nothing for a challenge until it is solved. A solution is a text such that the SHA-256 of
`CHALLENGE:TEXT` begins with a number of zero bits. The server checks it with one hash.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import NamedTuple

from noughts_server.core.errors import InvalidArgument
from noughts_server.core.proof_of_work import leading_zero_bits

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
    """Creates challenges and checks their solutions. Each solution counts once."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._key = secrets.token_bytes(32)
        self._solved: dict[str, int] = {}
        """Solved challenges that have not expired, the oldest solution first, with the times of their expiry."""

    def challenge(self, address: str) -> Challenge:
        """Return a new challenge for this address."""
        now = self._now_ms()
        unsigned = f"{now}.{secrets.token_hex(12)}"
        return Challenge(f"{unsigned}.{self._signature(unsigned, address)}", now + LIFE_MS)

    def check(self, text: str, solution: str, *, address: str, bits: int) -> None:
        """Raise InvalidArgument unless the solution has `bits` bits of work, and solves this address's own challenge.

        The challenge must be of this process, at most ten minutes old, and not solved before.
        """
        unsigned, _, signature = text.rpartition(".")
        expected = self._signature(unsigned, address)
        if not hmac.compare_digest(signature.encode(errors="replace"), expected.encode()):
            raise _wrong("challenge", text, "a challenge of this server for your address")
        made_at = int(unsigned.partition(".")[0])
        now = self._now_ms()
        if now >= made_at + LIFE_MS:
            raise _wrong("challenge", text, f"one of the last {LIFE_MS // 60_000} minutes")
        if len(solution) > _LONGEST_SOLUTION or leading_zero_bits(text, solution) < bits:
            raise _wrong("solution", solution, f"a text that gives {bits} leading zero bits")
        if text in self._solved:
            raise _wrong("challenge", text, "one that has not been solved yet")
        self._solved = {other: end for other, end in self._solved.items() if end > now}
        self._solved[text] = made_at + LIFE_MS

    def _signature(self, unsigned: str, address: str) -> str:
        message = f"{unsigned} {address}".encode(errors="replace")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[: 2 * _SIGNATURE_BYTES]


def _wrong(field: str, got: str, expected: str) -> InvalidArgument:
    return InvalidArgument.of(f"proof.{field}", got, expected, hint=_NEW)
