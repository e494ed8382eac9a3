"""Every position of a small board."""

from noughts_bots.errors import VariantRefused
from noughts_referee.rules import Position, Variant

LARGEST_BOARD = 12
"""Cells of the largest board that is listed."""


def require_small(subject: str, variant: Variant) -> None:
    """Raises VariantRefused for a board that has too many positions to keep what is known of each."""
    if variant.cells > LARGEST_BOARD:
        raise VariantRefused(
            subject,
            f"variant {variant.name} ({variant.cells} cells)",
            f"a board of at most {LARGEST_BOARD} cells",
            "choose a smaller board: larger ones have millions of positions",
        )


def positions(variant: Variant) -> list[Position]:
    """All positions with a move to make that play can reach, by the number of stones; 4,520 on 3x3.

    Raises VariantRefused for a board of more than `LARGEST_BOARD` cells.
    """
    require_small("table", variant)
    found: list[Position] = []
    level = {(0, 0)}
    ply = 0
    while level:
        following: set[tuple[int, int]] = set()
        for own, opponent in sorted(level):
            found.append(Position(variant, own=own, opponent=opponent, side=ply % 2))
            for cell in variant.free_cells(own | opponent):
                stones = own | 1 << cell
                if variant.outcome(stones, opponent, cell, ply % 2) is None:
                    following.add((opponent, stones))
        level, ply = following, ply + 1
    return found
