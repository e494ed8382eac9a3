"""`threats`: alpha-beta with a search of threats, in m,n,k games, five in a row, and line games in three dimensions."""

import time
from collections.abc import Callable
from functools import cache

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.threats.board import Board, RuledBoard
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.threats.root import PositionSearch
from noughts_bots.reference.threats.search import Table
from noughts_bots.sdk.bot import GameEnd, GameInfo, TimeLimits
from noughts_referee.rules import Choice, OpeningChoice, Position, Take, Variant, base_name, parse_variant

NODES = 4000
"""Default number of positions searched for a move in games without a clock."""

# The part of the time for a move that is reserved for the network and a busy machine.
_RESERVE_SHARE = 0.15
_RESERVE_SECONDS = 0.010
_MOVES_TO_GO = 25
"""The bot always plans its base time for this number of further moves."""

_OPENING_PLIES = 3
"""The plies in which the opening rule of a variant can matter."""
_ONLY_LINES = ("mnk", "tictactoe3d", "qubic")
"""Variants without rules other than lines."""
_FIVE_IN_A_ROW = tuple(name + size for name in ("gomoku:exact", "renju", "caro", "caro:exact") for size in ("", ":20"))


class ThreatsBot(CachingBot):
    """Searches for a win by continuous fours, then by fours and threes, then searches all moves with increasing depth.

    Scores: a win in n plies scores 1,000,000 - n (n is an upper limit, because there can be a shorter win), and a
    loss the negative of that. Any other score is a sum over the lines that each side can still complete, weighted by
    the stones that they miss. Only the best move's score is exact; the others are upper bounds.

    Without a clock it searches a fixed number of positions, so that games can be repeated. With a clock it stops in
    time, and the result depends on the machine. The first stone goes to a random cell with the most lines; later it
    takes the first best cell.

    Args:
        nodes: positions to search for a move. Default: 4,000 in games without a clock, else what the clock allows.
        clock: returns seconds from any origin.
    """

    name = "threats"
    boards = "every m,n,k game, all of five in a row, tictactoe3d and qubic; not connect4"
    variants = _ONLY_LINES + _FIVE_IN_A_ROW
    heeds_forbidden_moves = True

    def __init__(self, *, nodes: int | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self._nodes = nodes
        self._clock = clock
        # The limits of the latest game. Timed games at the same time belong to one tournament and have equal limits.
        self._limits = TimeLimits()
        self._running: set[str] = set()
        self._board = cache(board_of)
        self._table: Table = {}
        """The table of positions, kept between moves. Games without a clock do not use it: they must be repeatable."""
        self._table_variant: Variant | None = None

    def start(self, game: GameInfo) -> None:
        if game.time.move or game.time.bank:
            self._limits = game.time
            self._running.add(game.name)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self._running.discard(game.name)

    def consider(self, position: Position) -> Evaluation:
        if not position.own_clock_us:
            return super().consider(position)
        # The result depends on the time, so it is not cached.
        began = self._clock()
        self.require(position.variant)
        deadline = began + self._seconds(position.own_clock_us / 1e6)
        if self._table_variant is not position.variant:
            # The keys of the table are only stones, without the variant.
            self._table.clear()
            self._table_variant = position.variant
        return self._think(position, self._table, Effort(self._nodes, deadline=deadline, clock=self._clock))

    def open(self, opening: OpeningChoice) -> Choice:
        if not opening.may_take:
            return opening.usual()
        # The game has not begun, so this uses no more of a base time than a move does.
        seconds = opening.clock_us / 1e6 / _MOVES_TO_GO
        clock = self._clock if seconds else None
        effort = Effort(self._nodes or NODES, deadline=self._clock() + seconds, clock=clock)
        evaluation = self._think(opening.position, {}, effort)
        return Take(1 if evaluation.scores.get(evaluation.candidates[0], 0) >= 0 else 0)

    def work_out(self, position: Position) -> Evaluation:
        return self._think(position, {}, Effort(self._nodes or NODES))

    def _think(self, position: Position, table: Table, effort: Effort) -> Evaluation:
        # An opening rule does not affect later stones, and testing it costs time.
        variant = position.variant if position.ply < _OPENING_PLIES else parse_variant(base_name(position.variant.name))
        search = PositionSearch(self._board(variant), position.own, position.opponent, position.side, table)
        search.think(effort)
        return search.evaluation

    def _seconds(self, remaining: float) -> float:
        """Return the time for a move, given the remaining time. Both are seconds."""
        if self._limits.bank:
            seconds = min(remaining / 2, remaining / _MOVES_TO_GO + self._limits.increment * 0.8)
        else:
            seconds = remaining
        if self._limits.move:
            seconds = min(seconds, self._limits.move)
        # The clocks of concurrent games run at the same time. A game that ended while the connection was lost stays in
        # `_running`, so their number is limited to `max_games`.
        seconds /= max(1, min(len(self._running), self.max_games or 1))
        return max(0.0, seconds * (1 - _RESERVE_SHARE) - _RESERVE_SECONDS)


def board_of(variant: Variant) -> Board:
    """Return the board for a variant that `threats` plays."""
    return RuledBoard(variant) if base_name(variant.name) in _FIVE_IN_A_ROW else Board(variant)
