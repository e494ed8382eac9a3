"""What an author writes: a bot is a class with one method."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import NamedTuple

from noughts_referee.rules import Position, Result, Termination, Variant


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Thinking time of each side, in seconds; all zero where there is no limit."""

    move: float = 0.0
    """Of each single move."""
    bank: float = 0.0
    """On the clock at the start."""
    increment: float = 0.0
    """Added after each of the side's moves."""


@dataclass(frozen=True, slots=True)
class GameInfo:
    """A game as a bot sees it from its start on."""

    name: str
    """`tournaments/NAME/games/NUMBER`."""
    variant: Variant
    side: int
    """The bot's side: 0 moves first, 1 second."""
    opponent: str
    """The opponent's name."""
    time: TimeLimits = TimeLimits()


@dataclass(frozen=True, slots=True)
class GameEnd:
    """How a game ended."""

    result: Result
    termination: Termination
    moves: tuple[int, ...]


class Move(NamedTuple):
    """A cell to play, and what the bot thinks of its position then. `choose` may return it instead of a plain cell."""

    cell: int
    score: float | None = None
    """On a scale of the bot's own; higher is better for the bot. None, NaN and the infinities are no score.

    Those who watch the game are shown it; it is not stored, and nothing depends on it.
    """


class Resign(Exception):
    """Raised by `choose`: the bot resigns the game."""


class Bot:
    """A player. Subclass it and write `choose`; nothing else is required.

        class Centre(Bot):
            def choose(self, position):
                return 4 if 4 in position.free else position.free[0]

    One object plays all games of a session, many at once: keep what belongs to one game in a dict by
    `GameInfo.name`, or better not at all, since the position says everything.
    """

    max_games: int = 0
    """Games it takes at once; 0 leaves it to the referee (1 in timed games, 1,024 in untimed ones)."""

    accepts_challenges: bool = True
    """Whether others may challenge it to a few unrated games while it is online."""

    variants: tuple[str, ...] = ()
    """Variants it plays, e.g. `("connect4", "mnk")`; empty means every variant. A name covers that variant, however
    it is spelled, and `mnk` covers every m,n,k game: `mnk:7,6,4`, `tictactoe`, `gomoku`, but not `gomoku:exact`. While
    it is online, the server does not let it be entered in others."""

    def choose(self, position: Position) -> int | Move | Awaitable[int | Move]:
        """The cell to play, one of `position.free`; or a `Move`, if the bot tells a score. May be `async def`.

        `position.draws()` is the only source of chance a bot should use: the same game can then be played again.
        Raise `Resign` to resign the game; any other exception resigns it, too, and is logged.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `choose(self, position)`")

    def start(self, game: GameInfo) -> None:
        """Called when a game begins, before its first question; also when it is sent again after a reconnection."""

    def end(self, game: GameInfo, end: GameEnd) -> None:
        """Called when a game is over."""
