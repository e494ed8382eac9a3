"""The work of a registration without an invitation, for servers and clients."""

import hashlib
from itertools import count


def leading_zero_bits(challenge: str, solution: str) -> int:
    """Return the number of zero bits with which the SHA-256 of `CHALLENGE:SOLUTION` begins."""
    digest = hashlib.sha256(f"{challenge}:{solution}".encode(errors="replace")).digest()
    return 256 - int.from_bytes(digest, "big").bit_length()


def solve(challenge: str, bits: int) -> str:
    """Return a solution with this number of zero bits. It takes about 2 to the power of `bits` hashes."""
    return next(str(number) for number in count() if leading_zero_bits(challenge, str(number)) >= bits)
