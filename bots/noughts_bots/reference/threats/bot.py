"""`threats`: alpha-beta with threats, on boards where only lines count or five in a row wins. It obeys its clock."""

import time
from collections.abc import Callable
from functools import cache

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered
from noughts_bots.reference.threats.board import Board, RuledBoard
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.threats.root import Thought
from noughts_bots.reference.threats.search import Table
from noughts_bots.sdk.bot import GameEnd, GameInfo, TimeLimits
from noughts_referee.rules import Choice, OpeningChoice, Position, Take, Variant, base_name, parse_variant

NODES = 4000
"""Default number of positions searched for a move in games without a clock."""

# Part of the time for a move, reserved for the network and a busy machine.
_RESERVE_SHARE, _RESERVE_SECONDS = 0.15, 0.010
# A base time must last for the rest of the game: this many more moves at any point.
_MOVES_TO_GO = 25

_OPENING_PLIES = 3
_LINES_ALONE = ("mnk", "tictactoe3d", "qubic")
_FIVE_IN_A_ROW = tuple(name + size for name in ("gomoku:exact", "renju", "caro", "caro:exact") for size in ("", ":20"))


class ThreatsBot(CachingBot):
    """Searches for a win by continuous fours, then by fours and threes, then searches all moves with increasing depth.

    Scores: a win in n half-moves is worth 1,000,000 - n (n is an upper limit, because an attack can have a shorter
    way), and a loss the negative of that. Otherwise the score weighs the lines that each side can still complete by the
    stones they miss. Only the best move's score is exact; the others are upper bounds.

    Without a clock it searches a fixed number of positions, so that games can be repeated. With a clock it stops in
    time, and the result depends on the machine. The first stone goes to a random cell with the most lines; later it
    takes the first best cell.

    Args:
        nodes: positions to search for a move. Default: 4,000 in games without a clock, else what the clock allows.
        clock: returns seconds from any origin.
    """

    name = "threats"
    boards = "every m,n,k game, all of five in a row, tictactoe3d and qubic; not connect4"
    variants = _LINES_ALONE + _FIVE_IN_A_ROW
    heeds_forbidden_moves = True

    def __init__(self, *, nodes: int | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self._nodes = nodes
        self._clock = clock
        # Limits of the latest game. All timed games of a session belong to one tournament, so their limits are equal.
        self._limits = TimeLimits()
        self._running: set[str] = set()
        self._board = cache(_board)
        # Kept between moves only in games with a clock. Without one nothing can depend on earlier play.
        self._table: Table = {}
        self._table_of: Variant | None = None

    def start(self, game: GameInfo) -> None:
        if game.time.move or game.time.bank:
            self._limits = game.time
            self._running.add(game.name)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self._running.discard(game.name)

    def consider(self, position: Position) -> Considered:
        if not position.own_clock_us:
            return super().consider(position)
        # An answer found under time pressure must not be reused when there is time.
        began = self._clock()
        self.require(position.variant)
        deadline = began + self._seconds(position.own_clock_us / 1e6)
        if self._table_of is not position.variant:
            # The stones of another variant would look the same.
            self._table.clear()
            self._table_of = position.variant
        return self._think(position, self._table, Effort(self._nodes, deadline=deadline, clock=self._clock))

    def open(self, opening: OpeningChoice) -> Choice:
        if not opening.may_take:
            return opening.usual()
        # The game has not begun, so this uses no more of a base time than a move does.
        seconds = opening.clock_us / 1e6 / _MOVES_TO_GO
        clock = self._clock if seconds else None
        effort = Effort(self._nodes or NODES, deadline=self._clock() + seconds, clock=clock)
        considered = self._think(opening.position, {}, effort)
        return Take(1 if considered.scores.get(considered.candidates[0], 0) >= 0 else 0)

    def work_out(self, position: Position) -> Considered:
        return self._think(position, {}, Effort(self._nodes or NODES))

    def _think(self, position: Position, table: Table, effort: Effort) -> Considered:
        # An opening rule does not affect later stones, and testing it costs time.
        variant = position.variant if position.ply < _OPENING_PLIES else parse_variant(base_name(position.variant.name))
        thought = Thought(self._board(variant), position.own, position.opponent, position.side, table)
        thought.think(effort)
        return thought.considered

    def _seconds(self, left: float) -> float:
        """Return the time for a move, given the remaining time. Both are seconds."""
        if self._limits.bank:
            seconds = min(left / 2, left / _MOVES_TO_GO + self._limits.increment * 0.8)
        else:
            seconds = left
        if self._limits.move:
            seconds = min(seconds, self._limits.move)
        # The clocks of concurrent games run together. (A game that ended while the connection was lost stays in the
        # set, so this counts at most the largest number of concurrent games, by default one.)
        seconds /= max(1, min(len(self._running), self.max_games or 1))
        return max(0.0, seconds * (1 - _RESERVE_SHARE) - _RESERVE_SECONDS)


def _board(variant: Variant) -> Board:
    return RuledBoard(variant) if base_name(variant.name) in _FIVE_IN_A_ROW else Board(variant)
