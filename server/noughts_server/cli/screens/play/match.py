"""The state of a match: the moves, the player to move, the random choices and the score. Pure: no screen, no clock."""

from dataclasses import dataclass, field

from noughts_referee.rules import (
    Draws,
    Outcome,
    Position,
    Result,
    Termination,
    Variant,
    cell_name,
    column_name,
    game_seed,
    side_seed,
)
from noughts_server.cli.screens.play.cells import landing_cell
from noughts_server.competition.score import Score

MARKS = "XO"


class ActionRefused(Exception):
    """An action that is not possible now; the message says why. The state is unchanged."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A player of a match."""

    name: str
    person: bool
    """Whether it is a person at this keyboard."""


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A game that is over."""

    first: int
    """The player who moved first: 0 or 1."""
    seed: int
    moves: tuple[int, ...]
    outcome: Outcome

    @property
    def winner(self) -> int | None:
        """The player who won; None if none did."""
        side = self.outcome.winner
        return None if side is None else (self.first + side) % 2


@dataclass
class Match:
    """A sequence of games between player 0, who owns the match, and player 1.

    The seed decides who moves first in the first game and which mark player 0 has, unless they are given. After a
    random start the players take turns to move first; in a game that replaces an abandoned one, the same player does.
    """

    variant: Variant
    players: tuple[Participant, Participant]
    seed: int = 0
    always_first: int | None = None
    """The player who moves first in every game; None: random for the first game, then alternating."""
    mark: str | None = None
    """Player 0's mark on the screen, X or O; None: random."""
    played: list[PlayedGame] = field(default_factory=list)
    """The games that are over, without the current one."""
    first: int = field(init=False)
    """The player who began the current game."""
    moves: list[int] = field(init=False, default_factory=list)
    ended: PlayedGame | None = field(init=False, default=None)
    """The current game when it is over."""
    marks: tuple[str, str] = field(init=False)
    """The marks of players 0 and 1 on the screen. In records the first mover is X."""

    def __post_init__(self) -> None:
        draws = Draws(self.seed, 0)
        self._random_first = draws.below(2)
        random_mark = MARKS[draws.below(2)]
        mark = self.mark or random_mark
        self.marks = (mark, MARKS[1 - MARKS.index(mark)])
        self.begin()

    # Actions.

    def begin(self, first: int | None = None) -> None:
        """Start a new game, begun by player `first` if given. Keep the current one if it is over."""
        if self.ended is not None:
            self.played.append(self.ended)
        self.ended = None
        self.moves = []
        if first is None:
            first = self.always_first
        if first is None:
            first = (self._random_first + len(self.played)) % 2
        self.first = first

    def play(self, cell: int) -> int:
        """Play `cell` for the player to move, and return where the stone landed. Raises ActionRefused."""
        if self.ended is not None:
            raise ActionRefused("The game is over: press n for a new one.")
        position = self.position
        landing = landing_cell(self.variant, self.variant.free_cells(position.own | position.opponent), cell)
        if landing is None:
            if self.variant.gravity:
                raise ActionRefused(f"Column {column_name(cell % self.variant.columns)} is full: choose another one.")
            raise ActionRefused(f"{cell_name(self.variant, cell)} is taken: choose a free cell.")
        if (kind := position.forbidden(landing)) is not None:
            raise ActionRefused(f"{cell_name(self.variant, landing)} is forbidden ({kind}): choose another cell.")
        position.play(landing)
        self.moves.append(landing)
        outcome = position.outcome()
        if outcome is not None:
            self.end(outcome)
        return landing

    def end(self, outcome: Outcome) -> None:
        """End the current game with this outcome."""
        self.ended = PlayedGame(self.first, self.game_seed, tuple(self.moves), outcome)

    def undo(self) -> None:
        """Return to the last turn of a person, also from the end of a game. Raises ActionRefused."""
        ply = len(self.moves) - 1
        while ply >= 0 and not self.players[self.mover(ply)].person:
            ply -= 1
        if ply < 0:
            raise ActionRefused("There is nothing to take back.")
        del self.moves[ply:]
        self.ended = None

    # State.

    def mover(self, ply: int) -> int:
        """Return the player who makes the move at `ply`."""
        return (self.first + ply) % 2

    @property
    def turn(self) -> int:
        """The player to move: 0 or 1."""
        return self.mover(len(self.moves))

    @property
    def position(self) -> Position:
        """The position, with the seed of the side to move in this game."""
        return Position.after(self.variant, self.moves, seed=side_seed(self.game_seed, len(self.moves) % 2))

    @property
    def game_seed(self) -> int:
        return game_seed(self.seed, len(self.played) + 1)

    @property
    def games(self) -> list[PlayedGame]:
        """The finished games, the current one included if it is over."""
        return self.played if self.ended is None else [*self.played, self.ended]

    @property
    def score(self) -> Score:
        """Player 0's wins, draws and losses. Void games do not count."""
        winners = [game.winner for game in self.games if game.outcome.result is not Result.VOID]
        return Score(winners.count(0), winners.count(None), winners.count(1))

    @property
    def stones(self) -> dict[int, str]:
        """The marks on the board by cell."""
        return {cell: self.marks[self.mover(ply)] for ply, cell in enumerate(self.moves)}

    @property
    def forbidden(self) -> frozenset[int]:
        """The free cells that are forbidden to the person to move; empty while a bot thinks."""
        if self.variant.forbids is None or self.ended is not None or not self.players[self.turn].person:
            return frozenset()
        position = self.position
        free = self.variant.free_cells(position.own | position.opponent)
        return frozenset(cell for cell in free if position.forbidden(cell) is not None)

    @property
    def winning(self) -> frozenset[int]:
        """The cells of the lines that the last move completed."""
        if self.ended is None or self.ended.outcome.termination is not Termination.LINE:
            return frozenset()
        return frozenset(self.variant.won_with(self.moves))
