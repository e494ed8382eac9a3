"""`threats`: alpha-beta with threats, on boards where only lines count or five in a row wins; obeys its clock."""

import time
from collections.abc import Callable

from noughts_bots.bot import GameEnd, GameInfo, TimeLimits
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered
from noughts_bots.reference.threats.board import Board
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.threats.root import Thought
from noughts_bots.reference.threats.ruled_board import RuledBoard
from noughts_bots.reference.threats.search import Table
from noughts_referee.rules import Choice, OpeningChoice, Position, Take, Variant, base_name, parse_variant

NODES = 4000
"""Positions looked at for a move in games without a clock, unless told otherwise."""

# Of the time for a move: what the way to the referee and back, and a busy machine, may need.
_RESERVE_SHARE, _RESERVE_SECONDS = 0.15, 0.010
# A bank must last for the rest of the game: so many moves more, whatever has been played.
_MOVES_TO_GO = 25

_OPENING_PLIES = 3
_LINES_ALONE = ("mnk", "tictactoe3d", "qubic")
_FIVE_IN_A_ROW = tuple(name + size for name in ("gomoku:exact", "renju", "caro", "caro:exact") for size in ("", ":20"))


class ThreatsBot(CachingBot):
    """Looks for a win by continuous fours, then by fours and threes, then searches all moves deeper and deeper.

    Scores: a win in n half-moves is worth 1,000,000 - n (n at most: an attack may have a shorter way), a loss as much
    less than 0; otherwise the lines that each side can still complete, weighed by how few stones they miss. Only the
    best move's score is exact, the others' are bounds: they are worth no more.

    Without a clock it looks at a fixed number of positions, so that games can be repeated. With one it stops in time,
    and how far it has come by then depends on the machine. The first stone is drawn from the cells with the most lines;
    after that it takes the first best cell.

    Args:
        nodes: positions to look at for a move. Without it 4,000 in games without a clock, else what the clock allows.
        clock: seconds, from any moment on.
    """

    name = "threats"
    boards = "every m,n,k game, all of five in a row, tictactoe3d and qubic; not connect4"
    variants = _LINES_ALONE + _FIVE_IN_A_ROW
    heeds_forbidden_moves = True

    def __init__(self, *, nodes: int | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self._nodes = nodes
        self._clock = clock
        # Of the game that began last: all timed games of a session are of one tournament, hence have the same.
        self._limits = TimeLimits()
        self._running: set[str] = set()
        self._boards: dict[Variant, Board] = {}
        # Kept between the moves of games with a clock only: without one nothing may depend on what was played before.
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
        # An answer found in a hurry must not be given when there is time.
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
        # The game has not begun: of a bank it takes no more than for a move.
        seconds = opening.clock_us / 1e6 / _MOVES_TO_GO
        clock = self._clock if seconds else None
        effort = Effort(self._nodes or NODES, deadline=self._clock() + seconds, clock=clock)
        considered = self._think(opening.position, {}, effort)
        return Take(1 if considered.scores.get(considered.candidates[0], 0) >= 0 else 0)

    def work_out(self, position: Position) -> Considered:
        return self._think(position, {}, Effort(self._nodes or NODES))

    def _think(self, position: Position, table: Table, effort: Effort) -> Considered:
        # A rule for the opening says nothing of later stones, and asking it costs time.
        variant = position.variant if position.ply < _OPENING_PLIES else parse_variant(base_name(position.variant.name))
        thought = Thought(self._board(variant), position.own, position.opponent, position.side, table)
        thought.think(effort)
        return thought.considered

    def _board(self, variant: Variant) -> Board:
        board = self._boards.get(variant)
        if board is None:
            ruled = base_name(variant.name) in _FIVE_IN_A_ROW
            board = self._boards[variant] = RuledBoard(variant) if ruled else Board(variant)
        return board

    def _seconds(self, left: float) -> float:
        """How long to think about a move when so many seconds are left."""
        if self._limits.bank:
            seconds = min(left / 2, left / _MOVES_TO_GO + self._limits.increment * 0.8)
        else:
            seconds = left
        if self._limits.move:
            seconds = min(seconds, self._limits.move)
        # Clocks of games that are asked together run together. (A game that ended while the connection was lost stays
        # in the set: no more count than may be played at once, which unless told otherwise is one.)
        seconds /= max(1, min(len(self._running), self.max_games or 1))
        return max(0.0, seconds * (1 - _RESERVE_SHARE) - _RESERVE_SECONDS)
