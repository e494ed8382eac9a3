"""A game as the screen shows it, and the interface of everything that supplies its moves."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from noughts_referee.rules import Variant

YOU = "You"
"""The name of the person at this keyboard, if there is only one."""


@dataclass(frozen=True, slots=True)
class ShownPlayer:
    """A player as the screen shows it."""

    name: str
    mark: str
    clock: str | None = None
    """The time left, as shown; None without a clock."""
    wins: int | None = None
    """The games won so far; None if games are not counted."""


@dataclass(frozen=True, slots=True)
class ShownGame:
    """A game as the screen shows it, at one moment."""

    variant: Variant
    caption: str
    """The name of the game on the screen, e.g. `game 2`."""
    players: tuple[ShownPlayer, ShownPlayer]
    """The player who moves first, then the other one."""
    moves: tuple[int, ...]
    status: str
    """The status line: the player to move, how the game ended, or the name of the game."""
    over: bool
    tally: tuple[tuple[str, int], ...] = ()
    """The games so far in rows: wins of one player, draws, wins of the other one; empty if they are not counted."""
    scores: Mapping[int, float] = field(default_factory=dict)
    """The mover's score of its move, on its own scale, by ply."""
    times_ms: tuple[float, ...] = ()
    """The thinking times of the first moves, in milliseconds."""
    opening_plies: int = 0
    winning: frozenset[int] = frozenset()
    """The cells of the lines that the last move completed."""
    winning_colour: str = ""
    forbidden: frozenset[int] = frozenset()
    """The free cells that the person to move must not play."""

    @property
    def mover(self) -> int | None:
        """The index of the player to move; None after the end."""
        return None if self.over else len(self.moves) & 1

    @property
    def stones(self) -> dict[int, str]:
        """The marks on the board by cell."""
        return {cell: self.players[ply & 1].mark for ply, cell in enumerate(self.moves)}

    def at_ply(self, ply: int) -> "ShownGame":
        """Return the game as it was after this number of moves."""
        if ply >= len(self.moves):
            return self
        return replace(self, moves=self.moves[:ply], over=False, winning=frozenset(), forbidden=frozenset())


class MoveSource(ABC):
    """Supplies the moves of the shown game: a game on this machine, a game on a server, a feed, or a file."""

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Called when the screen must be redrawn; the application sets it."""
        self.leave: Callable[[], None] = lambda: None
        """Closes the screen; the application sets it."""
        self.notice = ""
        """A line e.g. about the connection; empty if there is no problem."""

    async def run(self) -> None:
        """Run during the screen's lifetime, until cancelled. An error closes the screen."""
        await asyncio.Event().wait()

    @property
    @abstractmethod
    def game(self) -> ShownGame:
        """The game to show now."""
