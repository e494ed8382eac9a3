"""A game being played, and a player as the arbiter knows it: what the wires read, and nobody but the arbiter writes."""

from bisect import bisect_right
from itertools import accumulate

from noughts_referee.clock import MARGIN_US, TimeControl
from noughts_referee.rules import (
    OpeningChoice,
    Position,
    Result,
    Termination,
    base_name,
    game_seed,
    parse_variant,
    side_seeds,
)
from noughts_referee.work_units import GameConditions, GameSoFar, Slot, Unit, pack_moves, pack_times

_NO_CLOCKS = [0, 0]
CHOICES = 4
"""An even number, above that of the choices before a game by agreement."""


def opening_ply(step: int) -> int:
    """The ply of a game while its opening is agreed on: plies count up to 0, and tell by their parity whose clock runs,
    as they do afterwards."""
    return step - CHOICES


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

    def ask(self, game: "Game") -> None:
        """The game's mover is asked for its move."""
        self.turn_game.append(game.handle)
        self.turn_ply.append(game.ply)
        self.turn_cell.append(game.moves[-1] if game.moves else 0)
        if game.conditions.timed:
            self.turns_timed.append(game)

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

    __slots__ = ("games", "key", "margin_us", "network_us", "opens", "outbox")

    def __init__(self, key: int, margin_us: int = MARGIN_US) -> None:
        self.key = key
        self.margin_us = margin_us
        """What its moves may overstep their limits for transport. May be changed at any time."""
        self.network_us = 0
        """What is not charged for each of its moves: as long as the network takes for a question and its answer."""
        self.games: dict[int, Game] = {}
        """Running games by handle."""
        self.outbox = Outbox()
        self.opens = False
        """Whether it can be asked to agree on openings; for one that cannot, the arbiter makes the usual choices."""

    def resend(self) -> None:
        """It has lost what it knew: its outbox becomes a start of each running game and the open turns."""
        self.outbox = outbox = Outbox()
        for game in self.games.values():
            if game.ply < 0:
                if game.mover is self:
                    outbox.openings.append(game)
                continue
            outbox.starts.append(game)
            if game.mover is self:
                outbox.ask(game)

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
    def opening(self) -> OpeningChoice:
        """What the mover is asked before the game has begun; while that is so, `ply` is below 0."""
        variant = self.conditions.variant
        base = parse_variant(base_name(variant.name))
        clock_us = 0 if self.time is None else self.limit_us()
        seed = side_seeds(self.conditions.seed, [self.slot[0]], [self.ply & 1])[0]
        return OpeningChoice(base, variant.agreement, tuple(self.moves), seed, clock_us)

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

    @property
    def undecided(self) -> bool:
        """Whether it is running, or was broken off by our own decision."""
        return getattr(self, "result", Result.VOID) is Result.VOID

    def so_far(self) -> GameSoFar:
        """The game up to its last move, as it is journaled."""
        unit, (ordinal, first, second) = self.unit, self.slot
        conditions = unit.conditions
        return GameSoFar(
            conditions.tournament,
            ordinal,
            unit.attempt,
            first,
            second,
            pack_moves(self.moves, conditions.variant.cells),
            # A game that was broken off or lost may have the time of a move that was not made.
            pack_times(self.times_us),
            self.left_us[0],
            self.left_us[1],
            len(unit.openings.get(ordinal, ())),
        )

    def position(self) -> Position:
        """The position now."""
        return Position.after(self.conditions.variant, self.moves)


def _clocks(conditions: GameConditions, slot: Slot) -> list[int]:
    """What the two sides' clocks show at the start."""
    limits = conditions.limits[slot[1]], conditions.limits[slot[2]]
    return [0 if limit is None else limit.start_us for limit in limits]
