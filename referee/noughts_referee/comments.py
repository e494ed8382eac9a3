"""The bots' comments on the moves of a game, by ply: limits, and how they are stored (compressed JSON).

The thoughts of bots have a separate limit."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from noughts_referee.rules import Thought

CUT = " [cut]"
"""The mark at the end of a cut comment."""

# Games of earlier versions have comments of any size, and a few kilobytes can unpack to gigabytes.
MOST_PACKED_BYTES = 8 << 20
"""Bytes of packed comments that are enough for `unpack_comments`."""
_MOST_UNPACKED_BYTES = 4 << 20
"""Limit of the unpacked comments of a game, because a small packed text can be very long."""
_COMMENT = re.compile(rb'[{,]"(\d+)":("(?:[^"\\]|\\.)*")')
# The fastest compression, because games are packed on the event loop.
_FAST = 1


class CommentLimits(NamedTuple):
    """Limits of the comments that a referee keeps, in bytes of UTF-8, without the mark of a cut comment."""

    move: int = 2 << 10
    game: int = 64 << 10
    """Limit for one game. Each side can use half of it, so that no bot can use up what its opponent needs."""
    running: int = 64 << 20
    """Limit for all running games. One bot can use a quarter of it, so that it cannot use up what others need."""
    running_thoughts: int = 64 << 20
    """The same limit for the thoughts of bots, in bytes of memory."""


_SHARES = 4
"""One bot can use this part of a limit for all running games."""


class Budget:
    """Bytes that all running games can use together, and the share of them that one bot can use."""

    def __init__(self, limit: int) -> None:
        self.used = 0
        self._limit = limit
        self._used_by: Counter[int] = Counter()

    def left(self, bot: int) -> int:
        """Return the bytes that this bot can still use."""
        return max(0, min(self._limit - self.used, self._limit // _SHARES - self._used_by[bot]))

    def take(self, bot: int, size: int) -> None:
        """Count bytes of a bot. A negative size releases bytes."""
        self.used += size
        self._used_by[bot] += size
        if not self._used_by[bot]:
            del self._used_by[bot]


class CommentKeeper:
    """Keeps comments and thoughts of running games within the limits, and counts them.

    `bots` are the keys of the players of both sides.
    """

    def __init__(self, limits: CommentLimits) -> None:
        self.limits = limits
        self.comments = Budget(limits.running)
        self.thoughts = Budget(limits.running_thoughts)

    def keep(self, comments: dict[int, str], ply: int, text: str, bot: int) -> None:
        """Add a bot's comment to those of a running game, shortened if necessary. Only the first of a ply counts."""
        if ply in comments:
            return
        used = sum(_size(comment) for other, comment in comments.items() if other & 1 == ply & 1)
        bytes_left = self.limits.game // 2 - used
        if bytes_left <= 0:
            return
        # One byte remains, so that at least the mark of the side's next comment is stored.
        comment = shortened(text, min(self.limits.move, bytes_left - 1, self.comments.left(bot)))
        comments[ply] = comment
        self.comments.take(bot, _size(comment))

    def keep_thought(self, thoughts: dict[int, Thought], ply: int, thought: Thought, bot: int) -> None:
        """Add a bot's thought to those of a running game. Only the first of a ply counts, and none beyond the limit."""
        if ply not in thoughts and thought.size <= self.thoughts.left(bot):
            thoughts[ply] = thought
            self.thoughts.take(bot, thought.size)

    def resume(self, comments: Mapping[int, str], thoughts: Mapping[int, Thought], bots: tuple[int, int]) -> None:
        """Count the comments and thoughts of a resumed game."""
        for ply, comment in comments.items():
            self.comments.take(bots[ply & 1], _size(comment))
        for ply, thought in thoughts.items():
            self.thoughts.take(bots[ply & 1], thought.size)

    def forget(self, comments: Mapping[int, str], thoughts: Mapping[int, Thought], bots: tuple[int, int]) -> None:
        """Stop counting the comments and thoughts of a game that has ended."""
        for ply, comment in comments.items():
            self.comments.take(bots[ply & 1], -_size(comment))
        for ply, thought in thoughts.items():
            self.thoughts.take(bots[ply & 1], -thought.size)


def shortened(text: str, most_bytes: int) -> str:
    """Return the text, cut after this many bytes of UTF-8 and marked if it is longer."""
    start = text[: most_bytes + 1].encode(errors="replace")
    if len(text) <= most_bytes and len(start) <= most_bytes:
        return text
    return start[:most_bytes].decode(errors="ignore") + CUT


def pack_comments(comments: Mapping[int, str]) -> bytes | None:
    if not comments:
        return None
    return zlib.compress(json.dumps(comments, separators=(",", ":"), ensure_ascii=False).encode(), _FAST)


def unpack_comments(packed: bytes | None) -> dict[int, str]:
    """Return the comments by ply. If they have more than 4 MiB, return only the first ones, the last of them marked."""
    if not packed:
        return {}
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, _MOST_UNPACKED_BYTES)
    if unpacking.eof:
        return {int(ply): text for ply, text in json.loads(data).items()}
    # The JSON is cut, so only the complete comments in it can be read.
    comments = {int(ply): str(json.loads(text)) for ply, text in (match.groups() for match in _COMMENT.finditer(data))}
    if comments:
        comments[max(comments)] += CUT
    return comments


def _size(text: str) -> int:
    """Return the bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
