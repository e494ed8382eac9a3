"""A running game, and the arbiter's state of a player. Connections read them; only the arbiter changes them."""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from noughts_referee.clock import MARGIN_US, TimeControl
from noughts_referee.comments import pack_comments
from noughts_referee.rules import (
    OpeningChoice,
    Result,
    Termination,
    Thought,
    base_name,
    game_seed,
    pack_thoughts,
    parse_variant,
    side_seeds,
)
from noughts_referee.work_units import (
    GameConditions,
    GameSoFar,
    ScheduledGame,
    Unit,
    pack_moves,
    pack_scores,
    pack_times,
)

# Shared by all games without clocks, which never change them.
_NO_CLOCKS = [0, 0]
_NO_LIMITS = (None, None)
# Shared by all games whose tournament keeps no scores: nothing is ever added.
_NO_COMMENTS: dict[int, str] = {}
_NO_THOUGHTS: dict[int, Thought] = {}
CHOICES = 4
"""An even number larger than the number of choices before a game by agreement."""


def opening_ply(step: int) -> int:
    """Return the ply of an opening choice. It counts up to 0, and its parity shows whose clock runs, as in the game."""
    return step - CHOICES


class Outbox:
    """The next message to one player, as columns (see the messages Starts, Turns and Ends of the protocol)."""

    __slots__ = ("ends", "openings", "starts", "turn_cell", "turn_game", "turn_ply", "turns_timed")

    def __init__(self) -> None:
        self.starts: list[Game] = []
        self.openings: list[Game] = []
        """Games that have not begun, in which the player must make an opening choice."""
        self.turn_game: list[int] = []
        self.turn_ply: list[int] = []
        self.turn_cell: list[int] = []
        self.turns_timed: list[Game] = []
        """The turns of games with clocks. The connection watches the limit if the mover has one."""
        self.ends: list[Game] = []

    def __bool__(self) -> bool:
        return bool(self.turn_game or self.ends or self.starts or self.openings)

    def ask(self, game: "Game") -> None:
        self.turn_game.append(game.handle)
        self.turn_ply.append(game.ply)
        self.turn_cell.append(game.moves[-1] if game.moves else 0)
        if game.conditions.timed:
            self.turns_timed.append(game)

    def forget_turns(self) -> None:
        self.turn_game.clear()
        self.turn_ply.clear()
        self.turn_cell.clear()
        self.turns_timed.clear()

    def postpone_questions(self, later: "Outbox") -> None:
        """Move the questions to a later outbox, before its own. The other messages stay here."""
        later.turn_game[:0] = self.turn_game
        later.turn_ply[:0] = self.turn_ply
        later.turn_cell[:0] = self.turn_cell
        later.turns_timed[:0] = self.turns_timed
        later.openings[:0] = self.openings
        self.forget_turns()
        self.openings.clear()

    def split(self, most_moves: int) -> "Outbox":
        """Keep starts with at most this many moves in total (at least one start) and their games; return the rest."""
        move_totals = list(accumulate(game.ply for game in self.starts))
        start_count = max(1, bisect_right(move_totals, most_moves))
        later_outbox = Outbox()
        self.starts, later_outbox.starts = self.starts[:start_count], self.starts[start_count:]
        later = {game.handle for game in later_outbox.starts}
        rows = list(zip(self.turn_game, self.turn_ply, self.turn_cell, strict=True))
        for outbox, is_later in ((self, False), (later_outbox, True)):
            turns = [row for row in rows if (row[0] in later) is is_later]
            outbox.turn_game = [game for game, _, _ in turns]
            outbox.turn_ply = [ply for _, ply, _ in turns]
            outbox.turn_cell = [cell for _, _, cell in turns]
        self.turns_timed, later_outbox.turns_timed = _partition(self.turns_timed, later)
        self.ends, later_outbox.ends = _partition(self.ends, later)
        return later_outbox


