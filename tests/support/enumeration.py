"""The value of a position by enumeration, for boards whose games can all be played to the end."""

from functools import cache

from noughts_referee.rules import Variant


@cache
def plies_to_win(variant: Variant, own: int, other: int) -> int:
    """Return the plies until the side to move wins, or minus the plies until it loses; 0 if it is a draw.

    `own` and `other` are the stones of both sides, one bit for each cell.
    """
    values = []
    for cell in range(variant.cells):
        if not (own | other) >> cell & 1:
            placed = own | 1 << cell
            if any(line & placed == line for line in variant.lines):
                return 1
            value = 0 if placed | other == variant.full else -plies_to_win(variant, other, placed)
            one_ply_further = (value > 0) - (value < 0)
            values.append(value + one_ply_further)
    wins = [value for value in values if value > 0]
    if wins:
        return min(wins)  # the fastest win
    return 0 if 0 in values else min(values)  # the slowest loss
