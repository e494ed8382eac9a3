"""Boards as text: rows of marks, the last move and the winning cells marked, layers side by side if they fit."""

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.text import Text

from noughts_referee.rules import Variant, VariantError, cell_names, parse_variant
from noughts_server.core.board_geometry import column_labels, row_label

STYLES = ("bold cyan", "bold magenta")
"""Styles of the first mover's and the second mover's marks."""

_WON = "bold black on green"
_FAINT = "bright_black"
_GAP = 2


def board_lines(variant: str, moves: Sequence[int], winning: Collection[int] = (), *, width: int = 80) -> list[Text]:
    """Return the board after the moves, in lines of at most `width` characters if possible.

    Columns and rows have the names used in cells (`h8`). The last move is in reverse, winning cells are green. If there
    are several layers, each has a heading. If the variant is not installed here (a plugin's), one line says so.
    """
    try:
        parsed_variant = parse_variant(variant)
    except VariantError:
        return [Text(f"(no board: {variant} is not installed here)", style="dim")]
    layers = [_layer(parsed_variant, layer, moves, winning) for layer in range(parsed_variant.layers)]
    if parsed_variant.layers == 1:
        return layers[0]
    for number, rows in enumerate(layers, start=1):
        rows.insert(0, Text(f" layer {number}", style="dim"))
    return _side_by_side(layers, width)


def print_board(console: Console, variant: str, moves: Sequence[int], winning: Collection[int]) -> None:
    """Print the board after the moves, without the padding of its last column, which would be copied with it."""
    for line in board_lines(variant, moves, winning, width=console.width - 1):
        line.rstrip()
        console.print(" ", line, sep="")


def cells_text(variant: str, cells: Iterable[int]) -> str:
    """Return the cells by name, `h8 i9`; by number if the variant is not installed here."""
    try:
        return cell_names(parse_variant(variant), cells)
    except VariantError:
        return " ".join(map(str, cells))


def board_width(variant: str, width: int) -> int:
    """Return the width of the board's drawing in characters, at most `width` if possible."""
    return max(map(len, board_lines(variant, (), width=width)))


def _layer(variant: Variant, layer: int, moves: Sequence[int], winning: Collection[int]) -> list[Text]:
    sides = {cell: ply & 1 for ply, cell in enumerate(moves)}
    size = variant.columns * variant.rows
    rows = []
    for number, start in enumerate(range(layer * size, (layer + 1) * size, variant.columns)):
        row = Text(no_wrap=True, overflow="crop").append(f"{row_label(variant, number)} ", style=_FAINT)
        for cell in range(start, start + variant.columns):
            side = sides.get(cell)
            style = "dim" if side is None else STYLES[side]
            if cell in winning:
                style = _WON
            elif moves and cell == moves[-1]:
                style += " reverse"
            row.append("." if side is None else "XO"[side], style=style).append(" ")
        rows.append(row)
    rows.append(Text(column_labels(variant), style=_FAINT, no_wrap=True, overflow="crop"))
    return rows


def _side_by_side(blocks: list[list[Text]], width: int) -> list[Text]:
    """Arrange as many blocks in a row as fit, with an empty line between rows."""
    block_width = max(len(line) for block in blocks for line in block)
    blocks_per_row = max(1, (width + _GAP) // (block_width + _GAP))
    lines: list[Text] = []
    for start in range(0, len(blocks), blocks_per_row):
        if start:
            lines.append(Text(""))
        for pieces in zip(*blocks[start : start + blocks_per_row], strict=True):
            line = Text("", no_wrap=True, overflow="crop")
            for piece in pieces:
                if line:
                    line.append(" " * _GAP)
                piece.pad_right(block_width - len(piece))
                line.append_text(piece)
            lines.append(line)
    return lines
