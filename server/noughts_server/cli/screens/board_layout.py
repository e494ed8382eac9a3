"""The board as text, as large as the space allows, and the cell under the mouse."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from rich.text import Text

from noughts_referee.rules import Variant, column_name
from noughts_server.core.board_geometry import row_label

_BETWEEN_LAYERS = 3
MARK_STYLES = {"X": "bold #56c2e6", "O": "bold #d58bdd"}
"""Styles on the application's own background. `drawing.boards.STYLES` are for any background of a terminal."""
_FORBIDDEN = "×"
_LARGE = {"X": ("\\ /", " X ", "/ \\"), "O": ("╭─╮", "│ │", "╰─╯")}
WON, LOST = "#1e7f3a", "#b3261e"
"""Green and red behind the winning line, both dark enough for white letters."""
QUIET = "#8a8a8a"
"""The colour of secondary text."""


class _Size(NamedTuple):
    """The size of a cell in characters, without the separator."""

    width: int
    height: int
    has_lines: bool
    """Whether lines separate the cells; if not, a blank column does."""


_SIZES = (_Size(7, 3, True), _Size(3, 1, True), _Size(1, 1, False))


class Place(NamedTuple):
    """A position in characters from the top left."""

    column: int
    line: int


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of a board: stones, cursor, last move, winning and forbidden cells."""

    stones: Mapping[int, str]
    """The mark on each taken cell."""
    cursor: int | None = None
    last: int | None = None
    winning: frozenset[int] = frozenset()
    winning_colour: str = ""
    forbidden: frozenset[int] = frozenset()
    """Free cells that must not be played."""


def fits(variant: Variant, columns: int) -> bool:
    """Return whether a board of this variant, in its smallest size, fits into this width."""
    return Layout(variant, (0, 0)).width <= columns


@dataclass
class Layout:
    """A board of this variant in the largest size that fits; in the smallest if none does."""

    variant: Variant
    space: tuple[int, int]
    """Available columns and lines of the screen."""
    size: _Size = field(init=False)

    def __post_init__(self) -> None:
        width, height = self.space
        for size in _SIZES:
            self.size = size
            if self.width <= width and self.height <= height:
                return

    @property
    def _margin(self) -> int:
        """The width left of a row's first cell: the row's number and a blank."""
        return len(str(self.variant.rows)) + 1 + (0 if self.size.has_lines else 1)

    @property
    def _pitch(self) -> tuple[int, int]:
        """The distance between neighbouring cells, across and down."""
        return self.size.width + 1, self.size.height + (1 if self.size.has_lines else 0)

    @property
    def _block(self) -> int:
        """The width of a layer."""
        across, _ = self._pitch
        return self._margin + self.variant.columns * across - (1 if self.size.has_lines else 0)

    @property
    def _top(self) -> int:
        """The lines above the first row: the layer's heading, if there are several layers, and the columns' letters."""
        return 1 if self.variant.layers == 1 else 2

    @property
    def width(self) -> int:
        """The width of all layers side by side, in characters."""
        layers = self.variant.layers
        return layers * self._block + (layers - 1) * _BETWEEN_LAYERS

    @property
    def height(self) -> int:
        """The height in lines."""
        _, down = self._pitch
        return self._top + self.variant.rows * down - (1 if self.size.has_lines else 0)

    def place(self, cell: int) -> Place:
        """Return the top left character of a cell."""
        row_of_all, column = divmod(cell, self.variant.columns)
        layer, row = divmod(row_of_all, self.variant.rows)
        across, down = self._pitch
        left = layer * (self._block + _BETWEEN_LAYERS) + self._margin
        return Place(left + column * across, self._top + row * down)

    def cell_at(self, column: int, line: int) -> int | None:
        """Return the cell drawn there; None on the lines between cells."""
        for cell in range(self.variant.cells):
            left, top = self.place(cell)
            if left <= column < left + self.size.width and top <= line < top + self.size.height:
                return cell
        return None

    def draw(self, scene: Scene) -> Text:
        canvas = _Canvas(self.width, self.height)
        self._draw_frame(canvas)
        for cell in range(self.variant.cells):
            self._draw_cell(canvas, cell, scene)
        return canvas.text()

    def _draw_frame(self, canvas: "_Canvas") -> None:
        variant, size = self.variant, self.size
        across, down = self._pitch
        for layer in range(variant.layers):
            first = layer * variant.rows * variant.columns
            left = self.place(first).column
            if variant.layers > 1:
                canvas.write(left, 0, f"layer {layer + 1}"[: self._block], "bold")
            for column in range(variant.columns):
                name = column_name(column)
                canvas.write(left + column * across + (size.width - 1) // 2, self._top - 1, name, QUIET)
            for row in range(variant.rows):
                line = self._top + row * down
                canvas.write(left - self._margin, line + (size.height - 1) // 2, row_label(variant, row), QUIET)
                if size.has_lines:
                    for boundary in range(1, variant.columns):
                        for part in range(size.height):
                            canvas.write(left + boundary * across - 1, line + part, "│", QUIET)
                    if row < variant.rows - 1:
                        rule = "┼".join(["─" * size.width] * variant.columns)
                        canvas.write(left, line + size.height, rule, QUIET)

    def _draw_cell(self, canvas: "_Canvas", cell: int, scene: Scene) -> None:
        left, top = self.place(cell)
        size = self.size
        mark = scene.stones.get(cell)
        style = QUIET if mark is None else MARK_STYLES[mark]
        left_sign = right_sign = ""
        # Signs mark these cells, too, because a terminal can have no colours.
        if cell in scene.winning:
            left_sign = right_sign = "*"
            style = f"bold white on {scene.winning_colour or 'black'}"
        elif cell == scene.cursor:
            left_sign = "["
            right_sign = "]"
        elif cell == scene.last:
            left_sign = "("
            right_sign = ")"
        if cell == scene.cursor:
            style += " reverse"
        sign = mark
        if sign is None:
            blank = " " if size.has_lines else "."
            sign = _FORBIDDEN if cell in scene.forbidden else blank
        if not size.has_lines:
            canvas.write(left, top, sign, style)
            for column, bracket in ((left - 1, left_sign), (left + 1, right_sign)):
                canvas.write(column, top, bracket, style.replace(" reverse", ""))
            return
        rows = _LARGE.get(sign, (" ", sign, " ")) if size.height > 1 else (sign,)
        for part, row in enumerate(rows):
            text = row.center(size.width)
            if left_sign and part == size.height // 2:
                text = f"{left_sign}{text[1:-1]}{right_sign}"
            canvas.write(left, top + part, text, style if left_sign or sign != " " else "")


class _Canvas:
    """A rectangle of styled characters."""

    def __init__(self, width: int, height: int) -> None:
        self._lines = [[(" ", "")] * width for _ in range(height)]
        """The character and the style at each position, line by line."""

    def write(self, column: int, line: int, text: str, style: str) -> None:
        """Write the text, cut at the edge."""
        for place, character in enumerate(text, column):
            if 0 <= place < len(self._lines[line]):
                self._lines[line][place] = character, style

    def text(self) -> Text:
        text = Text(no_wrap=True, end="")
        for number, line in enumerate(self._lines):
            text.append("\n" if number else "")
            for style, run in groupby(line, key=itemgetter(1)):
                text.append("".join(character for character, _ in run), style)
        return text
