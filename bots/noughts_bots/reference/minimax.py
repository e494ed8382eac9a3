"""`minimax`: searches to the end of the game, or to a depth, and takes the first best cell."""

from functools import cache

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.depth_search import DepthSearch, Scale
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.winning_cells import WinningCells
from noughts_referee.rules import Position, Variant, members

_WON = 10
_DRAWN = 0
_LOST = -10
_LARGEST_BOARD = 16
"""Cells of the largest board that it searches to the end."""
_LARGEST_FASTER = 10
"""The largest board with `faster`: a win with the last of ten stones scores 10 - 9, more than a draw."""
_MOST_CACHED = 1 << 20
"""Limit of the answers that are cached between two moves. 3x3 needs about 1,500, the empty 4x4 board 55,000."""


class Minimax(CachingBot):
    """Full search: +10 for a win, -10 for a loss, 0 for a draw, at any distance; the first best cell.

    By default the distance does not count, so it can prefer a later win to an immediate one.

    Source: article 002, and article 003, second page; with `faster`, article 001.

    Args:
        faster: a win k plies after the move is worth 10-k, a loss -10+k.
        depth: plies to look ahead, including the move, 1..9; later results are worth 0. None searches to the end
            of the game, on small boards only.
    """

    name = "minimax"
    boards = f"at most {_LARGEST_BOARD} cells ({_LARGEST_FASTER} if faster); all but renju and caro with depth=N"
    advice = "choose such a variant, or a depth, as in `minimax:depth=4`"

    def __init__(self, *, faster: bool = False, depth: int | None = None) -> None:
        super().__init__()
        self.faster = faster
        self.depth = depth
        if depth is None:
            self.variants = (f"cells<={_LARGEST_FASTER if faster else _LARGEST_BOARD}",)
        self._search = cache(self._new_search)

    def plays(self, variant: Variant) -> bool:
        return self.depth is not None or variant.cells <= (_LARGEST_FASTER if self.faster else _LARGEST_BOARD)

    def work_out(self, position: Position) -> Evaluation:
        scores = self._scores(position.variant, position.own, position.opponent)
        return Evaluation((max(scores, key=scores.__getitem__),), scores=scores)

    def _scores(self, variant: Variant, own: int, opponent: int) -> dict[int, int]:
        if variant.has_line(own) or variant.has_line(opponent):
            # A line on the given board ends the game before any reply.
            score_finished = _first_line if self.faster else _opponent_first
            free = variant.free_cells(own | opponent)
            return {cell: score_finished(variant, own | 1 << cell, opponent) for cell in free}
        return self._search(variant).scores(own, opponent)

    def _new_search(self, variant: Variant) -> "FullSearch | DepthSearch":
        if self.faster or self.depth is not None:
            scale = Scale(_LOST, _DRAWN, _DRAWN, _WON, step=1 if self.faster else 0)
            return DepthSearch(variant, self.depth or variant.cells, scale)
        return FullSearch(variant)


def _opponent_first(variant: Variant, own: int, opponent: int) -> int:
    """Return the value of a board with a line. If both sides have one, the opponent's counts, as in 002 and 003."""
    return _LOST if variant.has_line(opponent) else _WON


def _first_line(variant: Variant, own: int, opponent: int) -> int:
    """Return the value of a board with a line. The first line counts, in the order of rows, columns and diagonals.

    This is as in article 001.
    """
    won = next(line for line in variant.lines if variant.holds(own, line) or variant.holds(opponent, line))
    return _WON if won & own else _LOST


