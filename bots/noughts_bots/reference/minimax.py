"""`minimax`: sees everything, hurries nothing, takes the first best cell."""

from noughts_bots.reference.considering import Considered
from noughts_bots.reference.remembering import RememberingBot
from noughts_bots.reference.threats import Threats
from noughts_referee.rules import Position, Variant

_WON, _DRAWN, _LOST = 10, 0, -10
_LARGEST_BOARD = 16


class Minimax(RememberingBot):
    """Full search: +10 for a win, -10 for a loss, 0 for a draw, however far away; the first best cell.

    Since speed does not count, it may pass over an immediate win for a later one.

    Source: article 002, and article 003, second page.
    """

    name = "minimax"
    boards = f"a board of at most {_LARGEST_BOARD} cells"

    def __init__(self) -> None:
        super().__init__()
        self._searches: dict[Variant, FullSearch] = {}

    def plays(self, variant: Variant) -> bool:
        return variant.cells <= _LARGEST_BOARD

    def work_out(self, position: Position) -> Considered:
        search = self._searches.setdefault(position.variant, FullSearch(position.variant))
        scores = search.scores(position.own, position.opponent)
        return Considered((max(scores, key=scores.__getitem__),), scores=scores)


class FullSearch:
    """The values of all moves on one variant. No position is searched twice in its lifetime.

    It gives the values of the plain recursion, which makes 549,946 calls from the empty 3x3 board, without visiting
    what cannot change them: a win at hand is taken, a single threat is met, two threats are lost, and a game in
    which no line is open to either side is drawn.
    """

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._threats = Threats(variant)
        self._values: dict[tuple[int, int], int] = {}

    def scores(self, own: int, opponent: int) -> dict[int, int]:
        """Each free cell's value for the side that owns `own` and is to move."""
        free = self._variant.free_cells(own | opponent)
        # Such a board ends the game before any reply; the opponent's line is looked at first, as in the article.
        if self._variant.has_line(opponent):
            return dict.fromkeys(free, _LOST)
        if self._variant.has_line(own):
            return dict.fromkeys(free, _WON)
        return {cell: self._after(own, opponent, cell) for cell in free}

    def _after(self, mover: int, other: int, cell: int) -> int:
        """The value, for the mover, of its move to `cell`."""
        if self._threats.of(mover) >> cell & 1:
            return _WON
        self._threats.after(mover, cell)
        mover |= 1 << cell
        if mover | other == self._variant.full:
            return _DRAWN
        return -self._value(other, mover)

    def _value(self, mover: int, other: int) -> int:
        """The value for the mover, when nobody has a line and a cell is free."""
        free = self._variant.full & ~(mover | other)
        if self._threats.of(mover) & free:
            return _WON
        danger = self._threats.of(other) & free
        if danger & (danger - 1):
            return _LOST
        if danger:
            return self._after(mover, other, danger.bit_length() - 1)
        mover_lines = other_lines = 0
        for line in self._variant.lines:
            if not line & other:
                mover_lines |= line
            if not line & mover:
                other_lines |= line
        best_possible = _WON if mover_lines else _DRAWN
        if not other_lines and not mover_lines:
            return _DRAWN
        live = (mover_lines | other_lines) & free
        key = (mover & mover_lines, other & other_lines, live)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = self._search(mover, other, live, best_possible)
        return value

    def _search(self, mover: int, other: int, live: int, best_possible: int) -> int:
        best = _LOST
        for cell in self._variant.free_cells(self._variant.full & ~live):
            best = max(best, self._after(mover, other, cell))
            if best == best_possible:
                break
        return best
