"""The environment of WebAssembly modules: their memory, their fuel, and the few functions that they can import.

Needs wasmtime (the `wasm` extra). A module can access only its own memory, and no files, network, clock or randomness.
Its answers therefore depend only on the questions, on every machine.
"""

import struct
import sys
from collections.abc import Callable
from ctypes import POINTER, addressof, byref, memmove, string_at
from typing import Any

import wasmtime
from wasmtime import FuncType, ValType
from wasmtime import (
    _ffi as ffi,  # wasmtime's public calls take 20 times as long, because they look up the function's type.
)
from wasmtime._func import maybe_raise_last_exn

from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Draws

LARGEST_MODULE = 8 << 20
"""Limit of the bytes of a file."""
MEMORY = 128 << 20
"""Maximum memory of a module in bytes."""
TABLE_ELEMENTS = 100_000
"""Limit of the functions in a module's tables."""
STACK = 1 << 20
"""Bytes of the call stack. Local variables in the module's own memory do not count."""
START_FUEL = 5_000_000_000
"""Fuel before the first move, and to prepare a variant: roughly one unit for each instruction."""
PAGE = 1 << 16
"""Bytes of a page of WebAssembly memory."""
PREVIEW = "wasi_snapshot_preview1"

_LONGEST_TEXT = 4_096
_UNSIGNED = 0xFFFFFFFF
"""Mask for addresses, because wasmtime returns numbers of 32 bits as signed ones."""
_MOST_PARTS = 64
"""The number of parts of one `fd_write` that are printed."""
_BAD_DESCRIPTOR = 8
"""WASI's error `badf`."""
_DONE = 0
"""WASI's error `success`."""
_ENTRY, _MEMORY, _TABLE = "noughts_bot", "memory", "__indirect_function_table"


class Trapped(Exception):
    """The module trapped: it did something forbidden or impossible."""


class OutOfFuel(Trapped):
    """The module has used up its fuel."""


class Program:
    """A compiled module and its allowed imports. Raises BotSpecError."""

    def __init__(self, module: bytes, subject: str) -> None:
        self.subject = subject
        if len(module) > LARGEST_MODULE:
            got, expected = f"a file of {len(module):,} bytes", f"at most {LARGEST_MODULE:,}"
            raise BotSpecError(subject, got, expected, "leave out debugging information: link with -s")
        self._engine = wasmtime.Engine(_config())
        try:
            self._module = wasmtime.Module(self._engine, module)
        except wasmtime.WasmtimeError as error:
            advice = "build it for wasm32; docs/how-to/writing-a-bot.md shows how"
            raise BotSpecError(subject, _line(error), "a WebAssembly module", advice) from None
        self._check()

    def start(self) -> "Instance":
        """Start the module with a fresh memory, and run its initialisation. Raises BotSpecError."""
        store = wasmtime.Store(self._engine)
        store.set_limits(memory_size=MEMORY, table_elements=TABLE_ELEMENTS, instances=1, tables=4, memories=1)
        store.set_fuel(START_FUEL)
        linker = wasmtime.Linker(self._engine)
        for (module, name), (kind, function) in _imports().items():
            linker.define_func(module, name, kind, function, access_caller=True)
        try:
            return Instance(store, linker.instantiate(store, self._module).exports(store), self.subject)
        except (Trapped, wasmtime.Trap, wasmtime.ExitTrap) as error:
            raise BotSpecError(
                self.subject, _line(error), "a module that starts", "correct its initialisation"
            ) from None
        except wasmtime.WasmtimeError as error:
            expected = f"at most {MEMORY >> 20} MiB of memory, {TABLE_ELEMENTS:,} table elements, known imports"
            raise BotSpecError(self.subject, _line(error), expected, "reduce them when you link it") from None

    def _check(self) -> None:
        """Check the module's imports and exports. Raises BotSpecError."""
        allowed = _imports()
        for requested in self._module.imports:
            if (requested.module, requested.name) not in allowed:
                got = f"an import of {requested.module}.{requested.name}"
                allowed_names = ", ".join(f"{module}.{name}" for module, name in allowed)
                advice = "a bot has no files, no network and no clock"
                raise BotSpecError(self.subject, got, f"only {allowed_names}", advice)
        exports = {export.name: export.type for export in self._module.exports}
        for name, kind, advice in (
            (_ENTRY, FuncType, "write NOUGHTS_EXPORT before noughts_bot"),
            (_MEMORY, wasmtime.MemoryType, "let the linker export its memory"),
            (_TABLE, wasmtime.TableType, "link with --export-table"),
        ):
            if not isinstance(exports.get(name), kind):
                raise BotSpecError(self.subject, f"no export {name!r}", "noughts_bot, memory and table", advice)
        entry = exports[_ENTRY]
        assert isinstance(entry, FuncType)
        if _signature(entry) != ((), ("i32",)):
            expected = f"{_ENTRY}() that returns a pointer"
            raise BotSpecError(self.subject, f"a different signature for {_ENTRY}", expected, "include noughts_bot.h")


