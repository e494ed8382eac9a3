"""Bots in shared libraries: `dll:./player.so`. Their interface is `noughts_bots/include/noughts_bot.h`.

ctypes calls the library in this process, which is a child that plays only this bot.
"""

import contextlib
import os
import sys
from array import array
from collections.abc import Mapping
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    Structure,
    addressof,
    byref,
    c_char_p,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
    memmove,
    sizeof,
)
from pathlib import Path
from typing import Any, get_type_hints

from noughts_bots.hosts import folder
from noughts_bots.hosts.c_rules import EMPTY, RulesInC, Sets, rules_in_c, table_size, written_options
from noughts_bots.sdk.bot import Bot, Resign
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position, Variant

HEADER = Path(__file__).resolve().parents[1] / "include" / "noughts_bot.h"
SYMBOL = "noughts_bot"

_LINE_BUFFERED = 1
"""The value of C's `_IOLBF` in glibc, musl and macOS."""
_CELL_BYTES = 4
_ELF_MAGIC = b"\x7fELF"
_SHARED_OBJECT = 3
"""The type of an ELF file that is a shared library."""


class _Sets(Structure):
    _fields_ = (("starts", c_void_p), ("cells", c_void_p))


_C_TYPES: dict[Any, Any] = {int: c_uint32, Sets: _Sets, bytes: c_char_p}
"""The types of the fields of `RulesInC` in C."""


class _Variant(Structure):
    _fields_ = (("size", c_uint32), *((name, _C_TYPES[kind]) for name, kind in get_type_hints(RulesInC).items()))


class _Turn(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("side", c_uint32),
        ("ply", c_uint32),
        ("moves", c_void_p),
        ("seed", c_uint64),
        ("own_clock_ms", c_int64),
        ("opponent_clock_ms", c_int64),
        ("variant", POINTER(_Variant)),
    )


class _Api(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("version", c_uint32),
        ("play", c_void_p),
        ("create", c_void_p),
        ("destroy", c_void_p),
        ("name", c_char_p),
        ("variants", c_char_p),
    )


_NEEDED_BYTES = _Api.create.offset
"""The size of a table that ends after `play`: the later fields can be missing."""
# Addresses are passed as numbers, because ctypes converts these faster than objects.
_PLAY = CFUNCTYPE(c_int32, c_void_p, c_void_p)
_CREATE = CFUNCTYPE(c_void_p, POINTER(_Variant), c_char_p)
_DESTROY = CFUNCTYPE(None, c_void_p)


def load(target: str, options: Mapping[str, str]) -> "LibraryBot":
    """Load the library at the path `target`. Raises BotSpecError."""
    subject = f"bot 'dll:{target}'"
    path = folder() / Path(target).expanduser()
    # C must flush each line, so that a library's output before a crash is not lost.
    libc = CDLL(None)
    for name in ("stdout", "__stdoutp"):  # Linux, macOS
        with contextlib.suppress(ValueError):
            libc.setvbuf(c_void_p.in_dll(libc, name), None, _LINE_BUFFERED, 0)
    _check_file(path, subject)
    try:
        library = CDLL(str(path))
    except OSError as error:
        advice = "build it for this machine: -shared -fPIC, and with everything that it needs"
        raise BotSpecError(subject, str(error), "a library that can be loaded", advice) from None
    try:
        entry = library[SYMBOL]
    except AttributeError:
        advice = 'export it: NOUGHTS_EXPORT, in C++ with extern "C", in Rust with #[no_mangle]'
        raise BotSpecError(subject, f"no symbol {SYMBOL}", f"a library that exports {SYMBOL}", advice) from None
    entry.restype = c_void_p
    entry.argtypes = ()
    return LibraryBot(_read_api(entry() or 0, subject), options)


def _check_file(path: Path, subject: str) -> None:
    if not os.path.isfile(path):
        raise BotSpecError(subject, f"{path}, which is not a file", "a shared library", "build it, or fix the path")
    if not sys.platform.startswith("linux"):
        return  # the dynamic loader reports errors there
    with path.open("rb") as file:
        head = file.read(18)
    if not head.startswith(_ELF_MAGIC):
        got = f"a file that begins with {head[:8]!r}"
        raise BotSpecError(subject, got, "a shared library (ELF)", "name the .so, not its source")
    if int.from_bytes(head[16:18], sys.byteorder) != _SHARED_OBJECT:
        raise BotSpecError(subject, "an object file or a program", "a shared library", "link it with -shared")