class FullSearch:
    """Computes the values of all moves in one variant. They equal those of the plain recursion.

    From the empty 3x3 board the plain recursion makes 549,946 calls. This search only tests whether the mover can get
    at least a score, so one good reply is enough. It skips positions that cannot change the answer, and remembers each
    test.

    The score of a win is 1 more than the number of cells that are free after the last move. A loss has the negative of
    the winner's score, a draw 0. If an effort is given and spent, the search raises EffortSpent.
    """

    def __init__(self, variant: Variant, effort: Effort | None = None) -> None:
        self._variant = variant
        self.effort = effort or Effort(None)
        self._threats = WinningCells(variant)
        self._stones_never_hurt = not variant.gravity and not variant.beside
        """Whether an additional stone never hurts its owner."""
        self._answers: dict[tuple[int, int, int, int], bool] = {}

    def forget(self) -> None:
        """Forget all positions."""
        self._answers.clear()
        self._threats.forget()

    def scores(self, own: int, opponent: int) -> dict[int, int]:
        """Return each free cell's value for the side to move, which has the stones `own`, if there is no line yet."""
        if len(self._answers) > _MOST_CACHED:
            self.forget()
        return {cell: self._score(own, opponent, cell) for cell in self._variant.free_cells(own | opponent)}

    def _score(self, own: int, opponent: int, cell: int) -> int:
        if self._move_reaches(1, own, opponent, cell):
            return _WON
        return _DRAWN if self._move_reaches(0, own, opponent, cell) else _LOST

    def _move_reaches(self, score: int, mover: int, other: int, cell: int) -> bool:
        """Return whether the mover's stone on `cell` gets at least the score."""
        if self._threats.of(mover) >> cell & 1:
            return True
        self._threats.after(mover, cell)
        mover |= 1 << cell
        if mover | other == self._variant.full:
            return score <= 0
        return not self.reaches(1 - score, other, mover)

    def reaches(self, score: int, mover: int, other: int) -> bool:
        """Return whether the mover can get at least the score, if there is no line yet and a cell is free.

        If the mover can complete a line at once, it wins. Two threats of the opponent are a loss. The mover must block
        a single threat.
        """
        occupied = mover | other
        free = self._variant.cells - occupied.bit_count()
        if score > free:
            return False
        if score <= 1 - free or self._variant.playable(self._threats.of(mover) & ~occupied, occupied):
            return True
        danger = self._variant.playable(self._threats.of(other) & ~occupied, occupied)
        if danger.bit_count() > 1:
            return False
        if danger:
            return self._move_reaches(score, mover, other, danger.bit_length() - 1)
        return self._quiet_reaches(score, mover, other, free)

    def _quiet_reaches(self, score: int, mover: int, other: int, free: int) -> bool:
        """Return the same as `reaches` if no side can complete a line at once.

        A line can be won only if one side has no stone on it (an open line). If an additional stone never hurts its
        owner, only cells on open lines are tried, and positions that differ only in other stones and cells share a
        test. An additional stone can hurt if it spoils a line or supports the cell above it. Then every position has
        its own test.
        """
        open_to_mover = open_to_other = 0
        # A positive score tests whether the mover wins within `plies` plies. Any other score tests whether the
        # other side does. `stones` is the number of stones that the tested side places in that time.
        is_mover_tested = score > 0
        plies = free + 1 - score if is_mover_tested else free + score
        stones = (plies + 1) // 2 if is_mover_tested else plies // 2
        is_win_near = False
        winner, loser = (mover, other) if score > 0 else (other, mover)
        for line in self._variant.lines:
            if not line & other:
                open_to_mover |= line
            if not line & mover:
                open_to_other |= line
            if not is_win_near and not line & loser and (line & ~winner).bit_count() <= stones:
                is_win_near = True
        if not is_win_near:
            return score <= 0
        cells = self._variant.full & ~(mover | other)
        counted_mover, counted_other = mover, other
        if self._stones_never_hurt:
            cells &= open_to_mover | open_to_other
            plies = min(plies, cells.bit_count())
            counted_mover, counted_other = mover & open_to_mover, other & open_to_other
        # The sign of `plies` shows whose win is tested.
        key = (plies if is_mover_tested else -plies, counted_mover, counted_other, cells)
        answer = self._answers.get(key)
        if answer is None:
            self.effort.spend()
            answer = self._answers[key] = self._search(score, mover, other, cells)
        return answer

    def _search(self, score: int, mover: int, other: int, cells: int) -> bool:
        for cell in members(self._variant.playable(cells, mover | other)):
            if self._move_reaches(score, mover, other, cell):
                return True
        return False
