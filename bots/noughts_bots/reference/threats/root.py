"""The search of one position: first urgent moves, then threats, then increasing depth."""

from noughts_bots.reference.candidate_bot import Considered
from noughts_bots.reference.threats.board import Board
from noughts_bots.reference.threats.effort import Effort, Spent
from noughts_bots.reference.threats.fours import Attack, Fours
from noughts_bots.reference.threats.search import CERTAIN, INFINITY, WON, Search, Table, evaluation
from noughts_referee.rules import members

# A win by threats is searched first, because it ends the search, with at most this share of the effort.
_ATTACK_SHARE = 0.3
_FOURS_NODES = 2000
_THREATS_DEPTHS = range(1, 7)
# Half-moves. Together with threats, the recursion stays far from the interpreter's limit.
_DEEPEST = 60


class Thought:
    """Searches one position as long as its effort lasts. `considered` is the best answer so far."""

    def __init__(self, board: Board, own: int, other: int, side: int, table: Table) -> None:
        self._board = board
        self._own = board.stones(own, side)
        self._other = board.stones(other, 1 - side)
        self._free = board.legal(self._own, self._other, board.full & ~(own | other))
        self._table = table
        self._rest: list[int] = []
        """Moves searched only if all others lose."""
        # A legal answer in any case.
        self.considered = Considered(((self._free & -self._free).bit_length() - 1,))

    def think(self, effort: Effort) -> None:
        """Improve `considered` until nothing can change it or the effort is spent."""
        try:
            search = Search(self._board, effort, self._table)
            moves = self._moves(search)
            if len(moves) > 1 and not self._attacks(effort):
                self._deepen(search, moves, effort)
        except Spent:
            pass

    def _moves(self, search: Search) -> list[int]:
        """Return the moves to search, the most promising first; at most one if the decision is made."""
        board, own, other = self._board, self._own, self._other
        if winning := board.winning_cells(own, other):
            self._decide(tuple(members(winning)), WON - 1)
            return []
        if danger := board.winning_cells(other, own) & self._free:
            # Two cannot both be stopped, but the opponent might not see it.
            block = next(members(danger))
            value = 2 - WON if danger & (danger - 1) else -evaluation(other, board.placed(own, block))
            self._decide((block,), value)
            return []
        if not own.cells | other.cells:
            # The first stone is placed at random on one of the cells with the most lines.
            counts = {cell: board.through[cell].bit_count() for cell in members(self._free)}
            most = max(counts.values())
            self.considered = Considered(tuple(cell for cell, count in counts.items() if count == most))
            return []
        fours = Fours(board, own, other)
        if fours.twice:
            self._decide(tuple(members(fours.twice)), WON - 3)
            return []
        near, rest = (cells & self._free for cells in search.candidates(own, other))
        moves, self._rest = search.ordered(near, own, other), search.ordered(rest, own, other)
        threats = Fours(board, other, own)
        if threats.twice:
            answers = threats.answers() & self._free | fours.makers
            # If no answer is sufficient, all are equally bad, and the likeliest is played.
            if answers:
                moves = search.ordered(answers, own, other)
                self._rest = []
        if not moves:
            moves, self._rest = self._rest, []
        if moves:
            self.considered = Considered((moves[0],))
        return moves

    def _decide(self, cells: tuple[int, ...], value: int) -> None:
        self.considered = Considered(cells, scores=dict.fromkeys(cells, value))

    def _attacks(self, effort: Effort) -> bool:
        """Return whether a win by threats was found, which is then the answer."""
        part = effort.part(_ATTACK_SHARE)
        attack = Attack(self._board, part)
        try:
            if stones := attack.by_fours(self._own, self._other, _FOURS_NODES):
                self._decide(stones[:1], WON - 2 * len(stones) - 1)
                return True
            for depth in _THREATS_DEPTHS:
                cell, plies = attack.by_threats(self._own, self._other, depth)
                if plies:
                    self._decide((cell,), WON - plies)
                    return True
        except Spent:
            pass
        finally:
            effort.add(part)
        return False

    def _deepen(self, search: Search, moves: list[int], effort: Effort) -> None:
        """Search with increasing depth, each time with the best moves of the last time first."""
        for depth in range(1, min(self._free.bit_count(), _DEEPEST) + 1):
            values: dict[int, int] = {}
            best = -INFINITY
            for cell in moves:
                value = search.after(self._own, self._other, cell, depth - 1, best, INFINITY, 0, first=not values)
                values[cell] = value
                if value > best:
                    best = value
                    # Moves that are no longer searched so deep keep their earlier scores.
                    scores = {**self.considered.scores, **values}
                    self.considered = Considered((cell,), scores=scores)
                if best > CERTAIN:
                    break
            self.considered = Considered(self.considered.candidates, scores={**self.considered.scores, **values})
            if abs(best) > CERTAIN:
                if best > 0 or not self._rest:
                    return
                # All near moves lose, so try the others.
                moves = moves + self._rest
                self._rest = []
            moves.sort(key=lambda cell: -values.get(cell, -INFINITY))
            first = self.considered.candidates[0]
            moves.remove(first)
            moves.insert(0, first)
