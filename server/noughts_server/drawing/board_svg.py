"""Boards as SVG: the shapes of stones, last move, winning line and move numbers. No other module draws them.

A board for scripts also has the centres of its cells (`data-x`, `data-y`) and one of each part, which `board.js`
copies to them. Coordinates are integers. The colours are in `board.css`.
"""

from collections.abc import Iterator
from importlib.resources import files
from math import gcd
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from noughts_server.core.board_geometry import geometry
from noughts_server.core.messages import N_, _
from noughts_server.drawing.board_layout import CELL, HALF, BoardLayout

Document = dict[str, Any]
_BEYOND = 12
"""The length of the winning line beyond the centres of its last stones."""
_SIDES = ("first", "second")
_SIDE_NAMES = {"stones": (N_("Black"), N_("White")), "plate": (N_("Red"), N_("Yellow")), "marks": ("X", "O")}
"""The names of the two sides by the look of the board. `board.css` has the colours."""


class _Part(NamedTuple):
    """A shape around the point 0 0."""

    kind: str
    """Its CSS classes."""
    tag: str
    shape: str
    """The attributes of its shape."""

    def at(self, x: int, y: int, text: str = "", *, cell: int | None = None, newest: bool = False) -> str:
        of_cell = "" if cell is None else f' data-cell="{cell}"'
        classes = f"{self.kind} newest" if newest else self.kind
        return f'<{self.tag}{self.shape} class="{classes}"{of_cell} transform="translate({x} {y})">{text}</{self.tag}>'

    def to_copy(self) -> str:
        """Return the part for scripts, which copy it, and give the copy its classes and a place."""
        return f'<{self.tag}{self.shape} data-part="{self.kind}"></{self.tag}>'


class _Parts(NamedTuple):
    """The parts that moves and the end of a game add to a board."""

    stones: tuple[_Part, _Part]
    last: tuple[_Part, _Part]
    orders: tuple[_Part, _Part]
    """The numbers of moves."""
    won: _Part


def _parts(look: str, *, swapped: bool = False) -> _Parts:
    """Return the parts of boards with this look. With `swapped`, the first side has the noughts."""
    disc = ("circle", ' r="18"')
    if look != "marks":
        return _Parts(
            stones=(_Part("stone first", *disc), _Part("stone second", *disc)),
            last=(_Part("last first", "circle", ' r="5"'), _Part("last second", "circle", ' r="5"')),
            orders=(_Part("order first", "text", ""), _Part("order second", "text", "")),
            won=_Part("won", *disc),
        )
    cross, nought = ("path", ' d="M-10 -10l20 20m0 -20l-20 20"'), ("circle", ' r="11"')
    square = ("rect", f' x="-{HALF}" y="-{HALF}" width="{CELL}" height="{CELL}"')
    corner = ("text", ' x="14" y="14"')
    return _Parts(
        stones=(
            _Part("stone first nought", *nought) if swapped else _Part("stone first cross", *cross),
            _Part("stone second cross", *cross) if swapped else _Part("stone second nought", *nought),
        ),
        last=(_Part("last first", *square), _Part("last second", *square)),
        orders=(_Part("order first", *corner), _Part("order second", *corner)),
        won=_Part("won", *square),
    )


def side_names(look: str, *, swapped: bool = False) -> tuple[str, str]:
    """Return the names of the first and the second side on boards with this look, in the active language.

    `swapped` is as in `board_svg`.
    """
    first, second = map(_, _SIDE_NAMES[look])
    return (second, first) if swapped and look == "marks" else (first, second)


