"""The search of one position: urgent moves first, then wins by threats, then all moves with increasing depth."""

from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.threats.board import Board
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_bots.reference.threats.fours import Attack, Fours
from noughts_bots.reference.threats.search import CERTAIN, INFINITY, WON, Search, Table, static_value
from noughts_referee.rules import members

_ATTACK_SHARE = 0.3
"""The largest share of the effort for a win by threats. It is searched first, because it ends the search."""
_FOURS_NODES = 2000
"""Positions of the first search, which looks only for wins by fours."""
_THREATS_DEPTHS = range(1, 7)
_DEEPEST = 60
"""The largest depth in plies. With threats, the recursion stays far from the interpreter's limit."""


class PositionSearch:
    """Searches one position as long as its effort lasts. `evaluation` is the best answer so far."""

    def __init__(self, board: Board, own: int, other: int, side: int, table: Table) -> None:
        self._board = board
        self._own = board.stones(own, side)
        self._other = board.stones(other, 1 - side)
        self._free = board.legal(self._own, self._other, board.full & ~(own | other))
        self._table = table
        self._rest: list[int] = []
        """Moves that are searched only if all others lose."""
        self._possible: set[int] = set()
        """Moves of which no search has shown that they lose."""
        lowest_free = (self._free & -self._free).bit_length() - 1
        # The lowest free cell is the answer if nothing else is found.
        self.evaluation = Evaluation((lowest_free,))

    def think(self, effort: Effort) -> None:
        """Improve `evaluation` until nothing can change it or the effort is spent."""
        try:
            search = Search(self._board, effort, self._table)
            moves = self._moves(search)
            if len(moves) > 1 and not self._finds_attack(effort):
                self._deepen(search, moves, effort)
        except EffortSpent:
            if self._possible:
                self._weaken_certain_losses()

    def _moves(self, search: Search) -> list[int]:
        """Return the moves to search, the most promising first. If no search is needed, set `evaluation`.

        There is then at most one move.
        """
        board, own, other = self._board, self._own, self._other
        if winning := board.winning_cells(own, other):
            self._decide(tuple(members(winning)), WON - 1)
            return []
        if danger := board.winning_cells(other, own) & self._free:
            # If there are two such cells, only one can be blocked, but the opponent can overlook the other one.
            block = next(members(danger))
            value = -static_value(other, board.placed(own, block))
            if danger.bit_count() > 1:
                value = 2 - WON
            self._decide((block,), value)
            return []
        if not own.cells | other.cells:
            # The first stone is placed at random on one of the cells with the most lines.
            counts = {cell: board.through[cell].bit_count() for cell in members(self._free)}
            most = max(counts.values())
            self.evaluation = Evaluation(tuple(cell for cell, count in counts.items() if count == most))
            return []
        fours = Fours(board, own, other)
        if fours.double_four_cells:
            self._decide(tuple(members(fours.double_four_cells)), WON - 3)
            return []
        near, rest = (cells & self._free for cells in search.candidates(own, other))
        moves, self._rest = search.ordered(near, own, other), search.ordered(rest, own, other)
        threats = Fours(board, other, own)
        if threats.double_four_cells:
            answers = threats.answers() & self._free | fours.four_cells
            # If no answer is sufficient, all moves lose, and the most promising one is played.
            if answers:
                moves = search.ordered(answers, own, other)
                self._rest = []
        if not moves:
            moves, self._rest = self._rest, []
        if moves:
            self.evaluation = Evaluation((moves[0],))
        return moves

    def _decide(self, cells: tuple[int, ...], value: int) -> None:
        self.evaluation = Evaluation(cells, scores=dict.fromkeys(cells, value))

    def _finds_attack(self, effort: Effort) -> bool:
        """Search for a win by threats, set it as the evaluation, and return whether there is one."""
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
        except EffortSpent:
            pass
        finally:
            effort.add(part)
        return False

    def _deepen(self, search: Search, moves: list[int], effort: Effort) -> None:
        """Search with increasing depth. Each search begins with the best moves of the one before."""
        self._possible = {*moves, *self._rest}
        for depth in range(1, min(self._free.bit_count(), _DEEPEST) + 1):
            values: dict[int, int] = {}
            best = -INFINITY
            for cell in moves:
                value = search.after(self._own, self._other, cell, depth - 1, best, INFINITY, 0, first=not values)
                values[cell] = value
                if value < -CERTAIN:
                    self._possible.discard(cell)
                if value > best:
                    best = value
                    # Moves that this depth has not searched yet keep their earlier scores.
                    scores = {**self.evaluation.scores, **values}
                    self.evaluation = Evaluation((cell,), scores=scores)
                if best > CERTAIN:
                    break
            self.evaluation = Evaluation(self.evaluation.candidates, scores={**self.evaluation.scores, **values})
            if abs(best) > CERTAIN:
                if best > 0 or not self._rest:
                    return
                # All near moves lose, so try the others.
                moves = moves + self._rest
                self._rest = []
            moves.sort(key=lambda cell: -values.get(cell, -INFINITY))
            first = self.evaluation.candidates[0]
            moves.remove(first)
            moves.insert(0, first)

    def _weaken_certain_losses(self) -> None:
        """Raise the scores of certain losses, because a move that was not searched can perhaps avoid the loss."""
        scores = {cell: max(score, -CERTAIN) for cell, score in self.evaluation.scores.items()}
        self.evaluation = Evaluation(self.evaluation.candidates, scores=scores)
