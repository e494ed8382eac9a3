"""The values of all positions of Connect Four after twelve moves, from the package bitbully-databases.

The file has a record of five bytes for each position: a number that identifies the position, and the value. The records
are sorted by this number. Of a position and its mirror image, the file has only one. The value of a win in n plies is
100 - n, that of a loss the negative of this, and that of a draw 0. Positions in which the side to move can win at once
are missing.
"""

import mmap
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "bitbully_databases"
_FILE = "assets/book_12ply_distances.dat"
BOOK_STONES = 12
BOOK_COLUMNS = 7
BOOK_ROWS = 6
_FREE = BOOK_COLUMNS * BOOK_ROWS - BOOK_STONES
RECORD = 5
"""Bytes of a record."""
_WIN = 100
"""The value of a win in n plies is `_WIN` - n."""


class OpeningBook:
    """Looks up positions of twelve stones, written as bits of columns (see `ColumnBoard`)."""

    def __init__(self, records: "bytes | mmap.mmap") -> None:
        self.records = records

    def bounds(self, own_bits: int, occupied_bits: int) -> tuple[int, int] | None:
        """Return the least and the greatest score of the side to move, which are equal; None for an unknown position.

        See `FullSearch` for the scores.
        """
        value = self._find(_code(own_bits, occupied_bits, range(BOOK_COLUMNS)))
        if value is None:
            value = self._find(_code(own_bits, occupied_bits, reversed(range(BOOK_COLUMNS))))
        if value is None:
            return None
        if value == 0:
            return 0, 0
        # A win in n plies leaves `_FREE` - n cells free, so it scores 1 more than that.
        size = _FREE + 1 - _WIN + abs(value)
        score = size if value > 0 else -size
        return score, score

    def _find(self, code: int) -> int | None:
        """Return the value of the position with this number."""
        first, end = 0, len(self.records) // RECORD
        while first < end:
            middle = (first + end) // 2
            place = middle * RECORD
            record_code = int.from_bytes(self.records[place : place + 4], "big", signed=True)
            if record_code == code:
                return int.from_bytes(self.records[place + 4 : place + RECORD], "big", signed=True)
            if record_code < code:
                first = middle + 1
            else:
                end = middle
        return None


def _code(own_bits: int, occupied_bits: int, columns: Iterable[int]) -> int:
    """Return the number of a position in the book, as a signed number of 32 bits.

    Its bits are the stones of each column from the bottom: `10` for a stone of the side to move, `11` for a stone of
    the other side, and `0` at the end of the column.
    """
    code = 0
    for column in columns:
        cell = 1 << column * (BOOK_ROWS + 1)
        while occupied_bits & cell:
            code = code << 2 | (2 if own_bits & cell else 3)
            cell <<= 1
        code <<= 1
    code <<= 1
    return code - (1 << 32) if code >> 31 else code


@cache
def installed_book() -> OpeningBook | None:
    """Return the book; None if the extra `connect4` is not installed."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    with Path(spec.submodule_search_locations[0], _FILE).open("rb") as file:
        return OpeningBook(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
