"""Threats, and the search for wins by threats: by continuous fours, and by fours and threes.

The names are those of five in a row. With k in a row, a "four" is a line that misses one stone, and a "three" is a
stone after which two such lines at once are threatened. A threat has few answers, all known exactly, so such attacks
can be searched much deeper than other moves.

Source: L. V. Allis, H. J. van den Herik, M. P. H. Huntjens, "Go-Moku and Threat-Space Search", 1993. In contrast to it,
the answers to a threat are tried one by one instead of all at once, so every win found is real.
"""

from noughts_bots.reference.threats.board import Board, Stones, missing_three, missing_two
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import members

_FOURS_NODES = 50
"""Positions of each search by fours within a search by threats."""


class Fours:
    """The fours that one side can make with its lines that miss two stones."""

    __slots__ = ("double_four_cells", "four_cells", "pairs")

    def __init__(self, board: Board, own: Stones, other: Stones) -> None:
        self.pairs: dict[int, None] = {}
        """The distinct pairs of cells that these lines miss, as sets."""
        four_cells = double_four_cells = 0
        lines = missing_two(own, other)
        if lines:
            pairs, stones, all_lines, bits = self.pairs, own.cells, board.lines, board.bits
            while lines:
                number = lines.bit_length() - 1
                lines ^= bits[number]
                pair = all_lines[number] & ~stones
                if pair not in pairs:
                    pairs[pair] = None
                    double_four_cells |= four_cells & pair
                    four_cells |= pair
            if board.forbids is not None:
                four_cells = board.legal(own, other, four_cells)
                double_four_cells &= four_cells
        self.four_cells = four_cells
        """The cells where a stone makes a four and is legal, as a set."""
        self.double_four_cells = double_four_cells
        """The cells where a stone makes two fours, or one open four: two cells then complete a line."""

    def answers(self) -> int:
        """Return the cells where the other side's stone leaves no cell that makes two fours, as a set.

        The other side can answer elsewhere only if it first gains time with a four of its own.
        """
        answers = -1  # all bits: every cell
        for cell in members(self.double_four_cells):
            bit = 1 << cell
            partners = 0
            for pair in self.pairs:
                if pair & bit:
                    partners |= pair
            # `partners` has this cell and the other cell of each four. With two fours, a stone on any of these three
            # cells stops one of them in advance. With more fours, at least two remain unless it is on the cell itself.
            answers &= partners if partners.bit_count() == 3 else bit
        return answers


class Attack:
    """Searches for wins in which every move of the attacker is a threat. A win that it finds is certain."""

    def __init__(self, board: Board, effort: Effort) -> None:
        self._board = board
        self._effort = effort
        self._nodes_left = 0
        self._without_win_by_fours: set[tuple[int, int]] = set()
        """Positions (own stones, other stones) in which this search by fours has found no win."""
        self._without_win_to_depth: dict[tuple[int, int], int] = {}
        """Positions in which no win by threats was found, with the depth of the search."""

    def by_fours(self, own: Stones, other: Stones, nodes: int) -> tuple[int, ...]:
        """Return the attacker's stones up to the one that makes two fours; empty without a win in `nodes` positions.

        `own` is to move and cannot win at once. The win takes two plies for each stone, and one more.
        """
        self._nodes_left = nodes
        self._without_win_by_fours.clear()
        return self._by_fours(own, other)

    def _by_fours(self, own: Stones, other: Stones) -> tuple[int, ...]:
        self._effort.spend()
        self._nodes_left -= 1
        board = self._board
        fours = Fours(board, own, other)
        if not fours.four_cells:
            return ()
        danger = board.winning_cells(other, own)
        if danger.bit_count() > 1:
            return ()
        # If the other side has a four, only a stone that stops it is in time.
        double_four_cells = fours.double_four_cells & danger if danger else fours.double_four_cells
        if double_four_cells:
            return (double_four_cells.bit_length() - 1,)
        for attack, reply in _exchanges(fours, danger):
            if self._nodes_left < 0:
                break
            own_then = board.placed(own, attack)
            other_then = board.placed(other, reply)
            key = (own_then.cells, other_then.cells)
            if key not in self._without_win_by_fours:
                rest = self._by_fours(own_then, other_then)
                if rest:
                    return (attack, *rest)
                self._without_win_by_fours.add(key)
        return ()

    def by_threats(self, own: Stones, other: Stones, depth: int) -> tuple[int, int]:
        """Return a stone that wins by fours and threes, and an upper limit of the plies to the win.

        Return (0, 0) if no win is found. At most `depth` fours and threes come before continuous fours.
        """
        self._effort.spend()
        board = self._board
        fours = Fours(board, own, other)
        danger = board.winning_cells(other, own)
        if danger.bit_count() > 1:
            return 0, 0
        double_four_cells = fours.double_four_cells & danger if danger else fours.double_four_cells
        if double_four_cells:
            return double_four_cells.bit_length() - 1, 3
        key = (own.cells, other.cells)
        if self._without_win_to_depth.get(key, -1) >= depth:
            return 0, 0
        if fours.four_cells and (stones := self.by_fours(own, other, _FOURS_NODES)):
            return stones[0], 2 * len(stones) + 1
        if depth:
            for attack, reply in _exchanges(fours, danger):
                _, plies = self.by_threats(board.placed(own, attack), board.placed(other, reply), depth - 1)
                if plies:
                    return attack, plies + 2
            if not danger:
                attack, plies = self._by_threes(own, other, fours, depth)
                if plies:
                    return attack, plies
        self._without_win_to_depth[key] = depth
        return 0, 0

    def _by_threes(self, own: Stones, other: Stones, fours: Fours, depth: int) -> tuple[int, int]:
        """Return the same as `by_threats`, with a three as the first move."""
        board = self._board
        cells = board.gaps(missing_three(own, other), own)
        for attack in members(board.legal(own, other, cells & ~fours.four_cells)):
            self._effort.spend()
            own_then = board.placed(own, attack)
            threat = Fours(board, own_then, other)
            if not threat.double_four_cells:
                continue
            longest = 3
            answers = board.legal(other, own_then, threat.answers())
            for reply in members(answers | Fours(board, other, own_then).four_cells):
                _, plies = self.by_threats(own_then, board.placed(other, reply), depth - 1)
                if not plies:
                    break
                longest = max(longest, plies)
            else:
                return attack, longest + 2
        return 0, 0


def _exchanges(fours: Fours, danger: int) -> list[tuple[int, int]]:
    """Return each stone that makes a four, with the forced answer.

    If the other side has a four, `danger` is the cell that completes it, and the stone must be on it.
    """
    exchanges = []
    four_cells = fours.four_cells & danger if danger else fours.four_cells
    for pair in fours.pairs:
        low, high = (pair & -pair).bit_length() - 1, pair.bit_length() - 1  # the two cells; faster than `members`
        if four_cells >> low & 1:
            exchanges.append((low, high))
        if four_cells >> high & 1:
            exchanges.append((high, low))
    return exchanges