def _read_api(address: int, subject: str) -> _Api:
    """Return the library's table of functions. `address` is 0 for NULL. Missing entries of the table become NULL."""
    size = table_size((c_uint32 * 2).from_address(address) if address else None, _NEEDED_BYTES, subject)
    api = _Api()
    memmove(byref(api), address, min(size, sizeof(_Api)))
    if not api.play:
        raise BotSpecError(subject, "no function `play`", "one", "fill in the table's field `play`")
    return api


_Game = tuple[int | None, _Turn, int, "array[int]"]
"""The data of a game: the library's bot, the question, its address, and the moves so far from index 1."""


class LibraryBot(Bot):
    """A bot whose moves a library chooses."""

    def __init__(self, api: _Api, options: Mapping[str, str]) -> None:
        self.name = _text(api.name)
        """The library's own name; can be empty."""
        self.variants = tuple(_text(api.variants).split())
        self._play = _PLAY(api.play)
        self._create = _CREATE(api.create) if api.create else None
        self._destroy = _DESTROY(api.destroy) if api.destroy else None
        self._options = written_options(options)
        self._prepared: dict[Variant, tuple[_Rules, int | None, bool]] = {}
        """By variant: its rules, the library's bot for it, and whether the library plays it."""

    def choose(self, position: Position) -> int:
        game = position.memo
        if game is None:
            game = position.memo = self._begin(position)
        bot, turn, address, moves = game
        known_moves = len(moves) - 1
        moves.extend(position.moves[known_moves:])
        # The array can have moved in memory. Its first element is not a move.
        turn.moves = moves.buffer_info()[0] + _CELL_BYTES
        turn.ply = len(position.moves)
        if position.own_clock_us:
            turn.own_clock_ms = position.limit_us // 1000
        if position.opponent_clock_us:
            turn.opponent_clock_ms = position.opponent_clock_us // 1000
        cell: int = self._play(bot, address)
        if cell < 0:
            raise Resign
        return cell

    def _begin(self, position: Position) -> "_Game":
        """Return the data that all questions of a game use. Raises Resign if the library does not play the variant."""
        prepared = self._prepared.get(position.variant)
        if prepared is None:
            prepared = self._prepare(position.variant)
        rules, bot, plays = prepared
        if not plays:
            raise Resign(f"the library does not play {position.variant.name}")
        turn = _Turn(size=sizeof(_Turn), side=position.side, seed=position.seed, variant=rules.pointer)
        turn.own_clock_ms = turn.opponent_clock_ms = -1
        # The first element of the moves is not a move: an empty array would have no address, and the library must not
        # get NULL.
        return bot, turn, addressof(turn), array("I", EMPTY)

    def close(self) -> None:
        for _, bot, plays in self._prepared.values():
            if plays and bot and self._destroy is not None:
                self._destroy(bot)
        self._prepared.clear()

    def _prepare(self, variant: Variant) -> "tuple[_Rules, int | None, bool]":
        rules = _Rules(variant)
        bot = None if self._create is None else self._create(rules.pointer, self._options)
        plays = self._create is None or bool(bot)
        if not plays:
            options = f" with {self._options.decode()}" if self._options else ""
            print(f"the library does not play {variant.name}{options}: it resigns", file=sys.stderr)  # noqa: T201  # for its author
        prepared = self._prepared[variant] = rules, bot, plays
        return prepared


class _Rules:
    """A variant as the header's struct, and the arrays that must stay in memory for it."""

    def __init__(self, variant: Variant) -> None:
        rules = rules_in_c(variant)
        self._arrays = rules  # keeps the arrays in memory, because the struct has only their addresses
        pointers = {
            field: _Sets(value.starts.buffer_info()[0], value.cells.buffer_info()[0])
            for field, value in rules._asdict().items()
            if isinstance(value, Sets)
        }
        self.struct = _Variant(size=sizeof(_Variant), **{**rules._asdict(), **pointers})
        self.pointer: Any = POINTER(_Variant)(self.struct)


def _text(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")