def board_svg(
    game: Document,
    ply: int | None = None,
    *,
    numbers: int = 0,
    labels: bool = True,
    layer_numbers: bool = True,
    swapped: bool = False,
    whole: bool = False,
    live: bool = False,
) -> Markup:
    """Return the board after `ply` moves (default: all). The last `numbers` moves have their number.

    `game` has `board` (`board_geometry.geometry`), `moves` and, if it is over, `winning_cells`. With `swapped`, the
    first side has the noughts. With `whole`, a board of more than 20 columns or rows is not cropped to the area in use.
    Without `labels`, several layers have `layer_numbers`. With `live`, scripts can show other moves on it.
    """
    board: Document = game["board"]
    moves: list[int] = game["moves"]
    look: str = board["look"]
    layout = BoardLayout(board, labels, None if whole else moves)
    parts = _parts(look, swapped=swapped)
    shown_moves = moves if ply is None else moves[:ply]
    won: list[int] = (game.get("winning_cells") or []) if shown_moves and len(shown_moves) == len(moves) else []
    places = [layout.centre(cell) for cell in shown_moves]

    stones = "".join(
        parts.stones[at % 2].at(x, y, cell=cell)
        for at, (cell, (x, y)) in enumerate(zip(shown_moves, places, strict=True))
    )
    marks = "".join(parts.won.at(*layout.centre(cell)) for cell in won)
    last = ""
    if places and not numbers and not (won and look == "marks"):
        last = parts.last[(len(shown_moves) - 1) % 2].at(*places[-1])
    lines = "".join(_line(layout, *ends) for ends in winning_lines(board, won, shown_moves[-1])) if won else ""
    first = max(0, len(shown_moves) - numbers)
    orders = "".join(
        parts.orders[at % 2].at(*places[at], str(at + 1), newest=at == len(shown_moves) - 1)
        for at in range(first, len(shown_moves))
    )

    loser = f" {_SIDES[len(shown_moves) % 2]}-lost" if won else ""
    back = "".join(_back(layout, look, x, y) for x, y in layout.corners)
    front = "".join(_front(layout, look, x, y) for x, y in layout.corners)
    names = "".join(_labels(layout) if labels else _layer_numbers(layout) if layer_numbers else ())
    layers = " layers" if layout.layers > 1 else ""
    below, top = (f'<g class="below">{marks}{last}</g>', lines) if look == "marks" else ("", f"{marks}{lines}{last}")
    return Markup(  # noqa: S704  # numbers, our own words, and the names of columns
        f'<svg class="board {look}{layers}" viewBox="0 0 {layout.whole_width} {layout.whole_height}"'
        f' font-size="{layout.font}"{_for_scripts(layout) if live else ""} aria-hidden="true">'
        f"{_to_copy(board, parts) if live else ''}"
        f'<g class="back">{back}{names}</g>{below}<g class="played{loser}">{stones}</g>'
        f'<g class="front">{front}</g><g class="top">{top}{orders}</g></svg>'
    )


