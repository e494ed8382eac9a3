"""Table files: the ratings of each position's cells, one position per line. `docs/reference/tables.md` describes them.

    noughts table 1
    variant tictactoe
    level 1
    # after the position and its mover a rating for each cell, `-` where no stone can be placed
    X...O...X O  - 1001 1001 1001 - 1001 1001 1001 -

In a learner's file, each line continues with ` | ` and the visits of each cell, then ` | ` and the half points of each
cell. The last line of such a file is a checksum.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from noughts_bots.sdk.errors import TableError
from noughts_referee.rules import Position, PositionError, Variant, VariantError, parse_variant

_FIRST_LINE = "noughts table 1"
_CHECKSUM = "checksum sha256 "
_NO_STONE = "-"
_SEPARATOR = "|"
_NUMBER = re.compile(r"[0-9]{1,18}")
_LONGEST_EXCERPT = 60
_HOW_TO_RESTORE = (
    "restore an earlier copy; to play this table as it is with `table:file=...`,"
    " remove the lines `games` and `checksum`"
)

LEVELS = range(2)

_HEADER = {"variant": "NAME", "level": "0|1", "games": "N"}
"""The possible lines of the header, with the form of their values."""

Key = tuple[int, int]
"""A position: the stones of the side to move and those of the other side, as sets of cells."""


@dataclass(slots=True)
class Row:
    """The entry of one position: lists by cell, with 0 for cells where no stone can be placed."""

    ratings: list[int]
    visits: list[int] = field(default_factory=list)
    """By cell, the number of games that a learner counted for it, halved at 1,024; empty without a learner."""
    points: list[int] = field(default_factory=list)
    """By cell, the half points from these games, halved with the visits; empty without a learner."""


@dataclass(slots=True)
class TableFile:
    """The contents of a table file."""

    variant: Variant
    level: int = 1
    """The level at which `table` plays by default: 0 in proportion to the ratings, 1 among the highest."""
    games: int | None = None
    """The number of games from which a learner has learnt; None if the table is not a learner's."""
    rows: dict[Key, Row] = field(default_factory=dict)


def position_of(variant: Variant, key: Key) -> Position:
    """Return the position. The number of stones determines the side to move."""
    own, opponent = key
    return Position(variant, own=own, opponent=opponent, side=(own | opponent).bit_count() % 2)


