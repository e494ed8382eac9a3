"""The search of `column_search` as a WebAssembly module, which is about 40 times as fast; needs wasmtime.

The module is built from `column_search.zig` by `tools/build_column_search.py`.
"""

import math
from functools import cache
from pathlib import Path

import wasmtime

from noughts_bots.reference.columns.column_search import ColumnBoard
from noughts_bots.reference.columns.opening_book import BOOK_STONES, RECORD, OpeningBook
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_referee.rules import Variant

MODULE = Path(__file__).with_name("column_search.wasm")
_SPENT = 2
"""The module's answer if the effort is spent. Its other answers are 0 and 1, for no and yes."""
_POSITIONS_PER_UNIT = 64
"""Positions for one unit of effort: the module visits this number in the time of one position in Python."""
_GRANTED_UNITS = 1_024
"""Units of effort that are granted at once: the module needs about 5 ms for them."""
_PAGE = 1 << 16
"""Bytes of a page of the module's memory."""


class CompiledSearch:
    """Returns the same results as `ColumnSearch`. It remembers only the last positions, in 8 MiB."""

    def __init__(self, variant: Variant, effort: Effort, book: OpeningBook | None = None) -> None:
        self._meter = _Meter(effort)
        self._to_columns = ColumnBoard(variant).stones
        engine, module = _compiled_module()
        self._store = wasmtime.Store(engine)
        # The module refers to this function. If the function referred to `self`, only the garbage collector could free
        # both.
        grant = wasmtime.Func(self._store, wasmtime.FuncType([], [wasmtime.ValType.i64()]), self._meter.grant)
        exports = wasmtime.Instance(self._store, module, [grant]).exports(self._store)
        self._functions = {name: exports[name] for name in ("prepare", "reaches", "left", "use_book", "forget")}
        self._memory = exports["memory"]
        self._call("prepare", variant.columns, variant.rows)
        self._missing_book = book
        """The book that the module gets with the first position from which a game can reach it."""

    @property
    def effort(self) -> Effort:
        return self._meter.effort

    @effort.setter
    def effort(self, effort: Effort) -> None:
        self._meter.effort = effort

    def reaches(self, score: int, own: int, other: int) -> bool:
        """Return whether the side to move, which has the stones `own`, gets at least `score`.

        See `FullSearch` for the scores. Raises EffortSpent.
        """
        if self._missing_book is not None and own.bit_count() + other.bit_count() <= BOOK_STONES:
            self._copy(self._missing_book)
            self._missing_book = None
        own_bits = self._to_columns(own)
        answer = self._call("reaches", score, own_bits, own_bits | self._to_columns(other))
        if answer == _SPENT:
            raise EffortSpent
        self.effort.give_back(self._call("left") // _POSITIONS_PER_UNIT)
        return answer == 1

    def forget(self) -> None:
        """Forget all positions. This is faster than a new search, which copies the book."""
        self._call("forget")

    def _call(self, name: str, *values: int) -> int:
        function = self._functions[name]
        assert isinstance(function, wasmtime.Func)
        return function(self._store, *values) or 0

    def _copy(self, book: OpeningBook) -> None:
        memory = self._memory
        assert isinstance(memory, wasmtime.Memory)
        records = book.records[:]  # A copy as bytes, because the book can be a file that is mapped into memory.
        pages_before = memory.grow(self._store, math.ceil(len(records) / _PAGE))
        place = pages_before * _PAGE
        memory.write(self._store, records, place)
        self._call("use_book", place, len(records) // RECORD)


class _Meter:
    """Grants positions to the module."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort

    def grant(self) -> int:
        """Return the number of positions that the module can visit before it calls this again; 0 ends its search."""
        return self.effort.grant(_GRANTED_UNITS) * _POSITIONS_PER_UNIT


@cache
def _compiled_module() -> tuple[wasmtime.Engine, wasmtime.Module]:
    config = wasmtime.Config()
    config.parallel_compilation = False  # the module is small
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module(engine, MODULE.read_bytes())