class Instance:
    """A started module with its memory, whose addresses are numbers from 0. It must not be used after a trap.

    Methods raise Trapped.
    """

    def __init__(self, store: wasmtime.Store, exports: Any, subject: str) -> None:
        self._subject = subject
        self._store = store
        self._context = store._context()
        self._memory: wasmtime.Memory = exports[_MEMORY]
        self._table: wasmtime.Table = exports[_TABLE]
        for name in ("_initialize", "__wasm_call_ctors"):
            begin = exports.get(name)
            if isinstance(begin, wasmtime.Func):
                self._call_slowly(begin)
                break
        self.entry: int = self._call_slowly(exports[_ENTRY]) & _UNSIGNED

    def function(self, index: int) -> "Callable[[int, int, int], int]":
        """Return the function with this index in the table, from two 32-bit numbers to one.

        Call the result with the fuel and the two numbers; it can raise Trapped. Raises BotSpecError for a function with
        another signature.
        """
        try:
            function = self._table.get(self._store, index)
        except wasmtime.WasmtimeError:
            function = None
        if not isinstance(function, wasmtime.Func) or _signature(function.type(self._store)) != (
            ("i32",) * 2,
            ("i32",),
        ):
            got, expected = f"table element {index}, which does not match", "a function of 2 numbers of 32 bits"
            raise BotSpecError(self._subject, got, expected, "write the functions as noughts_bot.h declares them")
        return self._caller(function)

    def _caller(self, function: wasmtime.Func) -> "Callable[[int, int, int], int]":
        """Return the function for callers in Python. It calls wasmtime's C interface, which is faster."""
        arguments = (ffi.wasmtime_val_t * 2)()
        results = (ffi.wasmtime_val_t * 1)()
        for argument in arguments:
            argument.kind = ffi.WASMTIME_I32
        trap = POINTER(ffi.wasm_trap_t)()
        context = self._context
        target = byref(function._func)
        trap_place = byref(trap)
        call = ffi.wasmtime_func_call
        set_fuel = ffi.wasmtime_context_set_fuel
        first_slot = arguments[0].of
        second_slot = arguments[1].of
        result = results[0].of

        def run(fuel: int, first: int, second: int) -> int:
            set_fuel(context, fuel)
            first_slot.i32, second_slot.i32 = first, second
            error = call(context, target, arguments, 2, results, 1, trap_place)
            if error:  # type: ignore[truthy-bool]  # NULL is false
                failure = wasmtime.WasmtimeError._from_ptr(error)
                maybe_raise_last_exn()  # raises the exception of an imported function, if there was one
                raise Trapped(_line(failure))
            if trap:  # type: ignore[truthy-bool]  # as above
                wasm_trap = wasmtime.Trap._from_ptr(trap)
                maybe_raise_last_exn()
                raise _trapped(wasm_trap)
            number: int = result.i32
            return number

        run.keeps = function  # type: ignore[attr-defined]  # `target` points to it, so it must stay in memory
        return run

    def _call_slowly(self, function: wasmtime.Func) -> Any:
        try:
            return function(self._store)
        except wasmtime.Trap as trap:
            raise _trapped(trap) from None
        except wasmtime.WasmtimeError as error:
            raise Trapped(_line(error)) from None

    def reserve(self, count: int) -> int:
        """Return the address of `count` new bytes, which the module's own allocator does not use."""
        pages = (count + PAGE - 1) // PAGE
        try:
            return self._memory.grow(self._store, pages) * PAGE
        except wasmtime.WasmtimeError:
            raise Trapped(f"no memory for {count:,} bytes: its limit is {MEMORY >> 20} MiB") from None

    def write(self, address: int, data: bytes) -> None:
        """Write to an address from `reserve`."""
        memmove(addressof(self._memory.data_ptr(self._store).contents) + address, data, len(data))

    def read(self, address: int, count: int) -> bytes:
        """Return `count` bytes from this address. Raises Trapped if they are not all in the module's memory."""
        if not 0 <= address <= address + count <= self._memory.data_len(self._store):
            raise Trapped(f"a pointer to {address:#x}, which is outside of its memory")
        return string_at(addressof(self._memory.data_ptr(self._store).contents) + address, count)

    def text(self, address: int) -> str:
        """Return the text at an address, up to its NUL; empty at 0."""
        if not address:
            return ""
        available = self._memory.data_len(self._store) - address
        # At least one byte is read, so that an address outside of the memory raises Trapped.
        count = min(max(available, 1), _LONGEST_TEXT)
        return self.read(address, count).partition(b"\0")[0].decode("utf-8", "replace")


def _config() -> wasmtime.Config:
    config = wasmtime.Config()
    config.consume_fuel = True
    config.max_wasm_stack = STACK
    # The process is in a sandbox: it has one thread, cannot map files into memory, and has little address space.
    config.parallel_compilation = False
    config.memory_init_cow = False
    config.memory_reservation = 0
    config.memory_guard_size = 0
    config.memory_reservation_for_growth = 0
    config.signals_based_traps = False
    # Processors give different bits for 0 / 0.
    config.cranelift_nan_canonicalization = True
    # With these features games would depend on the machine, or bots do not need them.
    config.wasm_threads = False
    config.wasm_relaxed_simd = False
    config.wasm_memory64 = False
    config.wasm_multi_memory = False
    return config