def save(path: Path, table: TableFile, *, comments: Iterable[str] = ()) -> None:
    """Write the table in one step: the file always holds the complete old or the complete new table.

    Args:
        comments: lines about the origin of the table.

    Raises:
        OSError: the file cannot be written. The old file is unchanged.
    """
    target = Path(os.path.realpath(path))
    # A fixed name, so that a kill leaves at most one file, which the next writer overwrites.
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(_text(table, comments).encode("ascii", "replace"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        error.filename = str(path)
        error.filename2 = None
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Write the folder's new entry to the disk, so that it survives a power cut. Not all systems can do this."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _text(table: TableFile, comments: Iterable[str]) -> str:
    lines = [_FIRST_LINE, *(f"# {comment}" for comment in comments)]
    lines += [f"variant {table.variant.name}", f"level {table.level}"]
    if table.games is not None:
        lines.append(f"games {table.games}")
    entries = ((position_of(table.variant, key), row) for key, row in table.rows.items())
    lines += [_line(position, row) for position, row in sorted(entries, key=lambda pair: (pair[0].ply, str(pair[0])))]
    text = "\n".join(lines) + "\n"
    return text if table.games is None else text + _checksum_line(text.encode("ascii", "replace")) + "\n"


def _line(position: Position, row: Row) -> str:
    free = set(position.free)
    columns = [numbers for numbers in (row.ratings, row.visits, row.points) if numbers]
    cells = range(position.variant.cells)
    texts = (" ".join(str(numbers[cell]) if cell in free else _NO_STONE for cell in cells) for numbers in columns)
    return f"{position}  {' | '.join(texts)}"


def _checksum_line(content: bytes) -> str:
    return _CHECKSUM + hashlib.sha256(content).hexdigest()


def load(path: Path) -> TableFile:
    """Return the table in the file.

    Raises:
        TableError: the file is missing, unreadable or damaged. It names the line, its content and what is expected.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        advice = "write one with `noughts bot table build SPEC -o FILE` or `noughts bot learn -o FILE`"
        raise TableError(f"table {path}", error.strerror or str(error), "a file that can be read", advice) from error
    return _Reader(path).read(content)


class _Reader:
    """Reads the content of a file line by line, and keeps the line number for errors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        """The current line, from 1."""
        self._has_checksum = False
        """Whether a correct checksum has ended the table."""

    def read(self, content: bytes) -> TableFile:
        header: dict[str, str] = {}
        table: TableFile | None = None
        line_numbers: dict[Key, int] = {}
        for line in self._lines(content):
            word, _, value = line.partition(" ")
            if word in _HEADER:
                if word in header or table is not None:
                    raise self._error(f"`{word}` here", "it once, before the first position", "move or remove the line")
                header[word] = self._header_value(word, value.strip())
                continue
            table = table or self._begin(header)
            position, row = self._row(table.variant, line)
            key = position.own, position.opponent
            if key in line_numbers:
                advice = "remove one of the two (with all marks swapped a position is the same)"
                raise self._error(f"the position on line {line_numbers[key]} again", "each position once", advice)
            line_numbers[key] = self._number
            table.rows[key] = row
        table = table or self._begin(header)
        if table.games is not None and not self._has_checksum:
            raise self._error("the end of the file", f"`{_CHECKSUM}...` as its last line", _HOW_TO_RESTORE)
        return table

    def _lines(self, content: bytes) -> Iterator[str]:
        """Yield the non-empty lines after the first, without the checksum, which must be correct."""
        offset = 0
        for self._number, raw in enumerate(content.splitlines(keepends=True) or [b""], start=1):
            try:
                # Some editors put a UTF-8 mark at the beginning of a file.
                line = raw.decode("utf-8-sig" if self._number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise self._error("bytes that are not text", "text in UTF-8", "check that it is a table") from None
            if self._number == 1 and line != _FIRST_LINE:
                raise self._error(_excerpt(line), f"`{_FIRST_LINE}`", "a table begins with that line")
            if self._has_checksum and line:
                raise self._error(_excerpt(line), "nothing after the checksum", _HOW_TO_RESTORE)
            if line.startswith(_CHECKSUM.split()[0]):
                if line != _checksum_line(content[:offset]):
                    raise self._error(
                        "a checksum that does not match the lines above it", "one that matches", _HOW_TO_RESTORE
                    )
                self._has_checksum = True
            elif line and not line.startswith("#") and self._number > 1:
                yield line
            offset += len(raw)

    def _header_value(self, word: str, value: str) -> str:
        try:
            is_valid = bool(parse_variant(value)) if word == "variant" else bool(_NUMBER.fullmatch(value))
        except VariantError as error:
            raise self._error(_excerpt(value), error.expected, "name the variant the table is for") from None
        if not is_valid or (word == "level" and int(value) not in LEVELS):
            raise self._error(_excerpt(f"{word} {value}"), f"`{word} {_HEADER[word]}`", "see docs/reference/tables.md")
        return value

    def _begin(self, header: dict[str, str]) -> TableFile:
        if "variant" not in header:
            raise self._error("no variant yet", "a line such as `variant tictactoe`", "add it above the first position")
        games = int(header["games"]) if "games" in header else None
        return TableFile(parse_variant(header["variant"]), int(header.get("level", 1)), games)

    def _row(self, variant: Variant, line: str) -> tuple[Position, Row]:
        words = line.split(None, 2)
        board = words[0]
        mover = words[1] if len(words) > 1 else ""
        ratings = words[2] if len(words) > 2 else ""
        try:
            position = Position.parse(variant, f"{board} {mover or '?'}")
        except PositionError as error:
            advice = "a line is the board, X or O as the mover, and a rating for each cell"
            raise self._error(_excerpt(f"{board} {mover}"), error.expected, advice) from None
        if not position.free:
            raise self._error(_excerpt(f"{board} {mover}"), "a position with a free cell", "remove the line")
        columns = ratings.split(_SEPARATOR)
        if len(columns) not in (1, 3):
            advice = "a learner's line has ratings, visits and half points; any other has ratings only"
            raise self._error(f"{len(columns)} columns", f"1 or 3, with `{_SEPARATOR}` between them", advice)
        return position, Row(*(self._numbers(position, column.split()) for column in columns))

    def _numbers(self, position: Position, words: list[str]) -> list[int]:
        variant = position.variant
        free = set(position.free)
        if len(words) != variant.cells:
            advice = f"write one for each cell, row by row, and `{_NO_STONE}` where no stone can be placed"
            raise self._error(f"{len(words)} numbers", f"{variant.cells} for {variant.name}", advice)
        for cell, word in enumerate(words):
            if cell not in free and word != _NO_STONE:
                advice = "no stone can be placed on that cell"
                raise self._error(f"{_excerpt(word)} for cell {cell}", f"`{_NO_STONE}`", advice)
            if cell in free and not _NUMBER.fullmatch(word):
                advice = "the cell is free: rate it, with 0 if the bot must not play it"
                raise self._error(f"{_excerpt(word)} for cell {cell}", "a whole number, at least 0", advice)
        return [0 if word == _NO_STONE else int(word) for word in words]

    def _error(self, got: str, expected: str, advice: str) -> TableError:
        return TableError(f"table {self._path}, line {self._number}", got, expected, advice)


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_EXCERPT else text[:_LONGEST_EXCERPT] + "...")
