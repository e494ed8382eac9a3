"""All wins by continuous fours, for puzzles: each move of the attacker threatens to complete a line with the next one.

In contrast to `Attack.by_fours`, the search tries every four, and every answer that the rules allow: it finds the win
in the fewest moves, or shows that there is none. It assumes nothing about the rules that `Board` does not cover: an
answer is each move after which no move completes a line of the attacker. So it also holds if ends of lines can be
blocked (caro) and if moves are forbidden (renju).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from noughts_bots.reference.threats.board import Stones, missing_one
from noughts_bots.reference.threats.bot import board_of
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.threats.fours import Fours
from noughts_referee.rules import Position, Variant, base_name, members, parse_variant

_WON_AT_ONCE = 2
"""The attacker's moves if its four cannot be answered: the four, and the stone that completes the line."""
_board_of = lru_cache(8)(board_of)


class FourWin(NamedTuple):
    """A win by continuous fours."""

    first_moves: dict[int, int]
    """Each first move with which a side wins by continuous fours, and the fewest moves that it then needs."""
    line: tuple[int, ...]
    """The moves of both sides until the win, if the attacker wins soonest and the defender holds out longest."""


class ContinuousFours:
    """Finds the wins by continuous fours in positions of one variant. The moves are those of `threats`."""

    def __init__(self, variant: Variant) -> None:
        # The rule of an opening (`+...` in the name) does not matter later.
        rules = parse_variant(base_name(variant.name))
        self._board = _board_of(rules)
        self._blocked_ends = rules.blocked_ends
        self._effort = Effort(None)
        self._known: dict[tuple[int, int], int] = {}
        """The attacker's fewest moves to the win by the stones of both sides; 0: there is no win."""

    def wins(self, position: Position, effort: Effort) -> FourWin | None:
        """Return the wins of the side to move; None if there is none, or if it can complete a line at once.

        Raises EffortSpent: a unit is spent for each move of the attacker.
        """
        board = self._board
        own, other = self._begin(position, effort)
        if board.winning_cells(own, other):
            return None
        first_moves = {
            attack: moves
            for attack in members(Fours(board, own, other).four_cells)
            if (moves := self._moves_after(own, other, attack))
        }
        return FourWin(first_moves, tuple(self._line(own, other))) if first_moves else None

    def has_win(self, position: Position, effort: Effort) -> bool:
        """Return whether the side to move completes a line at once, or wins by continuous fours. Raises EffortSpent."""
        own, other = self._begin(position, effort)
        return bool(self._board.winning_cells(own, other)) or any(
            self._moves_after(own, other, attack) for attack in members(Fours(self._board, own, other).four_cells)
        )

    def _begin(self, position: Position, effort: Effort) -> tuple[Stones, Stones]:
        """Return the stones of the side to move and of the other side, for a new search."""
        self._effort = effort
        self._known.clear()
        side = position.side
        return self._board.stones(position.own, side), self._board.stones(position.opponent, 1 - side)

    def _fewest_moves(self, own: Stones, other: Stones) -> int:
        """Return the attacker's fewest moves to the win; 0 if it has none. It cannot complete a line at once."""
        key = (own.cells, other.cells)
        fewest = self._known.get(key)
        if fewest is None:
            fewest = 0
            for attack in members(Fours(self._board, own, other).four_cells):
                moves = self._moves_after(own, other, attack)
                if moves and (not fewest or moves < fewest):
                    fewest = moves
                    if fewest == _WON_AT_ONCE:
                        break
            self._known[key] = fewest
        return fewest

    def _moves_after(self, own: Stones, other: Stones, attack: int) -> int:
        """Return the attacker's fewest moves to the win, with this four as the first; 0 if it does not win."""
        self._effort.spend()
        own_then = self._board.placed(own, attack)
        if self._board.winning_cells(other, own_then):
            return 0
        answers = list(self._answers(own_then, other))
        if not answers:
            return _WON_AT_ONCE if self._can_move(other, own_then) else 0
        most = 0
        for answer in answers:
            moves = self._fewest_moves(own_then, self._board.placed(other, answer))
            if not moves:
                return 0
            most = max(most, moves + 1)
        return most

    def _answers(self, own: Stones, other: Stones) -> Iterator[int]:
        """Yield each legal move of the defender after which the attacker, `own`, cannot complete a line at once."""
        board = self._board
        lines = missing_one(own, other)
        cells = board.gaps(lines, own)
        if self._blocked_ends:
            occupied = own.cells | other.cells
            for number in members(lines):
                cells |= self._blocked_ends.get(board.lines[number], 0) & ~occupied
        for cell in members(board.legal(other, own, cells)):
            if not board.winning_cells(own, board.placed(other, cell)):
                yield cell

    def _can_move(self, own: Stones, other: Stones) -> bool:
        """Return whether a side has a legal move; else the game is drawn."""
        free = self._board.full & ~(own.cells | other.cells)
        return any(self._board.legal(own, other, 1 << cell) for cell in members(free))

    def _line(self, own: Stones, other: Stones) -> Iterator[int]:
        """Yield the moves of both sides until the win, which must exist."""
        board = self._board
        moves, attack = min(
            (moves, attack)
            for attack in members(Fours(board, own, other).four_cells)
            if (moves := self._moves_after(own, other, attack))
        )
        yield attack
        own = board.placed(own, attack)
        if moves > _WON_AT_ONCE:
            _, answer = min(
                (-self._fewest_moves(own, board.placed(other, answer)), answer) for answer in self._answers(own, other)
            )
            yield answer
            yield from self._line(own, board.placed(other, answer))
            return
        # No answer helps. The defender takes a cell that the attacker needs, if it can.
        free = board.full & ~(own.cells | other.cells)
        needed = board.winning_cells(own, other)
        answer = next(members(board.legal(other, own, needed) or board.legal(other, own, free)))
        yield answer
        yield next(members(board.winning_cells(own, board.placed(other, answer))))
