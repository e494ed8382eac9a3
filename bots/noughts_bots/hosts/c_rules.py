"""A variant in the numbers of `noughts_bot.h`: what a shared library and a module of WebAssembly are told alike."""

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from noughts_referee.rules import Variant, members

# So that no array is without elements, and none is NULL: a slice in Rust must not be.
EMPTY = (0,)
"""What is appended to an array that may have no elements."""


class Sets(NamedTuple):
    """Sets of cells, one after the other: `noughts_sets`. Both arrays are of 32 bits."""

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
    """The rules as the header describes them."""
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


def written_options(options: Mapping[str, str]) -> bytes:
    """Options as `create` gets them: `key=value,key=value`."""
    return ",".join(f"{key}={value}" for key, value in options.items()).encode()


def _sets(sets: Iterable[Collection[int]]) -> Sets:
    starts, cells = array("I", (0,)), array("I")
    for each in sets:
        cells.extend(each)
        starts.append(len(cells))
    cells.extend(EMPTY)
    return Sets(starts, cells)
