"""Boards as SVG: the places of stones, last move, winning line and move numbers. `board.svg.jinja` draws them.

`static/board.js` writes the same text in browsers. Change both together, because a test compares them. Coordinates are
integers, so both languages write the same digits. The colours are in `static/board.css`.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil, gcd, sqrt
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from noughts_server.core.board_geometry import geometry
from noughts_server.web.documents import Document

_CELL = 40
_HALF = 20
_EDGE, _APART = 2, 8
"""Space around a board without labels, and between layers."""
_BEYOND = 12
"""The length of the winning line beyond the centres of its last stones."""
_LARGEST_WHOLE = 20
"""Columns or rows of the largest board that is never cropped."""
_LEAST_CROPPED = 15
"""The least size of a cropped board, which has `_AROUND` free columns and rows around the stones."""
_AROUND = 3
_SIDES = ("first", "second")


class _Layout:
    """Places of the layers, which stand in rows of equal length, with labels or without.

    Of a large board it holds only the area in use, if `used` are the cells of all moves: cells outside have no place.
    """

    def __init__(self, board: Document, labels: bool, used: list[int] | None = None) -> None:
        self._all = int(board["columns"]), int(board["rows"])
        self.layers = int(board["layers"])
        (self._left, self.columns), (self._above, self.rows) = self._area(used)
        self.names: list[str] = board["names"][self._left : self._left + self.columns]
        self.top_name = self._all[1] - self._above
        self.stars = [
            (column, row)
            for column, row in map(self.square, board["stars"])
            if 0 <= column < self.columns and 0 <= row < self.rows
        ]
        self.width, self.height = self.columns * _CELL, self.rows * _CELL
        self._across = ceil(sqrt(self.layers))
        down = ceil(self.layers / self._across)
        # Labels have about 11 px on a board that is as wide as a phone; the style sheet scales them elsewhere.
        self.font = max(self._across * self.width, down * self.height) // 28 + 1
        self._edge = _APART if self.layers > 1 else _EDGE
        self._label = self.font * 8 // 5 if labels else self._edge
        self.away = self._label // 2
        """From an edge to the middle of its labels."""
        self._top = self._label if self.layers > 1 else self._edge
        self.whole_width = self._across * (self._label + self.width + self._edge)
        self.whole_height = down * (self._top + self.height + self._label)
        self.corners = [self.corner(layer) for layer in range(self.layers)]

    def _area(self, used: list[int] | None) -> list[tuple[int, int]]:
        """Return the first column and the number of columns that are shown, and the same of the rows."""
        columns, rows = self._all
        if used is None or self.layers > 1 or max(self._all) <= _LARGEST_WHOLE:
            return [(0, columns), (0, rows)]
        used = used or [rows // 2 * columns + columns // 2]
        places = [[cell % columns for cell in used], [cell // columns for cell in used]]
        most = max(_LEAST_CROPPED, *(max(at) - min(at) + 1 + 2 * _AROUND for at in places))
        axes = [(whole, min(most, whole), min(at) + max(at) + 1) for whole, at in zip(self._all, places, strict=True)]
        return [(max(0, min(whole - size, (ends - size) // 2)), size) for whole, size, ends in axes]

    def corner(self, layer: int) -> tuple[int, int]:
        down, across = divmod(layer, self._across)
        x = self._label + across * (self._label + self.width + self._edge)
        return x, self._top + down * (self._top + self.height + self._label)

    def layer(self, cell: int) -> int:
        return cell // (self._all[0] * self._all[1])

    def square(self, cell: int) -> tuple[int, int]:
        """Return column and row of the cell in what is shown of its layer."""
        return cell % self._all[0] - self._left, cell // self._all[0] % self._all[1] - self._above

    def centre(self, cell: int) -> tuple[int, int]:
        (x, y), (column, row) = self.corner(self.layer(cell)), self.square(cell)
        return x + column * _CELL + _HALF, y + row * _CELL + _HALF

    def grid(self, x: int, y: int, inset: int) -> str:
        """Return the lines of the layer whose corner is here; without inset they are around the cells.

        Where the board continues, they reach the edge.
        """
        more = 0 if inset else 1
        left, above = (1 if start else inset for start in (self._left, self._above))
        right = inset if self._left + self.columns == self._all[0] else 1
        below = inset if self._above + self.rows == self._all[1] else 1
        wide, high = self.width - left - right, self.height - above - below
        down = (f"M{x + inset + column * _CELL} {y + above}v{high}" for column in range(self.columns + more))
        across = (f"M{x + left} {y + inset + row * _CELL}h{wide}" for row in range(self.rows + more))
        return "".join((*down, *across))

    def plate(self, x: int, y: int) -> str:
        """Return the edge of the plate over the layer whose corner is here, and its holes."""
        places = (self.square(cell) for cell in range(self.columns * self.rows))
        hole = "a16 16 0 1 0 32 0a16 16 0 1 0 -32 0z"
        holes = (f"M{x + column * _CELL + 4} {y + row * _CELL + _HALF}{hole}" for column, row in places)
        return f"M{x} {y}h{self.width}v{self.height}h-{self.width}z" + "".join(holes)

    def winning_lines(self, won: list[int], last: int) -> Iterable[str]:
        """Yield the straight lines of winning cells through the last move, in its layer."""
        column, row = self.square(last)
        ends: dict[tuple[int, int], list[int]] = {}
        for cell in won:
            if cell == last or self.layer(cell) != self.layer(last):
                continue
            x, y = self.square(cell)
            step = gcd(x - column, y - row) * (1 if cell > last else -1)
            ends.setdefault(((x - column) // step, (y - row) // step), [last]).append(cell)
        for (x, y), cells in ends.items():
            (x1, y1), (x2, y2) = self.centre(min(cells)), self.centre(max(cells))
            ahead, down = x * _BEYOND, y * _BEYOND
            yield f"M{x1 - ahead} {y1 - down}L{x2 + ahead} {y2 + down}"


class _Played(NamedTuple):
    """A stone: its side, its place, and whether it is a cross in looks with crosses and noughts."""

    side: str
    cell: int
    x: int
    y: int
    is_cross: bool


def board_svg(
    game: Document,
    ply: int | None = None,
    *,
    numbers: int = 0,
    labels: bool = True,
    swapped: bool = False,
    whole: bool = False,
) -> Markup:
    """Return the board after `ply` moves, by default all, with the numbers of so many last moves.

    `game` has `board` (`boards.geometry`), `moves` and, if it is over, `winning_cells`. `swapped`: the first side has
    the noughts. `whole`: a board of more than 20 columns or rows, too, is shown with its unused parts.
    """
    moves: list[int] = game["moves"]
    layout = _Layout(game["board"], labels, None if whole else moves)
    shown = moves if ply is None else moves[:ply]
    won: list[int] = (game.get("winning_cells") or []) if shown and len(shown) == len(moves) else []
    played = [
        _Played(_SIDES[at % 2], cell, *layout.centre(cell), is_cross=(at % 2 == 0) != swapped)
        for at, cell in enumerate(shown)
    ]
    return Markup(_macros().board(layout, game["board"]["look"], labels, played, won, numbers))  # noqa: S704  # as below


def piece_svg(board: Document, side: str) -> Markup:
    """Return a stone of this side (`first` or `second`) by itself."""
    return Markup(_macros().piece(board["look"], side))  # noqa: S704  # as below


@cache
def _macros() -> Any:
    """Return the macros of the template, which write the tags."""
    loader = PackageLoader("noughts_server.web")
    # Its values are numbers, our own words and the names of columns, and escaping would take most of the time.
    drawing = Environment(loader=loader, autoescape=False, undefined=StrictUndefined, trim_blocks=True)  # noqa: S701  # nosec B701
    return drawing.get_template("shared/board.svg.jinja").module


def places(board: Document) -> tuple[str, list[tuple[int, int]]]:
    """Return the view box of the whole board with labels, and the centre of each of its cells."""
    layout = _Layout(board, labels=True)
    centres = [layout.centre(cell) for cell in range(layout.columns * layout.rows * layout.layers)]
    return f"0 0 {layout.whole_width} {layout.whole_height}", centres


def stamp(variant: str, moves: list[int], side: int) -> str:
    """Return the path of the stones of this side (0: first) on a board as small as a stamp, whose cells have size 1."""
    cells = _stamps(variant, side)
    return "".join([cells[move] for move in moves[side::2]])


@lru_cache(maxsize=256)
def _stamps(variant: str, side: int) -> list[str]:
    """Return the path of a stone of this side by its cell: a list of games has tens of thousands of stones."""
    board = geometry(variant)
    if board is None:
        return []
    columns, rows, layers = board["columns"], board["rows"], board["layers"]
    stone = "M{x}.5 {y}.5h0"
    if board["look"] == "marks":
        stone = "M{x}.2 {y}.5a.3 .3 0 1 0 .6 0a.3 .3 0 1 0-.6 0" if side else "M{x}.24 {y}.24l.52.52m0-.52l-.52.52"
    across = 2 if layers > 1 else 1
    return [
        stone.format(x=layer % across * (columns + 1) + column, y=layer // across * (rows + 1) + row)
        for layer in range(layers)
        for row in range(rows)
        for column in range(columns)
    ]


def picture(board: Markup, title: str) -> str:
    """Return the board as a file of its own, with its colours in light and in dark."""
    colours = (files(__package__) / "static" / "board.css").read_text()
    head = f"<title>{escape(title)}</title><style>{colours}</style>"
    return str(board).replace(' aria-hidden="true">', f' role="img" xmlns="http://www.w3.org/2000/svg">{head}', 1)
