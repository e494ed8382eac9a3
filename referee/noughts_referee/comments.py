"""The bots' comments on the moves of a game, by ply: limits, and how they are stored (compressed JSON)."""

import json
import re
import zlib
from collections.abc import Mapping
from typing import NamedTuple

CUT = " [cut]"
"""The end of a comment that was longer."""

# Games of earlier versions have comments of any size, and a few kilobytes can unpack to gigabytes.
MOST_PACKED_BYTES = 8 << 20
"""Bytes of packed comments that are enough for `unpack_comments`."""
_MOST_UNPACKED_BYTES = 4 << 20
_COMMENT = re.compile(rb'[{,]"(\d+)":("(?:[^"\\]|\\.)*")')
# Games are packed on the event loop.
_FAST = 1


class CommentLimits(NamedTuple):
    """Limits of the comments that a referee keeps, in bytes of UTF-8. The mark of a cut comment counts beyond them."""

    move: int = 2 << 10
    game: int = 64 << 10
    """Limit for one game. Each side can use half of it, so that no bot can use up what its opponent needs."""
    running: int = 64 << 20
    """Limit for all running games."""


class CommentKeeper:
    """Keeps comments of running games within the limits, and counts them."""

    def __init__(self, limits: CommentLimits) -> None:
        self.limits = limits
        self.running = 0
        """Bytes of comments in all running games."""

    def keep(self, comments: dict[int, str], ply: int, text: str) -> None:
        """Add a comment to those of a running game, shortened if necessary. Only the first of a ply counts."""
        if ply in comments:
            return
        left = self.limits.game // 2 - sum(_size(said) for at, said in comments.items() if at & 1 == ply & 1)
        if left <= 0:
            return
        # One byte remains, so that the next comment gets at least the mark.
        room = min(self.limits.move, left - 1, max(0, self.limits.running - self.running))
        comments[ply] = kept = shortened(text, room)
        self.running += _size(kept)

    def resume(self, comments: Mapping[int, str]) -> None:
        """Count the comments of a game that begins with some."""
        self.running += sum(map(_size, comments.values()))

    def forget(self, comments: Mapping[int, str]) -> None:
        """Stop counting the comments of a game that has ended."""
        self.running -= sum(map(_size, comments.values()))


def shortened(text: str, most_bytes: int) -> str:
    """Return a text of at most so many bytes as it is, and a longer one cut and marked."""
    start = text[: most_bytes + 1].encode(errors="replace")
    if len(text) <= most_bytes and len(start) <= most_bytes:
        return text
    return start[:most_bytes].decode(errors="ignore") + CUT


def pack_comments(comments: Mapping[int, str]) -> bytes | None:
    if not comments:
        return None
    return zlib.compress(json.dumps(comments, separators=(",", ":"), ensure_ascii=False).encode(), _FAST)


def unpack_comments(packed: bytes | None) -> dict[int, str]:
    """Return the comments. Of more than 4 MiB, return only the first ones, and mark the last of these."""
    if not packed:
        return {}
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, _MOST_UNPACKED_BYTES)
    if unpacking.eof:
        return {int(ply): text for ply, text in json.loads(data).items()}
    comments = {int(each[1]): str(json.loads(each[2])) for each in _COMMENT.finditer(data)}
    if comments:
        comments[max(comments)] += CUT
    return comments


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
