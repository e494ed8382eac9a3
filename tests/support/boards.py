"""Boards with gravity and with layers."""

from noughts_referee.rules import Variant, parse_variant


def falling_board(columns: int, rows: int) -> Variant:
    """A board of this size on which three in a row win and stones fall."""
    # Each cell above the lowest row needs a stone in the cell below it.
    supports = tuple(1 << (cell + columns) if cell < columns * (rows - 1) else 0 for cell in range(columns * rows))
    return Variant("falling", columns, rows, parse_variant(f"mnk:{columns},{rows},3").lines, supports=supports)


def layered_board(edge: int) -> Variant:
    """A cube, without lines."""
    return Variant("layered", edge, edge, (), layers=edge)