def winning_lines(board: Document, won: list[int], last: int) -> list[tuple[int, int]]:
    """Return the first and the last cell of each straight line of winning cells through the last move, in its layer."""
    columns, rows = board["columns"], board["rows"]
    ends: dict[tuple[int, int], list[int]] = {}
    for cell in won:
        if cell == last or cell // (columns * rows) != last // (columns * rows):
            continue
        x, y = cell % columns - last % columns, cell // columns - last // columns
        step = gcd(x, y) * (1 if cell > last else -1)
        ends.setdefault((x // step, y // step), [last]).append(cell)
    return [(min(cells), max(cells)) for cells in ends.values()]


def with_board(game: Document) -> Document:
    """Return the game with `board`, None if its variant is not installed, and with its `winning_lines`."""
    board = geometry(game["variant"])
    won = game.get("winning_cells") or []
    lines = winning_lines(board, won, game["moves"][-1]) if board and won and game["moves"] else []
    return {**game, "board": board, "winning_lines": lines}


def _line(layout: BoardLayout, first: int, last: int) -> str:
    x1, y1 = layout.centre(first)
    x2, y2 = layout.centre(last)
    dx = _BEYOND * _sign(x2 - x1)
    dy = _BEYOND * _sign(y2 - y1)
    return f'<path class="win-line" d="M{x1 - dx} {y1 - dy}L{x2 + dx} {y2 + dy}"></path>'


def _sign(number: int) -> int:
    if number == 0:
        return 0
    return 1 if number > 0 else -1


def _back(layout: BoardLayout, look: str, x: int, y: int) -> str:
    """Return the parts under the stones of the layer with this corner."""
    kind = {"stones": "wood", "plate": "behind", "marks": "paper"}[look]
    ground = f'<rect class="{kind}" x="{x}" y="{y}" width="{layout.width}" height="{layout.height}"></rect>'
    if look != "stones":
        return ground
    stars = (
        f'<circle class="star" cx="{x + column * CELL + HALF}" cy="{y + row * CELL + HALF}" r="4"></circle>'
        for column, row in layout.stars
    )
    return f'{ground}<path class="lines" d="{layout.grid(x, y, HALF)}"></path>{"".join(stars)}'


def _front(layout: BoardLayout, look: str, x: int, y: int) -> str:
    """Return the parts over the stones of the layer with this corner."""
    if look == "plate":
        return f'<path class="cover" d="{layout.plate(x, y)}"></path>'
    return f'<path class="lines" d="{layout.grid(x, y, 0)}"></path>' if look == "marks" else ""


def _labels(layout: BoardLayout) -> Iterator[str]:
    """Yield the names of columns, rows and layers."""
    for layer, (x, y) in enumerate(layout.corners, start=1):
        for column, name in enumerate(layout.names):
            yield _label(x + column * CELL + HALF, y + layout.height + layout.label_distance, name)
        for row in range(layout.rows):
            yield _label(x - layout.label_distance, y + row * CELL + HALF, layout.top_name - row)
        if layout.layers > 1:
            yield _label(x + layout.width // 2, y - layout.label_distance, _("layer %(number)s", number=layer))


def _layer_numbers(layout: BoardLayout) -> Iterator[str]:
    """Yield a large pale number in each of several layers, because cells are named `3b4`."""
    if layout.layers > 1:
        for layer, (x, y) in enumerate(layout.corners, start=1):
            place = f'x="{x + layout.width // 2}" y="{y + layout.height // 2}"'
            yield f'<text class="layer" {place}>{layer}</text>'


def _label(x: int, y: int, name: object) -> str:
    return f'<text class="name" x="{x}" y="{y}">{name}</text>'


def _for_scripts(layout: BoardLayout) -> str:
    x, y = layout.axis_centres()
    return f' data-x="{x}" data-y="{y}" data-beyond="{_BEYOND}"'


def _to_copy(board: Document, parts: _Parts) -> str:
    """Return each part once for scripts; also a cell for moves, and the column in which a stone falls."""
    size = CELL - 2
    cell = _Part("cell", "rect", f' x="-{size // 2}" y="-{size // 2}" width="{size}" height="{size}" rx="2"')
    column = _Part("column", "rect", f' x="-{HALF}" y="-{HALF}" width="{CELL}" height="{board["rows"] * CELL}"')
    line = _Part("win-line", "path", "")
    each = (*parts.stones, *parts.last, *parts.orders, parts.won, line, cell, column)
    return f"<defs>{''.join(part.to_copy() for part in each)}</defs>"


def piece_svg(board: Document, side: str, *, swapped: bool = False) -> Markup:
    """Return a picture of a stone of this side, `first` or `second`. `swapped` is as in `board_svg`."""
    look: str = board["look"]
    stone = _parts(look, swapped=swapped).stones[_SIDES.index(side)].at(HALF, HALF, cell=0)
    return Markup(  # noqa: S704  # our own words
        f'<svg class="piece board {look}" viewBox="0 0 {CELL} {CELL}" aria-hidden="true">{stone}</svg>'
    )


class Places(NamedTuple):
    """Where something else can be drawn on the cells of a whole board with labels."""

    view: str
    """The view box of the board."""
    centres: list[tuple[int, int]]
    size: int
    """The width of a cell."""


def places(board: Document) -> Places:
    """Return the places of the board's cells."""
    layout = BoardLayout(board, labels=True)
    centres = [layout.centre(cell) for cell in range(layout.columns * layout.rows * layout.layers)]
    return Places(view=f"0 0 {layout.whole_width} {layout.whole_height}", centres=centres, size=CELL)


def picture(board: Markup, title: str) -> str:
    """Return the board as a file, with its colours for light and for dark displays."""
    head = f"<title>{escape(title)}</title><style>{board_css()}</style>"
    return str(board).replace(' aria-hidden="true">', f' role="img" xmlns="http://www.w3.org/2000/svg">{head}', 1)


def board_css() -> str:
    """Return the style sheet of boards, for light and for dark displays."""
    return (files(__package__) / "board.css").read_text(encoding="utf-8")


def board_script() -> str:
    """Return the module that shows moves on boards for scripts."""
    return (files(__package__) / "board.js").read_text(encoding="utf-8")
