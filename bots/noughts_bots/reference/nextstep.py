"""`nextstep`: looks ahead to a depth on the scale 8..32, in any variant."""

from collections.abc import Iterable

from noughts_bots.reference.considering import Considered
from noughts_bots.reference.remembering import RememberingBot
from noughts_bots.reference.threats import Threats
from noughts_referee.rules import Position, Variant

# The article's scale is `Fin` times 8: 1 the opponent's line, 3 a draw, 4 an own line, and, on boards that play cannot
# reach, 5 when both have one. What lies beyond the depth is worth 16, less than a draw.
_OPPONENT_LINE, _OWN_LINE = 1, 4
_SCALE = 8
_LOST, _UNKNOWN, _DRAWN, _WON = 8, 16, 24, 32

DEPTHS = range(1, 10)

# Depth by number of cells, for boards of at most so many: a move takes about a second at most in plain Python.
_DEFAULT_DEPTHS = ((9, 9), (12, 8), (16, 7), (64, 5), (400, 4), (900, 3))

# Values kept between two moves; every 3x3 board with either side to move needs fewer.
_REMEMBERED = 1 << 18


def default_depth(variant: Variant) -> int:
    """The depth in half-moves at which `nextstep` plays a variant unless told otherwise."""
    return next(depth for cells, depth in _DEFAULT_DEPTHS if variant.cells <= cells)


class NextStep(RememberingBot):
    """Depth search; lots among the best cells.

    A win k half-moves later is worth 32-k, a loss 8+k, a sure draw 24, and what the depth does not show 16: it prefers
    a sure draw to the unknown, and believes that its opponent does the reverse.

    Source: article 000, `NextStep` with the second half of `SelectCell`.

    Args:
        depth: half-moves to look ahead, 1..9; None takes `default_depth`, which is 9 on 3x3.
    """

    name = "nextstep"

    def __init__(self, depth: int | None = None) -> None:
        super().__init__()
        self.depth = depth
        self._searches: dict[Variant, DepthSearch] = {}

    def work_out(self, position: Position) -> Considered:
        variant = position.variant
        search = self._searches.get(variant)
        if search is None:
            search = self._searches[variant] = DepthSearch(variant, self.depth or default_depth(variant))
        scores = search.scores(position.own, position.opponent)
        best = max(scores.values())
        return Considered(tuple(cell for cell in scores if scores[cell] == best), scores=scores)


class DepthSearch:
    """The scores of all moves on one variant at one depth, exactly those of the article's plain recursion.

    It leaves out what cannot change a score (see `_value`), and searches no position twice until it must forget.
    """

    def __init__(self, variant: Variant, depth: int) -> None:
        self._variant = variant
        self._depth = depth
        self._threats = Threats(variant)
        # The most open lines through one free cell, in the position being searched: so many a stone can close.
        self._most_open_through = 0
        self._values: dict[tuple[int, int, int, bool], int] = {}

    def scores(self, own: int, opponent: int) -> dict[int, int]:
        """Each free cell's score for the side that has the stones `own` and is to move (`Rayting`)."""
        variant = self._variant
        free = variant.free_cells(own | opponent)
        if variant.has_line(own) or variant.has_line(opponent):
            return {cell: self._score_finished(own | 1 << cell, opponent) for cell in free}
        if len(self._values) + len(self._threats) > _REMEMBERED:
            self._values.clear()
            self._threats.forget()
        # Depth beyond the end of the game shows nothing more; cutting it lets plies share what they remember.
        remaining = min(self._depth, len(free)) - 1
        lines = _still_open(variant.lines, own, opponent)
        still_open = set(lines)
        self._most_open_through = max(len(still_open.intersection(variant.lines_through[cell])) for cell in free)
        return {cell: self._after(own, opponent, cell, remaining, True, lines) for cell in free}

    def _score_finished(self, own: int, opponent: int) -> int:
        """`Fin shl 3` on a board where somebody had a line before the move; 40 when both have one now."""
        result = _OPPONENT_LINE if self._variant.has_line(opponent) else 0
        if self._variant.has_line(own):
            result |= _OWN_LINE
        return result * _SCALE

    def _after(self, mover: int, other: int, cell: int, remaining: int, ours: bool, lines: tuple[int, ...]) -> int:
        """The score once the mover has placed a stone on `cell` (`NextStep`).

        Args:
            remaining: half-moves still to be searched after this one.
            ours: whether the mover is the side for which scores are made.
            lines: at least all lines that are open to either side, to find out when none is left (`Fin`'s draw). It
                may hold others while so many are open that the search cannot reach the end of them.
        """
        if self._threats.of(mover) >> cell & 1:
            return _WON if ours else _LOST
        self._threats.after(mover, cell)
        mover |= 1 << cell
        if not self._beyond_draw(remaining + 1, lines):
            lines = _still_open(lines, mover, other)
            if not lines:
                return _DRAWN
        if not remaining:
            return _UNKNOWN
        return self._value(other, mover, remaining, not ours, lines)

    def _beyond_draw(self, moves: int, lines: tuple[int, ...]) -> bool:
        """Whether so many lines are open that this many stones cannot close them all."""
        return len(lines) > moves * self._most_open_through

    def _value(self, mover: int, other: int, remaining: int, ours: bool, lines: tuple[int, ...]) -> int:
        """The score of the mover's best reply, when nobody has a line and some line is open.

        A win at hand is taken; two threats of the opponent are lost; a single one must be met, since whatever comes of
        that is no worse than a loss in two. Without threats nothing can happen in two half-moves but a draw.
        """
        free = self._variant.full & ~(mover | other)
        if self._threats.of(mover) & free:
            return _nearer(_WON if ours else _LOST)
        danger = self._threats.of(other) & free
        if danger and remaining > 1:
            if danger & (danger - 1):
                return _nearer(_nearer(_LOST if ours else _WON))
            return _nearer(self._after(mover, other, danger.bit_length() - 1, remaining - 1, ours, lines))
        if remaining <= 2 and self._beyond_draw(remaining, lines):
            return _UNKNOWN
        key = (mover, other, remaining, ours)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = self._search(mover, other, remaining, ours, lines)
        return value

    def _search(self, mover: int, other: int, remaining: int, ours: bool, lines: tuple[int, ...]) -> int:
        # No win is at hand, so that nothing is better than a win at the move after next.
        best_possible = _nearer(_nearer(_nearer(_WON if ours else _LOST)))
        better = max if ours else min
        best = _LOST if ours else _WON
        free = self._variant.free_cells(mover | other)
        for cell in free if self._beyond_draw(remaining, lines) else _unlike(free, lines):
            best = better(best, _nearer(self._after(mover, other, cell, remaining - 1, ours, lines)))
            if best == best_possible:
                break
        return best


def _still_open(lines: tuple[int, ...], stones: int, others: int) -> tuple[int, ...]:
    """The lines without stones of both sides."""
    return tuple(line for line in lines if not line & stones or not line & others)


def _unlike(cells: tuple[int, ...], lines: tuple[int, ...]) -> Iterable[int]:
    """One cell of each group that lies on the same open lines: the others of the group would score the same."""
    return {tuple(line for line in lines if line >> cell & 1): cell for cell in cells}.values()


def _nearer(score: int) -> int:
    """A score seen half a move earlier: wins and losses weigh less the farther they are."""
    if score < _UNKNOWN:
        return score + 1
    if score > _DRAWN:
        return score - 1
    return score
