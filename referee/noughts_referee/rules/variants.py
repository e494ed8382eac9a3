"""The variants by name: our own, `mnk:M,N,K`, and those of plugins."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from weakref import WeakValueDictionary

from noughts_referee.rules.boards import Board
from noughts_referee.rules.openings import OPENING_RULES, with_opening
from noughts_referee.rules.renju import FORBIDDEN, forbidding
from noughts_referee.rules.variant import Variant, VariantError
from noughts_referee.rules.variant_plugins import plugin_names, plugin_variant

_MNK = "mnk"
_CELLS = "cells<="
_MNK_FORM = "mnk:M,N,K"
_LARGEST_EDGE = 30
"""The longest edge of a board. The largest board has 900 cells."""

# Columns, rows and number in a row of the m,n,k games with their own names.
_NAMED_MNK = {"tictactoe": (3, 3, 3), "gomoku": (15, 15, 5), "gomoku20": (20, 20, 5)}
_NAME_OF_MNK = {shape: name for name, shape in _NAMED_MNK.items()}
# Other spellings of names, as in the other games on 20x20.
_ALIASES = {"gomoku:20": "gomoku20"}


_FIVE = 5


def _five(edge: int, name: str, *, exact: bool = False, caro: bool = False, renju: bool = False) -> Variant:
    """Make five in a row on a square board: `exact`, `caro` (not blocked at both ends), `renju` (forbidden moves)."""
    board = Board(edge, edge)
    ends = board.ends(_FIVE)
    return Variant(
        name,
        edge,
        edge,
        board.lines(_FIVE),
        beside=ends if exact else {},
        # The edge of the board does not block.
        blocked_ends={line: cells for line, cells in ends.items() if cells.bit_count() > 1} if caro else {},
        forbids=forbidding(board) if renju else None,
        forbidden=FORBIDDEN if renju else "",
    )


def _cube(edge: int, name: str) -> Variant:
    return Variant(name, edge, edge, Board(edge, edge, edge).lines(edge), layers=edge)


_OTHERS: dict[str, Callable[[str], Variant]] = {
    "gomoku:exact": partial(_five, 15, exact=True),
    "gomoku:exact:20": partial(_five, 20, exact=True),
    "renju": partial(_five, 15, renju=True),
    "renju:20": partial(_five, 20, renju=True),
    "caro": partial(_five, 15, caro=True),
    "caro:20": partial(_five, 20, caro=True),
    "caro:exact": partial(_five, 15, exact=True, caro=True),
    "caro:exact:20": partial(_five, 20, exact=True, caro=True),
    "connect4": lambda name: Variant(name, 7, 6, Board(7, 6).lines(4), supports=Board(7, 6).beneath()),
    "tictactoe3d": partial(_cube, 3),
    "qubic": partial(_cube, 4),
}

OWN_NAMES = (*_NAMED_MNK, *_OTHERS)
"""The names of our own variants, without the family `mnk:M,N,K`."""


def parse_variant(text: str) -> Variant:
    """Return the variant `text`: one of our own, `mnk:M,N,K` (M columns, N rows, K or more in a row), or a plugin's.

    Different spellings of the same rules give one object: `mnk:3,3,3` is `tictactoe`, `mnk:15,15,5` is `gomoku`,
    `gomoku:20` is `gomoku20`. An opening rule can follow a game of five in a row: `gomoku+pro`. Raises VariantError for
    an unknown name or a broken plugin.
    """
    return _made(canonical_name(text))


def canonical_name(text: str) -> str:
    """Return the canonical spelling of a name without making the variant. Raises VariantError.

    The project's own names do not load any plugin.
    """
    name, plus, rule = text.strip().partition("+")
    if plus:
        if rule not in OPENING_RULES:
            rules = " or ".join(f"`{name}+{rule}`" for rule in OPENING_RULES)
            raise VariantError(text, f"an opening rule after the plus sign: {rules}")
        return f"{canonical_name(name)}+{rule}"
    name = _ALIASES.get(name, name)
    if name in OWN_NAMES:
        return name
    if name.partition(":")[0] == _MNK:
        shape = _read_mnk(text, name)
        return _NAME_OF_MNK.get(shape, f"{_MNK}:{','.join(map(str, shape))}")
    if name not in plugin_names():
        raise _unknown(text, name)
    return name


def base_name(name: str) -> str:
    """Return a canonical name without its opening rule."""
    return name.partition("+")[0]


def covers(names: Iterable[str], variant: str) -> bool:
    """Return whether a bot that declares `names` plays the variant (a canonical name). No names mean all variants.

    A name in any spelling covers its variant, also with an opening rule. `mnk` covers all m,n,k games (also `tictactoe`
    and `gomoku`, not `gomoku:exact` or `connect4`). `cells<=16` covers every board of at most 16 cells.
    """
    names, variant = tuple(names), base_name(variant)
    if not names or variant in names:
        return True
    if _MNK in names and (variant in _NAMED_MNK or variant.startswith(f"{_MNK}:")):
        return True
    return any(_spells(name, variant) for name in names)


def first_common(declared: Iterable[Sequence[str]], usual: str = "tictactoe") -> str | None:
    """Return the first variant that all bots play, in the order in which they declare variants; None without any.

    Each item of `declared` has the names that one bot declares, as for `covers`. If no bot declares any: `usual`.
    """
    limited = [names for names in declared if names]
    candidates = (variant for names in limited for name in names for variant in _covered_variants(name))
    if not limited:
        return usual
    return next((variant for variant in candidates if all(covers(names, variant) for names in limited)), None)


def _covered_variants(name: str) -> Iterable[str]:
    """Yield the canonical names that a declared name stands for; for a family only the project's own variants."""
    if is_family(name):
        yield from (own for own in OWN_NAMES if covers((name,), own))
        return
    with suppress(VariantError):
        yield canonical_name(name)


