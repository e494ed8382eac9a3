"""The arbiter judges games. It does no input or output and has no clock.

It takes answers with their thinking times, overdue questions and disconnections. It produces questions (in each
player's outbox) and finished games (`Arbiter.ended`). The same inputs give the same verdicts on every connection.

`Arbiter.judge_answers` handles the columns of a frame in one loop, in which the server spends most of its time. So it
reads the variant's tables itself instead of using `Position`; tests compare the two.
"""

from collections.abc import Container, Iterable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from noughts_referee.comments import unpack_comments
from noughts_referee.game import CHOICES, JUDGE, Game, GameKey, Player, opening_ply
from noughts_referee.rules import (
    DRAWN,
    VOID,
    Choice,
    OpeningChoice,
    Outcome,
    Put,
    Result,
    Termination,
    Thought,
    cell_name,
    lost,
    placed_wrongly,
    proven_outcome,
    unpack_thoughts,
    won,
)
from noughts_referee.work_units import (
    FinishedGame,
    GameConditions,
    GameSoFar,
    ScheduledGame,
    Unit,
    unpack_moves,
    unpack_scores,
    unpack_times,
)

MOST_COMPLAINTS = 100
"""The connection closes a stream after this number of complaints, so the arbiter returns no more than this."""

# Most games end this way, so these outcomes exist once.
_WON = (won(0), won(1))

_MOST_SHOWN = 5
"""Cells of an invalid choice that an error message shows."""
_LONG_US, _TENTH_US = 10_000_000, 100_000
"""The message about a late move has only tenths of a second if both times are long and differ by more."""


def _in_words(choice: Choice, opening: OpeningChoice) -> str:
    """Return a phrase that names a forbidden choice and the allowed ones."""
    put = f"{opening.may_put} stones on free cells" if opening.may_put else ""
    expected = " or ".join(filter(None, (put, "a side" if opening.may_take else "")))
    if isinstance(choice, Put):
        board = opening.variant
        names = (cell_name(board, cell) if cell < board.cells else str(cell) for cell in choice.cells[:_MOST_SHOWN])
        cells = " ".join(names)
        return f"got {len(choice.cells)} stones ({cells}), expected {expected}"
    return f"got a side ({'XO'[choice.side & 1]}), expected {expected}"


def _place_opening(game: Game, cells: Sequence[int]) -> None:
    """Place the first stones of a game."""
    game.moves += cells
    game.opening_plies = len(game.moves)
    game.times_us += [0] * len(cells)


class Complaint(Exception):
    """An answer to an unknown game, or to a ply that the player was not asked for."""

    def __init__(self, game: int, ply: int, expected: str) -> None:
        super().__init__(f"answer for game {game}, ply {ply}: expected {expected}")
        self.game = game
        self.ply = ply
        self.expected = expected


class Answers(NamedTuple):
    """A player's answers, as columns of equal length."""

    games: Sequence[int]
    plies: Sequence[int]
    cells: Sequence[int]
    times_us: Sequence[int]
    """The thinking time of each answer."""
    resigned: Sequence[int] = ()
    """The indices of answers that resign."""
    reasons: Sequence[str] = ()
    """Their reasons in the same order; the last ones can be missing."""
    exhausted: Container[int] = ()
    """The indices of answers that lose on time."""
    scores: Sequence[tuple[int, float]] = ()
    """As (index, score), only finite scores."""
    comments: Sequence[tuple[int, str]] = ()
    """As (index, comment)."""
    thoughts: Sequence[tuple[int, Thought]] = ()
    """As (index, thought)."""


