"""Every position of a small board."""

from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, Variant

LARGEST_BOARD = 12
"""Cells of the largest board that is listed."""


def require_small(subject: str, variant: Variant) -> None:
    """Raise VariantRefused for a board with so many positions that data on each would not fit into memory."""
    if variant.cells > LARGEST_BOARD:
        raise VariantRefused(
            subject,
            f"variant {variant.name} ({variant.cells} cells)",
            f"a board of at most {LARGEST_BOARD} cells",
            "choose a smaller board: larger ones have millions of positions",
        )


def positions(variant: Variant) -> list[Position]:
    """Return all reachable positions with a legal move, ordered by the number of stones; 4,520 on 3x3.

    Raises VariantRefused for a board of more than `LARGEST_BOARD` cells.
    """
    require_small("table", variant)
    all_positions: list[Position] = []
    keys_of_ply = {(0, 0)}
    ply = 0
    while keys_of_ply:
        keys_of_next_ply: set[tuple[int, int]] = set()
        for own, opponent in sorted(keys_of_ply):
            position = Position(variant, own=own, opponent=opponent, side=ply % 2)
            all_positions.append(position)
            for cell in position.free:
                stones = own | 1 << cell
                if variant.outcome(stones, opponent, cell, ply % 2) is None:
                    keys_of_next_ply.add((opponent, stones))
        keys_of_ply = keys_of_next_ply
        ply += 1
    return all_positions
