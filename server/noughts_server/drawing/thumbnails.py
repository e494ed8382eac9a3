"""Boards in the size of a stamp. Each side has one path, so that fifty boards have few bytes. A cell has the size 1."""

from functools import lru_cache
from typing import Any

from markupsafe import Markup

from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.board_svg import winning_lines

Document = dict[str, Any]


def thumbnail(game: Document, *, own: bool = False) -> Markup:
    """Return the board of a game. With `own`, it has its own background; else it uses `thumbnail_back` of the page.

    `game` has `variant`, `moves` and, if it is over, `winning_cells`. Empty if the variant is not installed.
    """
    board = geometry(game["variant"])
    if board is None:
        return Markup("")
    back = _back(board) if own else '<use href="#thumb-back"/>'
    kinds = ("cross", "nought") if board["look"] == "marks" else ("first", "second")
    sides = "".join(
        f'<path class="{kind}" d="{stones_path(game["variant"], game["moves"], side)}"/>'
        for side, kind in enumerate(kinds)
    )
    won = game.get("winning_cells") or []
    if board["layers"] > 1:
        # A line across layers cannot be drawn, so its cells are marked.
        corners = ((x - 0.5, y - 0.5) for x, y in (_centre(board, cell) for cell in won))
        cells = "".join(f"M{x:g} {y:g}h1v1h-1z" for x, y in corners)
        back += f'<path class="won-cells" d="{cells}"/>' if won else ""
    lines = winning_lines(board, won, game["moves"][-1]) if won else []
    ends = "".join("M{} {}L{} {}".format(*_centre(board, first), *_centre(board, last)) for first, last in lines)
    line = f'<path class="won" d="{ends}"/>' if lines else ""
    return Markup(  # noqa: S704  # numbers and our own words
        f'<svg class="thumb {board["look"]}" viewBox="{_view(board)}" aria-hidden="true">{back}{sides}{line}</svg>'
    )


def thumbnail_back(variant: str) -> Markup:
    """Return the background that all thumbnails of this variant on a page share."""
    board = geometry(variant)
    if board is None:
        return Markup("")
    return Markup(  # noqa: S704  # numbers and our own words
        '<svg class="unseen thumb" width="0" height="0" aria-hidden="true">'
        f'<symbol id="thumb-back" viewBox="{_view(board)}">{_back(board)}</symbol></svg>'
    )


def stones_path(variant: str, moves: list[int], side: int) -> str:
    """Return the path of the stones of this side (0: first)."""
    cells = _stones(variant, side)
    return "".join([cells[move] for move in moves[side::2]])


@lru_cache(maxsize=256)
def _stones(variant: str, side: int) -> list[str]:
    """Return the path of a stone of this side for each cell; cached, because a page can have thousands of stones."""
    board = geometry(variant)
    if board is None:
        return []
    columns, rows = board["columns"], board["rows"]
    stone = "M{x}.5 {y}.5h0"
    if board["look"] == "marks":
        stone = "M{x}.2 {y}.5a.3 .3 0 1 0 .6 0a.3 .3 0 1 0-.6 0" if side else "M{x}.24 {y}.24l.52.52m0-.52l-.52.52"
    return [
        stone.format(x=x + column, y=y + row)
        for x, y in _corners(board)
        for row in range(rows)
        for column in range(columns)
    ]


def _across(board: Document) -> int:
    """Return the number of layers in a row."""
    return 2 if board["layers"] > 1 else 1


def _corners(board: Document) -> list[tuple[int, int]]:
    across = _across(board)
    return [
        (layer % across * (board["columns"] + 1), layer // across * (board["rows"] + 1))
        for layer in range(board["layers"])
    ]


def _centre(board: Document, cell: int) -> tuple[float, float]:
    columns, rows = board["columns"], board["rows"]
    x, y = _corners(board)[cell // (columns * rows)]
    return x + cell % columns + 0.5, y + cell // columns % rows + 0.5


def _view(board: Document) -> str:
    across = _across(board)
    down = (board["layers"] + across - 1) // across
    return f"0 0 {across * (board['columns'] + 1) - 1} {down * (board['rows'] + 1) - 1}"


def _back(board: Document) -> str:
    """Return the background of a board."""
    columns, rows = board["columns"], board["rows"]
    has_stones = board["look"] == "stones"
    if has_stones:
        ground = "thumb-wood"
    else:
        ground = "thumb-plate" if board["gravity"] else "thumb-paper"
    # Stones are on the intersections of the lines, marks are between the lines.
    inset = 0.5 if has_stones else 0
    more_lines = 0 if has_stones else 1
    parts: list[str] = []
    for layer, (x, y) in enumerate(_corners(board), start=1):
        parts.append(f'<rect class="{ground}" x="{x}" y="{y}" width="{columns}" height="{rows}"/>')
        if board["gravity"]:
            holes = (f"M{x + column + 0.5} {y + row + 0.5}h0" for row in range(rows) for column in range(columns))
            parts.append(f'<path class="thumb-hole" d="{"".join(holes)}"/>')
            continue
        down = (f"M{x + column + inset} {y + inset}v{rows - 2 * inset}" for column in range(columns + more_lines))
        over = (f"M{x + inset} {y + row + inset}h{columns - 2 * inset}" for row in range(rows + more_lines))
        kind = "thumb-grid" if has_stones else "thumb-lines"
        parts.append(f'<path class="{kind}" d="{"".join((*down, *over))}"/>')
        if board["layers"] > 1:
            # Cells are named `3b4`.
            parts.append(f'<text class="thumb-layer" x="{x + columns / 2:g}" y="{y + rows / 2:g}">{layer}</text>')
    return "".join(parts)
