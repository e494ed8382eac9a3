"""Reports of bots' searches about their moves: limits, and the stored form of a game's reports.

The score and the comment of a move are stored on their own, because most bots that send one have no search.
"""

import struct
import zlib
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

LARGEST_DEPTH = 0xFFFF
LARGEST_NODES = (1 << 53) - 1
"""The largest whole number that all readers of JSON keep."""
LONGEST_US = 0xFFFFFFFF
LONGEST_PV = 32
"""Moves of a principal variation."""
_HEAD = struct.Struct("<HHQIB")
_MOST_UNPACKED_BYTES = 1 << 20
"""Limit of the unpacked reports of a game, because a small packed text can be very long."""
# The fastest compression, because games are packed on the event loop.
_FAST = 1
# Upper estimates of the memory for a report and for each cell of its line.
_OBJECT_BYTES = 250
_CELL_BYTES = 40


class Thought(NamedTuple):
    """The report of the mover's search. 0 and an empty line mean that the search does not report the value."""

    depth: int = 0
    """The depth in plies."""
    nodes: int = 0
    time_us: int = 0
    """The search's own time in microseconds."""
    pv: tuple[int, ...] = ()
    """The principal variation: the moves that the bot expects, beginning with its own, as cells."""

    @property
    def size(self) -> int:
        """Return about how many bytes of memory it takes."""
        return _OBJECT_BYTES + _CELL_BYTES * len(self.pv)


_NOTHING = Thought()


def within_limits(thought: Thought, cells: int, occupied: Container[int]) -> Thought | None:
    """Return the thought with each value within its limits; None if nothing remains.

    The line ends before the first move that is off the board, on a stone or repeated, and after 32 moves.
    """
    bounded = Thought(
        depth=min(max(thought.depth, 0), LARGEST_DEPTH),
        nodes=min(max(thought.nodes, 0), LARGEST_NODES),
        time_us=min(max(thought.time_us, 0), LONGEST_US),
        pv=_playable(thought.pv[:LONGEST_PV], cells, occupied),
    )
    return None if bounded == _NOTHING else bounded


def _playable(pv: Iterable[int], cells: int, occupied: Container[int]) -> tuple[int, ...]:
    """Return the first moves of the line, up to one that cannot be played."""
    line: list[int] = []
    for cell in pv:
        if not 0 <= cell < cells or cell in occupied or cell in line:
            break
        line.append(cell)
    return tuple(line)


def pack_thoughts(thoughts: Mapping[int, Thought]) -> bytes | None:
    """Pack the thoughts by ply, compressed; None without any."""
    if not thoughts:
        return None
    parts = []
    for ply, thought in thoughts.items():
        parts.append(_HEAD.pack(ply, thought.depth, thought.nodes, thought.time_us, len(thought.pv)))
        parts.append(struct.pack(f"<{len(thought.pv)}H", *thought.pv))
    return zlib.compress(b"".join(parts), _FAST)


def unpack_thoughts(packed: bytes | None) -> dict[int, Thought]:
    """Return the thoughts by ply; of more than 1 MiB only the first ones."""
    if not packed:
        return {}
    data = zlib.decompressobj().decompress(packed, _MOST_UNPACKED_BYTES)
    thoughts = {}
    offset = 0
    while offset + _HEAD.size <= len(data):
        ply, depth, nodes, time_us, count = _HEAD.unpack_from(data, offset)
        offset += _HEAD.size
        if offset + 2 * count > len(data):
            break
        pv = struct.unpack_from(f"<{count}H", data, offset)
        offset += 2 * count
        thoughts[ply] = Thought(depth=depth, nodes=nodes, time_us=time_us, pv=pv)
    return thoughts