def _partition(games: list["Game"], later: set[int]) -> tuple[list["Game"], list["Game"]]:
    """Return the games that are not in `later`, and those that are."""
    return [game for game in games if game.handle not in later], [game for game in games if game.handle in later]


GameKey = tuple[int, int, int]
"""The tournament, the ordinal of the slot, and the attempt."""


@dataclass(slots=True, eq=False, repr=False)
class Player:
    """The arbiter's state of a player: its running games and its outbox."""

    key: int
    margin_us: int = MARGIN_US
    """The time margin of its moves in tournaments without their own. It can change at any time."""
    network_us: int = field(default=0, init=False)
    """Time not charged for each of its moves: the network time of a question and its answer."""
    games: "dict[int, Game]" = field(default_factory=dict, init=False)
    outbox: Outbox = field(default_factory=Outbox, init=False)
    opens: bool = field(default=False, init=False)
    """Whether the player can agree on openings. If not, the arbiter makes the usual choices for it."""
    stored_ends: bool = field(default=False, init=False)
    """Whether the player learns the end of a game only after the game is stored."""

    def resend(self) -> None:
        """Refill the outbox after the player lost its state: a start for each running game, and the open questions."""
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
        """Return the outbox and replace it with an empty one."""
        outbox = self.outbox
        self.outbox = Outbox()
        return outbox


JUDGE = Player(0)
"""The mover of a game whose position waits for a proof (`Adjudication.exact`): no player can answer meanwhile."""