class Arbiter:
    """Judges the running games. Its lists collect what the referee must handle after each call."""

    def __init__(self, time_factor: float = 1.0) -> None:
        """`time_factor` is that of this machine (`machine_speed`), for the games whose times are scaled."""
        self._time_factor = time_factor
        self.ended: list[Game] = []
        """Games that have ended since the last `take_ended`."""
        self.agreed: list[Game] = []
        """Games that have begun by agreement since this list was last cleared."""
        self.advanced: list[Game] = []
        """Journaled games that have progressed since this list was last cleared, in order."""
        self.unproven: list[Game] = []
        """Games that wait for a proof (see `conclude`) since this list was last cleared."""
        self.touched: set[Player] = set()
        """Players whose outbox has grown since this set was last cleared."""
        self.late_answers = 0
        """The number of answers that came too late, since the start."""
        self._waiting_for_commit: dict[GameKey, list[tuple[Player, Game]]] = {}
        """Games that are over but not stored yet, with the players that get the end only after the commit."""
        self._last_handle = 0

    def start(self, unit: Unit, slot: ScheduledGame, first: Player, second: Player) -> Game:
        """Begin a game: announce it to both players and ask the first to move."""
        self._last_handle = handle = self._last_handle + 1
        begun = unit.begun.get(slot[0]) if unit.begun else None
        time_factor = None
        if unit.conditions.scale_time:
            time_factor = self._time_factor if begun is None else begun.time_factor
        game = Game(handle, unit, slot, (first, second), time_factor)
        first.games[handle] = second.games[handle] = game
        if begun is not None:
            self._resume(game, begun)
            return game
        if unit.conditions.variant.agreement:
            self._ask_choice(game, 0)
            return game
        if unit.openings and (opening := unit.openings.get(slot[0])):
            _place_opening(game, opening)
            self._begin(game)
            return game
        outbox = first.outbox
        outbox.starts.append(game)
        outbox.turn_game.append(handle)
        outbox.turn_ply.append(0)
        outbox.turn_cell.append(0)
        if game.conditions.timed:
            outbox.turns_timed.append(game)
        second.outbox.starts.append(game)
        self.touched.add(first)
        self.touched.add(second)
        return game

    def judge_answers(self, player: Player, answers: Answers) -> list[Complaint]:
        """Judge a player's answers.

        Return complaints about answers to questions that were never asked (at most MOST_COMPLAINTS). Late answers are
        dropped and counted.
        """
        games, plies, cells, times_us = answers.games, answers.plies, answers.cells, answers.times_us
        exhausted = answers.exhausted
        complaints: list[Complaint] = []
        if answers.resigned:
            rows = list(zip(games, plies, cells, times_us, strict=True))
            # Rows without a reason of their own get an empty one.
            reasons = dict(zip(answers.resigned, chain(answers.reasons, repeat("")), strict=False))
            resignations = [
                (*row, reasons[index], index in exhausted) for index, row in enumerate(rows) if index in reasons
            ]
            self._resign(player, resignations, complaints)
            moves = [row for index, row in enumerate(rows) if index not in reasons]
            games, plies, cells, times_us = zip(*moves, strict=True) if moves else ((), (), (), ())
        running = player.games.get
        conditions: GameConditions | None = None
        last_opponent: Player | None = None
        for handle, ply, cell, took in zip(games, plies, cells, times_us, strict=True):
            game = running(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(game, handle, ply, complaints)
                continue
            if game.conditions is not conditions:
                # Most games of a frame belong to one tournament, so what they share is looked up once.
                conditions = game.conditions
                variant = conditions.variant
                board, mask, supports = variant.cells, variant.occupancy_mask, variant.supports
                lines_by_core, shortest_win = variant.lines_by_core, variant.shortest_win
                holds_any, forbids = variant.holds_any, variant.forbids
                undecided_until = conditions.undecided_until
                timed = conditions.timed
                journaled = conditions.journaled
            if timed and self._late(game, took):
                continue
            own = game.own
            other = game.opponent
            if (
                cell >= board  # No connection forwards a number below 0.
                or (own | other) & mask[cell] != supports[cell]
                or (forbids is not None and forbids(own, other, cell, ply & 1) is not None)
            ):
                self._lose(game, took, Termination.ILLEGAL_MOVE, placed_wrongly(variant, own, other, cell, ply & 1))
                continue
            game.moves.append(cell)
            game.times_us.append(took)
            own |= 1 << cell
            game.ply = ply = ply + 1
            for core in lines_by_core[cell] if ply >= shortest_win else ():
                if own & core == core and holds_any(own, lines_by_core[cell][core], other):
                    self._end(game, _WON[~ply & 1])
                    break
            else:
                if ply >= undecided_until:
                    if not variant.can_move(other, own, ply & 1):
                        self._end(game, DRAWN)
                        continue
                    if ply >= conditions.adjudicated_from:
                        adjudication = conditions.adjudication
                        if (outcome := adjudication.outcome(game.scores, ply)) is not None:
                            self._end(game, outcome)
                            continue
                        if adjudication.exact:
                            game.own, game.opponent = other, own
                            game.mover = JUDGE
                            self.unproven.append(game)
                            continue
                game.own = other
                game.opponent = own
                game.mover = opponent = game.waiting
                game.waiting = player
                if opponent is not last_opponent:
                    last_opponent = opponent
                    self.touched.add(opponent)
                    outbox = opponent.outbox
                    ask_game = outbox.turn_game.append
                    ask_ply = outbox.turn_ply.append
                    ask_cell = outbox.turn_cell.append
                ask_game(handle)
                ask_ply(ply)
                ask_cell(cell)
                if timed:
                    outbox.turns_timed.append(game)
                    if journaled:
                        self.advanced.append(game)
        return complaints

    def conclude(self, game: Game, ply: int, value: int | None) -> None:
        """End a game that waits for a proof, with the value for its side to move. If the value is None, ask that side.

        A game that has ended meanwhile does not change.
        """
        if game.mover is not JUDGE or game.ply != ply or game.handle not in game.players[0].games:
            return
        side = ply & 1
        game.mover, game.waiting = game.players[side], game.players[1 - side]
        if value is not None:
            self._end(game, proven_outcome(value, side))
            return
        game.mover.outbox.ask(game)
        self.touched.add(game.mover)
        if game.conditions.journaled:
            self.advanced.append(game)

    def judge_choice(
        self, player: Player, handle: int, step: int, choice: Choice | None, took: int, why: str = ""
    ) -> list[Complaint]:
        """Judge a player's choice for the opening of a game. Steps count from 0; None resigns, with the reason `why`.

        Return complaints about a choice that was not asked for. Late choices are dropped and counted.
        """
        complaints: list[Complaint] = []
        game = player.games.get(handle)
        ply = opening_ply(step)
        if game is None or ply >= 0 or game.ply != ply or game.mover is not player:
            self._out_of_turn(game, handle, ply, complaints)
        elif not self._late(game, took):
            self._choose(game, choice, took, why)
        return complaints

    def _ask_choice(self, game: Game, step: int) -> None:
        """Ask for a choice. The side that opens makes the first and the third choice, the opponent the second."""
        game.ply = opening_ply(step)
        game.mover = player = game.players[step & 1]
        game.waiting = game.players[1 - (step & 1)]
        if not player.opens:
            self._choose(game, game.opening.usual(), 0)
            return
        player.outbox.openings.append(game)
        self.touched.add(player)

    def _choose(self, game: Game, choice: Choice | None, took: int, why: str = "") -> None:
        step = game.ply + CHOICES
        side = game.ply & 1
        opening = game.opening
        if choice is None:
            self._lose(game, took, Termination.RESIGNED, f"resigned: {why}" if why else "")
        elif not opening.allows(choice):
            fault = f"made a choice that {opening.rule} does not allow: {_in_words(choice, opening)}"
            self._lose(game, took, Termination.ILLEGAL_MOVE, fault)
        elif isinstance(choice, Put):
            _place_opening(game, choice.cells)
            game.times_us[step] = took
            self._ask_choice(game, step + 1)
        else:
            game.times_us[step] = took
            if choice.side != side:
                game.change_sides()
            self.agreed.append(game)
            if game.conditions.journaled:
                self.advanced.append(game)
            self._begin(game)

    def _resume(self, game: Game, begun: GameSoFar) -> None:
        """Resume a game. The time that its open question had already taken is not charged."""
        variant = game.conditions.variant
        if begun.first != game.slot.first:
            game.change_sides()
        game.moves += unpack_moves(begun.moves, variant.cells)
        game.times_us += unpack_times(begun.times)
        game.left_us = [begun.first_clock_us, begun.second_clock_us]
        game.opening_plies = begun.opening_plies
        if game.scores is not None:
            game.scores = unpack_scores(begun.scores)
        game.comments = unpack_comments(begun.comments)
        game.thoughts = unpack_thoughts(begun.thoughts)
        if variant.agreement:
            self.agreed.append(game)
        self._begin(game)

    def _begin(self, game: Game) -> None:
        """Begin the game with the stones on its board: announce it to both players and ask the one to move."""
        game.ply = ply = len(game.moves)
        stones = [sum(1 << cell for cell in game.moves[side::2]) for side in (0, 1)]
        game.own, game.opponent = stones[ply & 1], stones[~ply & 1]
        game.mover, game.waiting = game.players[ply & 1], game.players[~ply & 1]
        for player in game.players:
            player.outbox.starts.append(game)
            self.touched.add(player)
        game.mover.outbox.ask(game)

    def end_overdue(self, player: Player, questions: Iterable[tuple[int, int, int]]) -> None:
        """End the games whose questions (game, ply, microseconds since asked) are overdue. This charges no clocks."""
        for handle, ply, took in questions:
            game = player.games.get(handle)
            if game is None or game.ply != ply or game.mover is not player or game.time is None:
                continue
            if took > game.limit_us() + game.margin_us(player):
                self._time_out(game, took)

    def forfeit(self, player: Player, termination: Termination, fault: str = "", tournament: int | None = None) -> None:
        """End the running games of a player as lost, in one tournament or all; `fault` says why."""
        for game in [each for each in player.games.values() if tournament in (None, each.conditions.tournament)]:
            game.fault = fault
            self._end(game, lost(game.side_of(player), termination))

    def abandon(self, games: Iterable[Game]) -> None:
        """End games as void by the server's decision: no player loses, and the scheduled games are played again."""
        for game in list(games):
            self._end(game, VOID)

    def take_ended(self) -> list[Game]:
        """Return the games that have ended since the last call."""
        ended = self.ended
        self.ended = []
        return ended

    def _late(self, game: Game, took: int) -> bool:
        """Charge the mover's clock, if it has one. End the game if it has passed its limit and time margin."""
        clocks = game.left_us
        side = game.ply & 1
        time = game.limits[side]
        left_us = clocks[side]
        if time is None:
            return False
        if took > time.limit_us(left_us) + game.margin_us(game.mover):
            self._time_out(game, took)
            return True
        clocks[side] = time.after_move(left_us, took)
        return False

    def _time_out(self, game: Game, took: int) -> None:
        left = game.limit_us()
        digits = 1 if left >= _LONG_US and took - left >= _TENTH_US else 3
        fault = f"took {took / 1e6:.{digits}f} s for its move and had {left / 1e6:.{digits}f} s left"
        self._lose(game, took, Termination.TIMEOUT, fault)

    def _resign(
        self, player: Player, rows: Iterable[tuple[int, int, int, int, str, bool]], complaints: list[Complaint]
    ) -> None:
        for handle, ply, _, took, why, exhausted in rows:
            game = player.games.get(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(game, handle, ply, complaints)
                continue
            if exhausted:
                self._lose(game, took, Termination.TIMEOUT, f"gave up its move: {why}" if why else "gave up its move")
            else:
                self._lose(game, took, Termination.RESIGNED, f"resigned: {why}" if why else "")

    def _out_of_turn(self, game: Game | None, handle: int, ply: int, complaints: list[Complaint]) -> None:
        if game is None and not 0 < handle <= self._last_handle:
            expected = f"a game that was started (the last is {self._last_handle})"
        elif game is not None and game.ply < 0:
            expected = "a choice for its opening, which has not been made"
        elif game is not None and ply >= game.ply:
            expected = f"a ply that was asked (the game is at {game.ply})"
        else:
            self.late_answers += 1
            return
        if len(complaints) < MOST_COMPLAINTS:
            complaints.append(Complaint(handle, ply, expected))

    def _lose(self, game: Game, took: int, termination: Termination, fault: str) -> None:
        """End the game as lost by its mover after this thinking time."""
        game.times_us.append(took)
        game.fault = fault
        self._end(game, lost(game.ply & 1, termination))

    def _end(self, game: Game, outcome: Outcome) -> None:
        game.result, game.termination = outcome
        self.ended.append(game)
        handle = game.handle
        first, second = game.players
        del first.games[handle], second.games[handle]
        if game.ply < 0:
            game.ply = 0
        if first.stored_ends or second.stored_ends:
            self._announce_end(game)
            return
        first.outbox.ends.append(game)
        second.outbox.ends.append(game)
        self.touched.add(first)
        self.touched.add(second)

    def _announce_end(self, game: Game) -> None:
        """Announce the end to the players that do not wait until the game is stored. A void game is never stored."""
        for player in game.players:
            if player.stored_ends and game.result is not Result.VOID:
                self._waiting_for_commit.setdefault(game.key, []).append((player, game))
            else:
                player.outbox.ends.append(game)
                self.touched.add(player)

    def announce_stored(self, games: Iterable[FinishedGame], stored: Iterable[FinishedGame]) -> None:
        """Announce the ends of these games to the players that waited; those that are not `stored` are void."""
        if not self._waiting_for_commit:
            return
        stored_keys = {(game.tournament, game.ordinal, game.attempt) for game in stored}
        for record in games:
            key = record.tournament, record.ordinal, record.attempt
            for player, game in self._waiting_for_commit.pop(key, ()):
                if key not in stored_keys:
                    game.result, game.termination = VOID
                player.outbox.ends.append(game)
                self.touched.add(player)

    def forget_waiting(self, player: Player) -> None:
        """Forget the ends that a player waits for, because its new stream does not know these games."""
        for key, waiting in list(self._waiting_for_commit.items()):
            self._waiting_for_commit[key] = [(other, game) for other, game in waiting if other is not player]