def _spells(name: str, variant: str) -> bool:
    """Return whether a declared name, in any spelling, or a family of boards covers the canonical name."""
    try:
        if is_family(name):
            return name != _MNK and parse_variant(variant).cells <= int(name.removeprefix(_CELLS))
        return canonical_name(name) == variant
    except VariantError:
        return False


def is_family(name: str) -> bool:
    """Return whether the name stands for several variants in `covers`: `mnk`, or `cells<=16`."""
    return name == _MNK or (name.startswith(_CELLS) and name.removeprefix(_CELLS).isdecimal())


def _read_mnk(text: str, name: str) -> tuple[int, int, int]:
    try:
        columns, rows, length = (int(part) for part in name.partition(":")[2].split(","))
    except ValueError:
        raise VariantError(text, "three whole numbers, e.g. `mnk:7,6,4` (7 columns, 6 rows, 4 in a row)") from None
    if not (1 <= columns <= _LARGEST_EDGE and 1 <= rows <= _LARGEST_EDGE):
        raise VariantError(text, f"boards from 1x1 to {_LARGEST_EDGE}x{_LARGEST_EDGE}")
    if not 1 <= length <= max(columns, rows):
        raise VariantError(text, f"K from 1 to {max(columns, rows)}, so that a win is possible")
    return columns, rows, length


def _unknown(text: str, name: str) -> VariantError:
    plugins = [each for each in plugin_names() if each not in OWN_NAMES and each.partition(":")[0] != _MNK]
    names = [*OWN_NAMES, *plugins]
    expected = f"one of {', '.join(f'`{each}`' for each in (*names, _MNK_FORM))}"
    close = difflib.get_close_matches(name.lower(), [*names, _MNK_FORM], n=1)
    return VariantError(text, f"{expected}; did you mean {close[0]}?" if close else expected)


# While a variant is in use it stays the only object for its rules, even if the cache drops it.
_in_use: WeakValueDictionary[str, Variant] = WeakValueDictionary()


@lru_cache(maxsize=64)
def _made(name: str) -> Variant:
    variant = _in_use.get(name)
    return variant if variant is not None else _in_use.setdefault(name, _make(name))


def _make(name: str) -> Variant:
    base, _, rule = name.partition("+")
    if rule:
        try:
            return with_opening(_made(base), rule)
        except ValueError as error:
            raise VariantError(name, f"for `{rule}` {error}") from None
    if name in _OTHERS:
        return _OTHERS[name](name)
    if name in _NAMED_MNK or name.startswith(f"{_MNK}:"):
        columns, rows, length = _NAMED_MNK.get(name) or _read_mnk(name, name)
        return Variant(name, columns, rows, Board(columns, rows).lines(length))
    return plugin_variant(name)