def _imports() -> "dict[tuple[str, str], tuple[FuncType, Callable[..., Any]]]":
    """Return all possible imports: messages to the author, and the WASI functions that C and Rust always link."""
    small, large = ValType.i32(), ValType.i64()
    # Every start of every module gets the same bits, because randomness must come only from the game's seed.
    draws = Draws(0, 0)

    def fill_with_random_bits(caller: wasmtime.Caller, address: int, count: int) -> int:
        count = min(count & _UNSIGNED, PAGE)
        _put(caller, address, b"".join(struct.pack("<Q", draws.bits()) for _ in range(0, count, 8))[:count])
        return _DONE

    def kind(*parameters: ValType, results: bool = True) -> FuncType:
        return FuncType(list(parameters), [small] if results else [])

    return {
        ("noughts", "say"): (kind(small, small, results=False), _say),
        (PREVIEW, "fd_write"): (kind(small, small, small, small), _write),
        (PREVIEW, "fd_close"): (kind(small), lambda caller, *_: _BAD_DESCRIPTOR),
        (PREVIEW, "fd_seek"): (kind(small, large, small, small), lambda caller, *_: _BAD_DESCRIPTOR),
        (PREVIEW, "fd_fdstat_get"): (kind(small, small), lambda caller, *_: _BAD_DESCRIPTOR),
        (PREVIEW, "environ_sizes_get"): (kind(small, small), _report_none),
        (PREVIEW, "environ_get"): (kind(small, small), lambda caller, *_: _DONE),
        (PREVIEW, "args_sizes_get"): (kind(small, small), _report_none),
        (PREVIEW, "args_get"): (kind(small, small), lambda caller, *_: _DONE),
        (PREVIEW, "random_get"): (kind(small, small), fill_with_random_bits),
        (PREVIEW, "proc_exit"): (kind(small, results=False), _exit),
    }


def _say(caller: wasmtime.Caller, address: int, count: int) -> None:
    _print(_get(caller, address, min(count & _UNSIGNED, PAGE)))


def _write(caller: wasmtime.Caller, descriptor: int, places: int, count: int, written: int) -> int:
    if descriptor not in (1, 2):
        return _BAD_DESCRIPTOR
    total = 0
    for index in range(min(count & _UNSIGNED, _MOST_PARTS)):
        address, length = struct.unpack("<II", _get(caller, places + 8 * index, 8))
        _print(_get(caller, address, min(length, PAGE)))
        total += min(length, PAGE)
    _put(caller, written, struct.pack("<I", total))
    return _DONE


def _report_none(caller: wasmtime.Caller, count: int, size: int) -> int:
    """Report 0 arguments or variables of 0 bytes at the two addresses."""
    for place in (count, size):
        _put(caller, place, bytes(4))
    return _DONE


def _exit(caller: wasmtime.Caller, code: int) -> None:
    raise Trapped(f"it called exit({code})")


def _print(data: bytes) -> None:
    sys.stderr.write(data.decode("utf-8", "replace"))
    sys.stderr.flush()


def _place(caller: wasmtime.Caller, address: int, count: int) -> tuple[wasmtime.Memory, int]:
    """Return the module's memory and the address in it. Raises Trapped unless it has `count` bytes there."""
    address &= _UNSIGNED
    memory = caller[_MEMORY]
    assert isinstance(memory, wasmtime.Memory)
    if address + count > memory.data_len(caller):
        raise Trapped("it called an import with a pointer outside of its memory")
    return memory, address


def _get(caller: wasmtime.Caller, address: int, count: int) -> bytes:
    memory, address = _place(caller, address, count)
    return bytes(memory.read(caller, address, address + count))


def _put(caller: wasmtime.Caller, address: int, data: bytes) -> None:
    memory, address = _place(caller, address, len(data))
    memory.write(caller, data, address)


def _signature(kind: FuncType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(map(str, kind.params)), tuple(map(str, kind.results))


def _trapped(trap: wasmtime.Trap) -> Trapped:
    if trap.trap_code is wasmtime.TrapCode.OUT_OF_FUEL:
        return OutOfFuel("all fuel is used up")
    return Trapped(_line(trap))


def _line(error: Exception) -> str:
    """Return the text of the error on one line, without the stack of calls that wasmtime adds to a trap."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if not line[:1].isdigit() or ":" in line[:4]]
    without_titles = [
        line for line in causes if not line.startswith(("error while executing", "wasm backtrace", "Caused by"))
    ]
    without_calls = [line for line in without_titles if "!" not in line and "<unknown>" not in line]
    return " ".join(" ".join(without_calls or without_titles or lines or [type(error).__name__]).split())[:300]
