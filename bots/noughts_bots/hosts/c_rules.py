"""A variant in the form of `noughts_bot.h`, for shared libraries and WebAssembly modules."""

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Variant, members

EMPTY = (0,)
"""An additional element of arrays, so that none is empty and has the address NULL: slices in Rust must not be NULL."""

VERSION = 1
"""NOUGHTS_BOT_VERSION of the header."""
_RECOMPILE = "compile it with the header whose path `noughts bot header` prints"


class Sets(NamedTuple):
    """Sets of cells, one after another (`noughts_sets`), as two arrays of 32-bit numbers."""

    starts: "array[int]"
    cells: "array[int]"


class RulesInC(NamedTuple):
    """The fields of `noughts_variant`."""

    columns: int
    rows: int
    layers: int
    cells: int
    k: int
    gravity: int
    exact: int
    lines_count: int
    lines: Sets
    beside: Sets
    below: Sets
    name: bytes
    shut: Sets
    forbids: int


def rules_in_c(variant: Variant) -> RulesInC:
    """Return the variant in the form of `noughts_variant`. Flags are 0 or 1; `noughts_bot.h` explains the fields."""
    lengths = set(map(len, variant.line_cells))
    return RulesInC(
        columns=variant.columns,
        rows=variant.rows,
        layers=variant.layers,
        cells=variant.cells,
        k=lengths.pop() if len(lengths) == 1 else 0,
        gravity=int(variant.gravity),
        exact=int(bool(variant.beside)),
        lines_count=len(variant.lines),
        lines=_sets(variant.line_cells),
        beside=_sets(tuple(members(variant.beside.get(line, 0))) for line in variant.lines),
        below=_sets(tuple(members(below)) for below in variant.supports),
        name=variant.name.encode(),
        shut=_sets(tuple(members(variant.blocked_ends.get(line, 0))) for line in variant.lines),
        forbids=int(variant.forbids is not None),
    )


def table_size(start: Iterable[int] | None, needed: int, subject: str) -> int:
    """Return the size in bytes of a bot's table of functions. Raises BotSpecError for a table that cannot be used.

    Args:
        start: the first two numbers of the table, its size and its version; None if the table is NULL.
        needed: the least size in bytes, which includes `play`.
        subject: the bot, for errors.
    """
    if start is None:
        raise BotSpecError(subject, "NULL from noughts_bot()", "its table of functions", "return a noughts_bot_api")
    size, version = start
    if version != VERSION:
        raise BotSpecError(subject, f"version {version} of the interface", f"version {VERSION}", _RECOMPILE)
    if size < needed:
        got, expected = f"a table of {size} bytes", f"at least {needed}, which include `play`"
        raise BotSpecError(subject, got, expected, f"set size to sizeof(noughts_bot_api), and {_RECOMPILE}")
    return size


def written_options(options: Mapping[str, str]) -> bytes:
    """Return options in the form for `create`: `key=value,key=value`."""
    return ",".join(f"{key}={value}" for key, value in options.items()).encode()


def _sets(sets: Iterable[Collection[int]]) -> Sets:
    starts = array("I", (0,))
    cells = array("I")
    for cell_set in sets:
        cells.extend(cell_set)
        starts.append(len(cells))
    cells.extend(EMPTY)
    return Sets(starts, cells)