@dataclass(slots=True, eq=False, repr=False)
class Game:
    """One attempt to play a slot."""

    handle: int
    unit: Unit
    slot: ScheduledGame
    players: tuple[Player, Player]
    time_factor: float | None = None
    """The number by which its times are multiplied (`machine_speed`); None if they are those of the tournament.

    A game keeps it on another machine, so that its clocks stay those of one time control.
    """
    conditions: GameConditions = field(init=False)
    limits: tuple[TimeControl | None, TimeControl | None] = field(init=False)
    """The time control of each side, scaled; None without a limit."""
    mover: Player = field(init=False)
    waiting: Player = field(init=False)
    own: int = field(default=0, init=False)
    """The mover's stones."""
    opponent: int = field(default=0, init=False)
    ply: int = field(default=0, init=False)
    moves: list[int] = field(default_factory=list, init=False)
    opening_plies: int = field(default=0, init=False)
    """Moves on the board when it begins: of a given opening, or placed by agreement."""
    times_us: list[int] = field(default_factory=list, init=False)
    left_us: list[int] = field(init=False)
    """The time left on each side's clock: the rest of its base time, or the limit of each move; 0 without a limit."""
    scores: dict[int, float] | None = field(default=None, init=False)
    """The mover's scores by ply, if they are stored. The last one can be of a move that was not made."""
    comments: dict[int, str] = field(init=False)
    """The bots' comments by ply, if the tournament keeps scores; also of an answer that was not a legal move."""
    thoughts: dict[int, Thought] = field(init=False)
    """What the bots' searches reported by ply, if the tournament keeps scores."""
    result: Result = field(init=False)
    """Set at the end, like `termination`."""
    termination: Termination = field(init=False)
    fault: str = field(default="", init=False)
    """Why the loser lost, if it lost through a known fault of its own: a phrase that follows "it"."""

    def __post_init__(self) -> None:
        self.conditions = conditions = self.unit.conditions
        self.mover, self.waiting = self.players
        if conditions.timed:
            self.limits = _limits(conditions, self.slot, self.time_factor)
            self.left_us = [0 if limit is None else limit.start_us for limit in self.limits]
        else:
            self.limits, self.left_us = _NO_LIMITS, _NO_CLOCKS
        if conditions.keep_scores:
            self.scores, self.comments, self.thoughts = {}, {}, {}
        else:
            self.comments, self.thoughts = _NO_COMMENTS, _NO_THOUGHTS

    @property
    def opening(self) -> OpeningChoice:
        """Return the mover's opening choice. Valid before the game has begun, while `ply` is below 0."""
        variant = self.conditions.variant
        base = parse_variant(base_name(variant.name))
        clock_us = 0 if self.time is None else self.limit_us() or 1
        seed = side_seeds(self.conditions.seed, [self.slot[0]], [self.ply & 1])[0]
        return OpeningChoice(base, variant.agreement, tuple(self.moves), seed, clock_us)

    @property
    def key(self) -> GameKey:
        """Return the key of this attempt to play the slot."""
        return self.conditions.tournament, self.slot[0], self.unit[1]

    @property
    def seed(self) -> int:
        """Return the seed from which both sides' seeds follow. Code that needs thousands computes them together."""
        return game_seed(self.conditions.seed, self.slot[0])

    @property
    def time(self) -> TimeControl | None:
        """Return the mover's time control; None without a limit."""
        return self.time_of(self.ply & 1)

    def time_of(self, side: int) -> TimeControl | None:
        """Return a side's time control; None without a limit."""
        return self.limits[side]

    def change_sides(self) -> None:
        """Let the other player move first, as the players have agreed."""
        ordinal, first, second = self.slot
        self.slot = ScheduledGame(ordinal, second, first)
        self.players = self.players[::-1]
        self.limits = self.limits[::-1]
        self.left_us = self.left_us[::-1]

    def side_of(self, player: Player) -> int:
        """Return 0 if the player moves first, else 1."""
        return 0 if player is self.players[0] else 1

    def limit_us(self) -> int:
        """Return the limit of this move. Call it only if the mover has a limit."""
        assert self.time is not None
        return self.time.limit_us(self.left_us[self.ply & 1])

    def margin_us(self, player: Player) -> int:
        """Return the time margin of the player's moves in this game."""
        return self.conditions.margin_ms * 1000 or player.margin_us

    @property
    def is_undecided(self) -> bool:
        """Return whether the game is running, or was ended as void. `result` does not exist before the end."""
        return getattr(self, "result", Result.VOID) is Result.VOID

    def so_far(self) -> GameSoFar:
        """Return the journal record of the game up to its last move."""
        unit, (ordinal, first, second) = self.unit, self.slot
        conditions = unit.conditions
        return GameSoFar(
            tournament=conditions.tournament,
            ordinal=ordinal,
            attempt=unit.attempt,
            first=first,
            second=second,
            moves=pack_moves(self.moves, conditions.variant.cells),
            # A game that was abandoned or lost can have the time of a move that was not made.
            times=pack_times(self.times_us),
            first_clock_us=self.left_us[0],
            second_clock_us=self.left_us[1],
            opening_plies=self.opening_plies,
            scores=pack_scores(self.scores, len(self.moves)),
            comments=pack_comments(self.comments),
            thoughts=pack_thoughts(self.thoughts),
            time_factor=self.time_factor,
        )


def _limits(
    conditions: GameConditions, slot: ScheduledGame, time_factor: float | None
) -> tuple[TimeControl | None, TimeControl | None]:
    first, second = conditions.limits[slot[1]], conditions.limits[slot[2]]
    if time_factor is None:
        return first, second
    return first and first.scaled(time_factor), second and second.scaled(time_factor)


class LostGame(NamedTuple):
    """A game that a player lost because its process died or could not start."""

    tournament: int
    ordinal: int
    side: int
    """The loser's side: 0 moved first, 1 second."""
    ply: int
    moves: tuple[int, ...] = ()
    """The moves of the game, if known."""


def running_games(player: Player) -> tuple[LostGame, ...]:
    """Return the games that the player loses if its process ends now."""
    return tuple(
        LostGame(game.conditions.tournament, game.slot[0], game.side_of(player), game.ply, tuple(game.moves))
        for game in player.games.values()
    )
