"""Read openings from files, one a line, in any mixture of these formats:

- Gomocup's offsets, as c-gomoku-cli's `type=offset`: `3,-3, 2,-4, 1,-4`, each a column and a row counted from the
  middle, to the right and down. The middle is cell size / 2, rounded down, from 0: (10, 10) on 20x20, (7, 7) on 15x15.
- Cells by name, with or without spaces: `h8i9g7`, `h8 i9 g7`; with layers, `2b3 1a1`. Rows count from the bottom.
- JSON: `{"variant": "gomoku", "moves": [112, 128]}` or `[112, 128]`, or a game of `-o` with an opening.

Empty lines, and lines that begin with #, are ignored.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noughts_referee.rules import Variant, VariantError, parse_variant, read_cell
from noughts_server.core.text_files import TextLines, WrongBytes
from noughts_server.openings.legality import OpeningError, check_opening
from noughts_server.openings.settings import MOST_CHARACTERS, MOST_OPENINGS, Openings

_OFFSETS = re.compile(r"[-+\d,\s]+")
_OFFSET = re.compile(r"[-+]?\d{1,4}")
_NAME = r"[A-Za-z]{1,2}\d{1,2}"
_FORMS = '`x,y, x,y` from the middle, cells as in `h8i9`, or JSON with "moves"'
_LONGEST_EXCERPT = 60


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a list that is used."""

    start: int = 1
    """The number of the first opening; those before it come last."""
    plies: int = 0
    """The length to which openings are cut; 0 for their own."""

    def of(self, openings: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Return the openings of this part; openings that are equal after the cut occur once. Raises OpeningError."""
        if not 1 <= self.start <= len(openings):
            raise OpeningError(f"start={self.start}", f"1 to {len(openings):,}, the number of its openings")
        rotated = (*openings[self.start - 1 :], *openings[: self.start - 1])
        return list(dict.fromkeys(cells[: self.plies] for cells in rotated)) if self.plies else list(rotated)


WHOLE = Part()


class OpeningsFileError(ValueError):
    """An invalid file of openings; the text names the line, its content and what is expected."""


def read_openings_file(
    openings: Openings, file: Path, variant: Variant, part: Part = WHOLE, name: str = ""
) -> Openings:
    """Return the openings of a file for games of the variant; `name` is shown. Raises OpeningsFileError, OSError."""
    try:
        with TextLines(file) as lines:
            return read_openings(openings, name or file.name, lines, variant, part)
    except WrongBytes as error:
        raise OpeningsFileError(f"{error}. Fix: {error.fix}") from error


def read_openings(
    openings: Openings, name: str, lines: Iterable[str], variant: Variant, part: Part = WHOLE
) -> Openings:
    """Return the openings of these lines of the file `name`. Raises OpeningsFileError for the first invalid line."""
    list_of_cells: list[tuple[int, ...]] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.strip().lstrip("\ufeff")
        if not line or line.startswith("#"):
            continue
        try:
            cells = read_opening(line, variant)
            check_opening(variant, cells)
        except OpeningError as error:
            raise OpeningsFileError(f"line {number}: {error}") from None
        list_of_cells.append(cells)
        if len(list_of_cells) > MOST_OPENINGS:
            raise OpeningsFileError(f"line {number}: got more openings, expected at most {MOST_OPENINGS:,}")
    if not list_of_cells:
        raise OpeningsFileError(f"got no openings, expected one per line: {_FORMS}")
    try:
        new_openings = openings.of_list(name, part.of(list_of_cells))
    except OpeningError as error:
        raise OpeningsFileError(str(error)) from None
    if len(new_openings.text) > MOST_CHARACTERS:
        got = f"{len(new_openings.text):,} characters of cells"
        raise OpeningsFileError(f"got {got}, expected at most {MOST_CHARACTERS:,}")
    return new_openings


def read_opening(line: str, variant: Variant) -> tuple[int, ...]:
    """Return the cells of one opening in playing order, without checking that they are legal. Raises OpeningError."""
    if line.startswith(("{", "[")):
        return _read_json(line, variant)
    if _OFFSETS.fullmatch(line):
        return _read_offsets(line, variant)
    name = rf"\d+{_NAME}(?!\w)" if variant.layers > 1 else _NAME
    if re.fullmatch(rf"(?:{name}[\s,;-]*)+", line):
        return tuple(_cell_of(variant, cell_text) for cell_text in re.findall(name, line))
    raise OpeningError(_excerpt(line), _FORMS)


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}...")


def _read_json(line: str, variant: Variant) -> tuple[int, ...]:
    try:
        document: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise OpeningError("broken JSON", 'as in {"variant": "gomoku", "moves": [112, 128]} or [112, 128]') from None
    if isinstance(document, dict):
        name = document.get("variant", variant.name)
        if _board(name) != (variant.columns, variant.rows, variant.layers):
            raise OpeningError(f"an opening of {name!r}", f"one on the board of {variant.name}")
        opening = document.get("opening")
        document = opening if isinstance(opening, list) else document.get("moves")
    if not isinstance(document, list) or not all(type(cell) is int for cell in document):
        raise OpeningError("no list of cells", 'a list of whole numbers as "moves", e.g. [112, 128]')
    return tuple(document)


def _board(name: object) -> tuple[int, int, int] | None:
    try:
        variant = parse_variant(name) if isinstance(name, str) else None
    except VariantError:
        return None
    # An unknown variant has no board, so it never has the same board.
    return None if variant is None else (variant.columns, variant.rows, variant.layers)


def _read_offsets(line: str, variant: Variant) -> tuple[int, ...]:
    if variant.layers > 1:
        raise OpeningError("offsets from the middle", f"cells or JSON for {variant.name}, which has layers")
    parts = [part.strip() for part in line.strip().rstrip(",").split(",")]
    wrong = next((part for part in parts if not _OFFSET.fullmatch(part)), None)
    if wrong is not None:
        raise OpeningError(f"{_excerpt(wrong)} among the offsets", "whole numbers with commas between them")
    numbers = [int(part) for part in parts]
    if len(numbers) % 2:
        raise OpeningError(f"{len(numbers)} numbers", "pairs of them: `x,y, x,y`")
    cells = []
    for across, down in zip(numbers[::2], numbers[1::2], strict=True):
        column, row = variant.columns // 2 + across, variant.rows // 2 + down
        if not (0 <= column < variant.columns and 0 <= row < variant.rows):
            got = f"offset {across},{down}, which is off the board"
            raise OpeningError(got, f"cells of {variant.columns}x{variant.rows}")
        cells.append(row * variant.columns + column)
    return tuple(cells)


def _cell_of(variant: Variant, name: str) -> int:
    cell = read_cell(variant, name)
    if cell is None:
        raise OpeningError(f"cell {name}, which is off the board", f"cells of {variant.name}")
    return cell
