"""The arbiter: judges games, does no input or output and has no clock.

In go answers with their thinking time, silence and disconnections; out come questions (in each player's outbox) and
games that are over (in `Arbiter.ended`). Whatever wire a player is on, the same inputs give the same verdicts.

The columns of a frame are handled in one straight loop (`Arbiter.answered`): it is the hot path of the whole server.
So it does not ask `Position` how a game stands, but looks at the variant's tables itself; tests compare the two.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, repeat

from noughts_referee.clock import MARGIN_US, TimeControl
from noughts_referee.rules import (
    DRAWN,
    VOID,
    Choice,
    Opening,
    Outcome,
    Position,
    Put,
    Result,
    Termination,
    base_name,
    cell_name,
    game_seed,
    lost,
    parse_variant,
    placed_wrongly,
    side_seed,
    won,
)
from noughts_referee.work_units import Conditions, Slot, Unit

MOST_COMPLAINTS = 100
"""With so many complaints a stream is closed: more need not be worded, however many rows a frame has."""


# Every game ends, most of them so: these are made once.
_WON = (won(0), won(1))
_TOO_LONG = Outcome(Result.DRAW, Termination.ADJUDICATED)

_NO_CLOCKS = [0, 0]

_MOST_SHOWN = 5
_STEPS = 4
"""An even number, above that of the choices before a game by agreement."""


def _in_words(choice: Choice, opening: Opening) -> str:
    """A choice that is not allowed, and what would be."""
    put = f"{opening.may_put} stones on free cells" if opening.may_put else ""
    expected = " or ".join(filter(None, (put, "a side" if opening.may_take else "")))
    if isinstance(choice, Put):
        board = opening.variant
        names = (cell_name(board, cell) if cell < board.cells else str(cell) for cell in choice.cells[:_MOST_SHOWN])
        cells = " ".join(names)
        return f"got {len(choice.cells)} stones ({cells}), expected {expected}"
    return f"got a side ({'XO'[choice.side & 1]}), expected {expected}"


def opening_ply(step: int) -> int:
    """The ply of a game while its opening is agreed on: plies count up to 0, and tell by their parity whose clock runs,
    as they do afterwards."""
    return step - _STEPS


class Outbox:
    """What one player is to be told next, as columns (see the messages Starts, Turns and Ends of the protocol)."""

    __slots__ = ("ends", "openings", "starts", "turn_cell", "turn_game", "turn_ply", "turns_timed")

    def __init__(self) -> None:
        self.starts: list[Game] = []
        self.openings: list[Game] = []
        """Games that have not begun: the player is to make a choice for the opening."""
        self.turn_game: list[int] = []
        self.turn_ply: list[int] = []
        self.turn_cell: list[int] = []
        self.turns_timed: list[Game] = []
        """The games with clocks among the turns: the wire must watch the limits of those in which the mover has one."""
        self.ends: list[Game] = []

    def __bool__(self) -> bool:
        return bool(self.turn_game or self.ends or self.starts or self.openings)

    def without_turns(self) -> "Outbox":
        """Keeps all but the questions; returns those."""
        rest = Outbox()
        for column in ("turn_game", "turn_ply", "turn_cell", "turns_timed", "openings"):
            setattr(rest, column, getattr(self, column))
            setattr(self, column, [])
        return rest

    def split(self, most_moves: int) -> "Outbox":
        """Keeps starts that carry at most so many moves together (one start at least); returns the rest.

        Whatever concerns a game goes where its start goes.
        """
        carried = list(accumulate(game.ply for game in self.starts))
        kept = max(1, bisect_right(carried, most_moves))
        rest = Outbox()
        self.starts, rest.starts = self.starts[:kept], self.starts[kept:]
        later = {game.handle for game in rest.starts}
        rows = list(zip(self.turn_game, self.turn_ply, self.turn_cell, strict=True))
        for outbox, is_later in ((self, False), (rest, True)):
            mine = [row for row in rows if (row[0] in later) is is_later]
            outbox.turn_game, outbox.turn_ply, outbox.turn_cell = ([row[column] for row in mine] for column in range(3))
        self.turns_timed, rest.turns_timed = _parted(self.turns_timed, later)
        self.ends, rest.ends = _parted(self.ends, later)
        return rest


def _parted(games: list["Game"], later: set[int]) -> tuple[list["Game"], list["Game"]]:
    return [game for game in games if game.handle not in later], [game for game in games if game.handle in later]


class Player:
    """One who plays, as the arbiter knows it: its running games and what it is to be told."""

    __slots__ = ("games", "key", "margin_us", "opens", "outbox")

    def __init__(self, key: int, margin_us: int = MARGIN_US) -> None:
        self.key = key
        self.margin_us = margin_us
        """What its moves may overstep their limits for transport. May be changed at any time."""
        self.games: dict[int, Game] = {}
        """Running games by handle."""
        self.outbox = Outbox()
        self.opens = False
        """Whether it can be asked to agree on openings; for one that cannot, the arbiter makes the usual choices."""

    def take_outbox(self) -> Outbox:
        """Everything collected so far; the player gets an empty outbox."""
        outbox = self.outbox
        self.outbox = Outbox()
        return outbox


class Game:
    """One attempt at a slot."""

    __slots__ = (
        "conditions",
        "fault",
        "handle",
        "left_us",
        "mover",
        "moves",
        "opponent",
        "own",
        "players",
        "ply",
        "result",
        "slot",
        "termination",
        "times_us",
        "unit",
        "waiting",
    )

    result: Result
    termination: Termination

    def __init__(self, handle: int, unit: Unit, slot: Slot, first: Player, second: Player) -> None:
        self.handle = handle
        self.unit = unit
        self.conditions = conditions = unit.conditions
        self.slot = slot
        self.players = (first, second)
        self.mover = first
        self.waiting = second
        self.own = 0
        """The mover's stones."""
        self.opponent = 0
        self.ply = 0
        self.moves: list[int] = []
        self.times_us: list[int] = []
        self.left_us = _clocks(conditions, slot) if conditions.timed else _NO_CLOCKS
        """What each side's clock shows: what is left of its bank, or without one the limit of each move; 0 without a
        limit."""
        # `result` and `termination` are set at the end.
        self.fault = ""
        """Why the loser lost, if by its own doing and anything is known of it: a phrase that follows "it"."""

    @property
    def opening(self) -> Opening:
        """What the mover is asked before the game has begun; while that is so, `ply` is below 0."""
        variant = self.conditions.variant
        base = parse_variant(base_name(variant.name))
        clock_us = 0 if self.time is None else self.limit_us()
        seed = side_seed(self.seed, self.ply & 1)
        return Opening(base, variant.agreement, tuple(self.moves), seed, clock_us)

    @property
    def seed(self) -> int:
        """What both sides' seeds follow from. Worked out when asked: what tells thousands does so for all at once."""
        return game_seed(self.conditions.seed, self.slot[0])

    @property
    def time(self) -> TimeControl | None:
        """The mover's time control; None where it has no limit."""
        return self.time_of(self.ply & 1)

    def time_of(self, side: int) -> TimeControl | None:
        """A side's time control; None where it has no limit."""
        # A slot is (ordinal, first, second).
        return self.conditions.limits[self.slot[1 + side]]

    def side_of(self, player: Player) -> int:
        """0 if the player moved first, else 1."""
        return 0 if player is self.players[0] else 1

    def clock_us(self, side: int) -> int:
        """What a side's clock shows; 0 without a limit."""
        return self.left_us[side]

    def limit_us(self) -> int:
        """What this move may take; only where the mover has a limit."""
        assert self.time is not None
        return self.time.limit_us(self.left_us[self.ply & 1])

    def position(self) -> Position:
        """The position now."""
        return Position.after(self.conditions.variant, self.moves)


