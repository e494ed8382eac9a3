"""Wins by continuous fours by brute force: all fours, and all answers to each, by the rules of the variant only."""

from functools import reduce
from operator import or_

from noughts_referee.rules import Variant, members


class TooManyFoursError(Exception):
    """Brute force has tried as many fours as it may."""


class BruteForce:
    """The fewest moves of a win by continuous fours, by the rules of the variant only.

    It tries at most `most` fours.
    """

    def __init__(self, variant: Variant, most: int = 100_000) -> None:
        self.variant = variant
        self.left = most
        self.known: dict[tuple[int, int], dict[int, int]] = {}

    def legal(self, own: int, other: int, side: int) -> list[int]:
        forbids = self.variant.forbids
        free = [cell for cell in range(self.variant.cells) if not (own | other) >> cell & 1]
        return [cell for cell in free if forbids is None or forbids(own, other, cell, side) is None]

    def completing(self, own: int, other: int, side: int) -> list[int]:
        """Return the legal moves that win at once."""
        free = [cell for cell in range(self.variant.cells) if not (own | other) >> cell & 1]
        completing = [cell for cell in free if self.variant.completes(own | 1 << cell, cell, other)]
        return sorted(set(completing) & set(self.legal(own, other, side))) if completing else []

    def first_moves(self, own: int, other: int, side: int) -> dict[int, int]:
        """Return the first moves that win, with the moves that the attacker needs."""
        key = (own, other)
        if key not in self.known:
            moves = {cell: self.moves_after(own, other, side, cell) for cell in self.legal(own, other, side)}
            self.known[key] = {cell: count for cell, count in moves.items() if count}
        return self.known[key]

    def moves_after(self, own: int, other: int, side: int, attack: int) -> int:
        """Return the moves that the attacker needs if it begins with this one; 0 if it does not win.

        It could not win at once before, so its next stone wins only on a line with this one.
        """
        own |= 1 << attack
        on_lines = set(members(reduce(or_, self.variant.lines_through[attack]) & ~(own | other)))
        if not any(self.variant.completes(own | 1 << cell, cell, other) for cell in on_lines):
            return 0
        threatened = self.completing(own, other, side)
        if not threatened or self.completing(other, own, 1 - side):
            return 0
        self.left -= 1
        if self.left < 0:
            raise TooManyFoursError
        most = 0
        for answer in self.legal(other, own, 1 - side):
            answered = other | 1 << answer
            if any(cell != answer and self.variant.completes(own | 1 << cell, cell, answered) for cell in threatened):
                moves = 1
            else:
                moves = min(self.first_moves(own, answered, side).values(), default=0)
            if not moves:
                return 0
            most = max(most, moves + 1)
        return most
