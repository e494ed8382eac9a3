"""The parts of the Gomocup protocol that both sides use: lines, coordinates and rules. No I/O."""

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache

from noughts_referee.rules import Variant, VariantError, base_name, covers, parse_variant

UNLIMITED_MS = 2_147_483_647
"""The value of `time_left` in a match without a limit."""
LONGEST_LINE = 4096
"""Bytes of a line. Longer lines are cut silently, as the protocol permits."""

FREESTYLE = 0
"""The value of `INFO rule` if five or more in a row win."""
IN_A_ROW = 5
"""The only k of the protocol."""

_LONGEST_POINT = 20
"""Texts of at least this many characters are read with `_POINT`, which is slower than the usual way."""
_POINT = re.compile(r"\s*([-+]?\d+)\s*,\s*([-+]?\d+)\s*", re.ASCII)
_FIRST_POINT = re.compile(r"\s*[-+]?\d+\s*,\s*[-+]?\d+(?!\w|\.\d)", re.ASCII)
_PADDING = "\0\ufeff \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\xa0"
"""White space, the byte-order mark and NUL, removed at both ends of a line. A NUL inside a line ends it."""


class Lines:
    """Splits bytes that arrive in pieces into lines, without empty ones.

    Until the first LF, CR ends lines. After it CR is data, because an engine can write its search depth as byte 13.
    """

    def __init__(self) -> None:
        self._unfinished = b""
        self._has_lf = False

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that these bytes complete, stripped and cut to LONGEST_LINE bytes."""
        is_one_whole_line = self._has_lf and not self._unfinished and data.find(b"\n") == len(data) - 1
        if is_one_whole_line:  # the usual case
            line = _text(data)
            return [line] if line else []
        data = self._unfinished + data
        self._has_lf = self._has_lf or b"\n" in data
        *complete, unfinished = data.split(b"\n" if self._has_lf else b"\r")
        # Each piece is cut, so that an endless line needs no more memory than a long one.
        self._unfinished = unfinished[:LONGEST_LINE]
        joined = b"\n".join(complete)
        if len(complete) > 1 and b"\0" not in joined and max(map(len, complete)) <= LONGEST_LINE:
            with suppress(UnicodeDecodeError):  # after an error, each line is decoded by itself
                texts = joined.decode().split("\n")  # one call for many lines is faster
                return [line for text in texts if (line := text.strip(_PADDING))]
        return [line for line in map(_text, complete) if line]

    def rest(self) -> list[str]:
        """Return the unfinished line, if any, as a list. Call it when the other side has closed the pipe."""
        rest = _text(self._unfinished)
        self._unfinished = b""
        return [rest] if rest else []


def _text(line: bytes) -> str:
    """Return the text of a line up to a NUL, at which programs in C stop reading."""
    text = _decoded(line[:LONGEST_LINE]).strip(_PADDING)
    return text.partition("\0")[0].rstrip() if "\0" in text else text


def _decoded(line: bytes) -> str:
    """Return a line as text. Many engines write GB 18030."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        is_cut_in_character = error.end == len(line) and len(line) == LONGEST_LINE
        if not is_cut_in_character:
            with suppress(UnicodeDecodeError):
                return line.decode("gb18030")
        return line.decode("utf-8", "replace")


def word_and_rest(line: str) -> tuple[str, str]:
    """Return the first word of a line in capitals, and the rest."""
    word, _, rest = line.partition(" ")
    return word.upper(), rest.strip()


def written_point(cell: int, columns: int) -> str:
    """Return the cell as `X,Y`, both counted from 0."""
    row, column = divmod(cell, columns)
    return f"{column},{row}"


@cache
def written_points(columns: int, rows: int) -> tuple[str, ...]:
    """Return each cell of a board as `X,Y`."""
    return tuple(written_point(cell, columns) for cell in range(columns * rows))


@cache
def cells_by_point(columns: int, rows: int) -> Mapping[str, int]:
    """Return the cells of a board by their usual spelling; `read_point` knows the others."""
    return {point: cell for cell, point in enumerate(written_points(columns, rows))}


def read_point(text: str, columns: int, rows: int) -> int | None:
    """Return the cell at `X,Y`; -1 if it is not on the board, None if the text is not a point."""
    first, _, second = text.partition(",")
    if first.isdecimal() and second.isdecimal() and text.isascii() and len(text) < _LONGEST_POINT:
        column, row = int(first), int(second)  # the usual spelling
    else:
        match = _POINT.fullmatch(text)
        if match is None:
            return None
        column, row = int(match[1]), int(match[2])
    return row * columns + column if 0 <= column < columns and 0 <= row < rows else -1


def read_points(line: str, columns: int, rows: int) -> list[int]:
    """Return the cells of the points with which a line begins; -1 for a point that is not on the board.

    Other text can follow: managers read `7,7 eval=3` as a move.
    """
    cells: list[int] = []
    offset = 0
    while (match := _FIRST_POINT.match(line, offset)) is not None:
        cell = read_point(match[0], columns, rows)
        assert cell is not None
        cells.append(cell)
        offset = match.end()
    return cells


RULES = {"gomoku:exact": 1, "renju": 4, "caro": 8, "caro:exact": 9}
"""The other values of `INFO rule`, by the variant on 15x15. On 20x20 `:20` follows the name."""
_SIZES = {(15, 15): "", (20, 20): ":20"}

VARIANTS = ("mnk", *(name + suffix for name in RULES for suffix in _SIZES.values()))
"""The variants with a rule of the protocol. `mnk` stands only for five in a row here."""
NAMED_VARIANTS = ("gomoku", "gomoku20", *VARIANTS[1:])
"""The same variants by their own names, without `mnk`."""
VARIANTS_IN_WORDS = "a variant of Gomocup engines: five in a row on a flat board"
"""The variants with a rule of the protocol, for errors after "expected"."""


def name_of(rule: int) -> str:
    """Return the variant with this value of `INFO rule`, as on 15x15."""
    return next((name for name, value in RULES.items() if value == rule), "gomoku")


def rule_of(variant: Variant) -> int | None:
    """Return the value of `INFO rule` for the variant; None if the protocol has none."""
    for name, rule in RULES.items():
        if base_name(variant.name) in (name + suffix for suffix in _SIZES.values()):
            return rule
    if covers(("mnk",), variant.name) and all(len(cells) == IN_A_ROW for cells in variant.line_cells):
        return FREESTYLE
    return None


def variant_of(columns: int, rows: int, rule: int) -> Variant:
    """Return the variant for a board and a value of `INFO rule`. Raises VariantError for an unknown one."""
    if rule == FREESTYLE:
        return parse_variant(f"mnk:{columns},{rows},{IN_A_ROW}")
    board = f"{columns}x{rows} with rule {rule}"
    names = {value: name for name, value in RULES.items()}
    if rule not in names:
        known = ", ".join(f"{value} ({name})" for value, name in names.items())
        raise VariantError(board, f"rule {FREESTYLE} (five or more in a row), {known}")
    name = names[rule]
    if (columns, rows) not in _SIZES:
        sizes = " or ".join(f"{columns}x{rows}" for columns, rows in _SIZES)
        raise VariantError(board, f"{sizes} for rule {rule} ({name})")
    return parse_variant(name + _SIZES[columns, rows])