def _clocks(conditions: Conditions, slot: Slot) -> list[int]:
    """What the two sides' clocks show at the start."""
    limits = conditions.limits[slot[1]], conditions.limits[slot[2]]
    return [0 if limit is None else limit.start_us for limit in limits]


class Complaint(Exception):
    """What is wrong with an answer: an unknown game, or a ply that has not been asked."""

    def __init__(self, game: int, ply: int, expected: str) -> None:
        super().__init__(f"answer to game {game}, ply {ply}: expected {expected}")
        self.game = game
        self.ply = ply
        self.expected = expected


class Arbiter:
    """Judges any number of games between any number of players."""

    def __init__(self) -> None:
        self.ended: list[Game] = []
        """Games that are over and not yet taken."""
        self.agreed: list[Game] = []
        """Games that have begun by agreement since this was last cleared."""
        self.touched: set[Player] = set()
        """Players whose outbox got something since this was last cleared."""
        self.late_answers = 0
        self._last_handle = 0

    def start(self, unit: Unit, slot: Slot, first: Player, second: Player) -> Game:
        """Begins a game: both players are told, and the first is asked."""
        self._last_handle = handle = self._last_handle + 1
        game = Game(handle, unit, slot, first, second)
        first.games[handle] = second.games[handle] = game
        if unit.conditions.variant.agreement:
            self._ask_choice(game, 0)
            return game
        if unit.openings and (opening := unit.openings.get(slot[0])):
            self._begin_with(game, opening)
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

    def answered(
        self,
        player: Player,
        games: Iterable[int],
        plies: Iterable[int],
        cells: Iterable[int],
        times_us: Iterable[int],
        resigned: Sequence[int] = (),
        reasons: Sequence[str] = (),
    ) -> list[Complaint]:
        """The player answers: columns of equal length; `times_us` is the thinking time of each answer.

        `resigned` holds the indices of rows that resign, `reasons` why, in the same order, as far as is said. Returns
        what is wrong with answers that name no question (at most MOST_COMPLAINTS); late answers are dropped and
        counted.
        """
        complaints: list[Complaint] = []
        if resigned:
            rows = list(zip(games, plies, cells, times_us, strict=True))
            given_up = dict(zip(resigned, chain(reasons, repeat("")), strict=False))
            resigning = [(*row, given_up[index]) for index, row in enumerate(rows) if index in given_up]
            self._resign(player, resigning, complaints)
            kept = [row for index, row in enumerate(rows) if index not in given_up]
            games, plies, cells, times_us = zip(*kept, strict=True) if kept else ((), (), (), ())
        running = player.games.get
        conditions: Conditions | None = None
        last_opponent: Player | None = None
        for handle, ply, cell, took in zip(games, plies, cells, times_us, strict=True):
            game = running(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(game, handle, ply, complaints)
                continue
            if game.conditions is not conditions:
                # The games of a frame are mostly of one tournament: what they share is looked up once.
                conditions = game.conditions
                variant = conditions.variant
                board, decisive, below = variant.cells, variant.decisive, variant.below
                lines_through, beside, shortest_win = variant.lines_through, variant.beside, variant.shortest_win
                shut, forbids = variant.shut, variant.forbids
                # Before the board is full, only a side that may not play what is free can be without a move.
                fewest_plies = board if forbids is None else 0
                longest = conditions.draw_after
                if longest:
                    fewest_plies = min(fewest_plies, longest)
                timed = conditions.timed
            if timed and self._late(game, took):
                continue
            own = game.own
            other = game.opponent
            if (
                cell >= board  # no wire hands on a number below 0
                or (own | other) & decisive[cell] != below[cell]
                or (forbids is not None and forbids(own, other, cell, ply & 1) is not None)
            ):
                game.times_us.append(took)
                game.fault = placed_wrongly(variant, own, other, cell, ply & 1)
                self._end(game, lost(ply & 1, Termination.ILLEGAL_MOVE))
                continue
            game.moves.append(cell)
            game.times_us.append(took)
            own |= 1 << cell
            game.ply = ply = ply + 1
            for line in lines_through[cell] if ply >= shortest_win else ():
                if own & line == line and not own & beside.get(line, 0) and ~other & shut.get(line, -1):
                    self._end(game, _WON[~ply & 1])
                    break
            else:
                if ply >= fewest_plies:
                    if not variant.can_move(other, own, ply & 1):
                        self._end(game, DRAWN)
                        continue
                    if ply >= longest > 0:
                        self._end(game, _TOO_LONG)
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
        return complaints

    def chosen(
        self, player: Player, handle: int, step: int, choice: Choice | None, took: int, why: str = ""
    ) -> list[Complaint]:
        """The player's choice for the opening of a game, at a step from 0; None resigns, and `why` may say why.

        Returns what is wrong with a choice that was not asked for; late ones are dropped and counted.
        """
        complaints: list[Complaint] = []
        game, ply = player.games.get(handle), opening_ply(step)
        if game is None or ply >= 0 or game.ply != ply or game.mover is not player:
            self._out_of_turn(game, handle, ply, complaints)
        elif not self._late(game, took):
            self._choose(game, choice, took, why)
        return complaints

    def _ask_choice(self, game: Game, step: int) -> None:
        """Who opens makes the first and the third choice, the opponent the second."""
        game.ply = opening_ply(step)
        game.mover = player = game.players[step & 1]
        game.waiting = game.players[~step & 1]
        if not player.opens:
            self._choose(game, game.opening.usual(), 0)
            return
        player.outbox.openings.append(game)
        self.touched.add(player)

    def _choose(self, game: Game, choice: Choice | None, took: int, why: str = "") -> None:
        step, side = game.ply + _STEPS, game.ply & 1
        if choice is None or not game.opening.allows(choice):
            game.times_us.append(took)
            if choice is None:
                game.fault = f"resigned: {why}" if why else ""
                self._end(game, lost(side, Termination.RESIGNED))
            else:
                opening = game.opening
                game.fault = f"made a choice that {opening.rule} does not allow: {_in_words(choice, opening)}"
                self._end(game, lost(side, Termination.ILLEGAL_MOVE))
            return
        if isinstance(choice, Put):
            game.moves += choice.cells
            game.times_us += [0] * len(choice.cells)
            if step:
                # Also before it has been made a third choice can be told from none.
                game.times_us[step + 1] = 1
        game.times_us[step] = took if step < _STEPS - 2 else max(1, took)
        if isinstance(choice, Put):
            self._ask_choice(game, step + 1)
        else:
            self._begin_agreed(game, swapped=choice.side != side)

    def _begin_with(self, game: Game, opening: Sequence[int]) -> None:
        """The game begins with these moves on the board, which have taken nobody's time."""
        game.moves += opening
        game.times_us += [0] * len(opening)
        self._begin(game)

    def _begin_agreed(self, game: Game, *, swapped: bool) -> None:
        """The sides are known: the game is like any other from now on."""
        if swapped:
            ordinal, first, second = game.slot
            game.slot = Slot(ordinal, second, first)
            game.players = game.players[::-1]
            game.left_us = game.left_us[::-1]
        self.agreed.append(game)
        self._begin(game)

    def _begin(self, game: Game) -> None:
        """The game begins with stones on the board: both players are told, and the one to move is asked."""
        game.ply = ply = len(game.moves)
        stones = [sum(1 << cell for cell in game.moves[side::2]) for side in (0, 1)]
        game.own, game.opponent = stones[ply & 1], stones[~ply & 1]
        game.mover, game.waiting = game.players[ply & 1], game.players[~ply & 1]
        for player in game.players:
            player.outbox.starts.append(game)
            self.touched.add(player)
        self._ask(game)

    def silent(self, player: Player, questions: Iterable[tuple[int, int, int]]) -> None:
        """The player has left questions (game, ply, microseconds since asked) unanswered.

        Whoever still has time keeps it: a clock is charged by an answer, and only by that.
        """
        for handle, ply, took in questions:
            game = player.games.get(handle)
            if game is None or game.ply != ply or game.mover is not player or game.time is None:
                continue
            if took > game.limit_us() + player.margin_us:
                self._time_out(game, took)

    def forfeit(self, player: Player, termination: Termination, fault: str = "") -> None:
        """The player is gone for good and loses its running games; `fault` says why (see `Game.fault`)."""
        for game in list(player.games.values()):
            game.fault = fault
            self._end(game, lost(game.side_of(player), termination))

    def abandon(self, games: Iterable[Game]) -> None:
        """Games end void by our own decision: nobody loses, the slots are played again."""
        for game in list(games):
            self._end(game, VOID)

    def resend(self, player: Player) -> None:
        """The player has lost what it knew: its outbox becomes a start of each running game and the open turns."""
        player.outbox = outbox = Outbox()
        for game in player.games.values():
            if game.ply < 0:
                if game.mover is player:
                    outbox.openings.append(game)
                continue
            outbox.starts.append(game)
            if game.mover is player:
                self._ask(game)
        self.touched.add(player)

    def take_ended(self) -> list[Game]:
        """The games that ended since the last call."""
        ended = self.ended
        self.ended = []
        return ended

    def _ask(self, game: Game) -> None:
        mover = game.mover
        outbox = mover.outbox
        outbox.turn_game.append(game.handle)
        outbox.turn_ply.append(game.ply)
        outbox.turn_cell.append(game.moves[-1] if game.moves else 0)
        if game.conditions.timed:
            outbox.turns_timed.append(game)
        self.touched.add(mover)

    def _late(self, game: Game, took: int) -> bool:
        """Charges the mover's clock, if it has one; ends the game if the limit and the margin are overstepped."""
        clocks, side = game.left_us, game.ply & 1
        time, left_us = game.time_of(side), clocks[side]
        if time is None:
            return False
        if took > time.limit_us(left_us) + game.mover.margin_us:
            self._time_out(game, took)
            return True
        clocks[side] = time.after_move(left_us, took)
        return False

    def _time_out(self, game: Game, took: int) -> None:
        game.times_us.append(took)
        limit = game.limit_us()
        game.fault = f"took {took / 1e6:.3f} s for its move and had {limit / 1e6:.3f} s left"
        self._end(game, lost(game.ply & 1, Termination.TIMEOUT))

    def _resign(
        self, player: Player, rows: Iterable[tuple[int, int, int, int, str]], complaints: list[Complaint]
    ) -> None:
        for handle, ply, _, took, why in rows:
            game = player.games.get(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(game, handle, ply, complaints)
                continue
            game.times_us.append(took)
            game.fault = f"resigned: {why}" if why else ""
            self._end(game, lost(ply & 1, Termination.RESIGNED))

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

    def _end(self, game: Game, outcome: Outcome) -> None:
        game.result, game.termination = outcome
        self.ended.append(game)
        handle = game.handle
        first, second = game.players
        del first.games[handle], second.games[handle]
        if game.ply < 0:
            # It had not begun: it ends with the stones that were put.
            game.ply = 0
        first.outbox.ends.append(game)
        second.outbox.ends.append(game)
        self.touched.add(first)
        self.touched.add(second)
