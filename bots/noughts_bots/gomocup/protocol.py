"""The words of the Gomocup protocol that both of its ends need: lines, coordinates, rules. Pure."""

import re

from noughts_referee.rules import Variant, VariantError, base_name, covers, parse_variant

UNLIMITED_MS = 2_147_483_647
"""The value of `time_left` in a match without a limit."""
LONGEST_LINE = 4096
"""Bytes of a line; what is longer is cut silently, as the protocol permits."""

FREESTYLE = 0
"""The value of `INFO rule` where five or more in a row win."""
OFF_BOARD = 0xFFFF_FFFF
"""The cell of a point that is not on the board."""
IN_A_ROW = 5
"""The only k that the protocol knows."""

_LONGEST_POINT = 20
_POINT = re.compile(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", re.ASCII)


class Lines:
    """Makes lines of bytes that arrive in pieces. LF ends a line, CR where no LF ever comes; empty ones are left out.

    For an engine may write any byte as the depth of its search, 13 among them.
    """

    def __init__(self) -> None:
        self._begun = b""
        self._has_lf = False

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes complete, without blanks around them, cut to LONGEST_LINE bytes."""
        if self._has_lf and not self._begun and data.find(b"\n") == len(data) - 1:
            line = _text(data)  # as nearly all arrive
            return [line] if line else []
        data = self._begun + data
        self._has_lf = self._has_lf or b"\n" in data
        *ended, begun = data.split(b"\n" if self._has_lf else b"\r")
        # Cut again with every piece: a line without an end takes no more memory than a long one.
        self._begun = begun[:LONGEST_LINE]
        return [line for line in map(_text, ended) if line]

    def rest(self) -> list[str]:
        """The line that has begun and will not be ended: the other side has gone."""
        rest, self._begun = _text(self._begun), b""
        return [rest] if rest else []


def _text(line: bytes) -> str:
    return line[:LONGEST_LINE].decode("utf-8", "replace").strip()


def word_and_rest(line: str) -> tuple[str, str]:
    """The first word of a line in capitals, and what follows it."""
    word, _, rest = line.partition(" ")
    return word.upper(), rest.strip()


def written_point(cell: int, columns: int) -> str:
    """The cell as `X,Y`, both counted from 0."""
    row, column = divmod(cell, columns)
    return f"{column},{row}"


def read_point(text: str, columns: int, rows: int) -> int | None:
    """The cell at `X,Y`; -1 if it is not on the board, None if the text is no point."""
    first, _, second = text.partition(",")
    if first.isdecimal() and second.isdecimal() and text.isascii() and len(text) < _LONGEST_POINT:
        column, row = int(first), int(second)  # as nearly all are written
    else:
        found = _POINT.fullmatch(text)
        if found is None:
            return None
        column, row = int(found[1]), int(found[2])
    return row * columns + column if 0 <= column < columns and 0 <= row < rows else -1


RULES = {"gomoku:exact": 1, "renju": 4, "caro": 8, "caro:exact": 9}
"""The other values of `INFO rule`, by the variant on 15x15; on 20x20 `:20` follows its name."""
_SIZES = {(15, 15): "", (20, 20): ":20"}

VARIANTS = ("mnk", *(name + suffix for name in RULES for suffix in _SIZES.values()))
"""The variants that have a rule (of those of the family `mnk` only five in a row)."""
PLAYED = "five in a row on a flat board, which is all that Gomocup engines play"
"""The same in words."""


def rule_of(variant: Variant) -> int | None:
    """The value of `INFO rule` for the variant; None if the protocol cannot say it."""
    for name, rule in RULES.items():
        if base_name(variant.name) in (name + suffix for suffix in _SIZES.values()):
            return rule
    if covers(("mnk",), variant.name) and all(len(cells) == IN_A_ROW for cells in variant.line_cells):
        return FREESTYLE
    return None


def variant_of(columns: int, rows: int, rule: int) -> Variant:
    """The variant that a manager means. Raises VariantError for one that is not known here."""
    if rule == FREESTYLE:
        return parse_variant(f"mnk:{columns},{rows},{IN_A_ROW}")
    asked = f"{columns}x{rows} with rule {rule}"
    name = next((name for name, its_rule in RULES.items() if its_rule == rule), None)
    if name is None:
        known = ", ".join(f"{each} ({name})" for name, each in RULES.items())
        raise VariantError(asked, f"rule {FREESTYLE} (five or more in a row), {known}")
    if (columns, rows) not in _SIZES:
        sizes = " or ".join(f"{columns}x{rows}" for columns, rows in _SIZES)
        raise VariantError(asked, f"{sizes} for rule {rule} ({name})")
    return parse_variant(name + _SIZES[columns, rows])
