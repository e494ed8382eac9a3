"""What an author writes: a bot is a class with one method."""

import inspect
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from noughts_referee.rules import Choice, OpeningChoice, Position, Result, Termination, Variant


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Thinking time of a side, in seconds; all zero where there is no limit.

    There may be both a bank and a limit of a move: `Position.limit_us` is what the next move may take.
    """

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
    """`tournaments/ID/games/NUMBER`."""
    variant: Variant
    side: int
    """The bot's side: 0 moves first, 1 second."""
    opponent: str
    """The opponent's name."""
    time: TimeLimits = TimeLimits()
    """The bot's own."""
    opponent_time: TimeLimits = TimeLimits()
    """The opponent's: the same, unless bots have times of their own in this tournament."""
    moves_before: int = field(default=0, compare=False)
    """How many moves the game had when the bot heard of it: an opening, the opponent's first move, or all before
    a reconnect."""


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
    """Raised by `choose`, or among the answers of `choose_batch`: the bot resigns the game.

    Who gives up a lost game needs no more. `Resign("why")` is for a bot that cannot go on: the line is stored with the
    game, and told as a fault.
    """


class Exhausted(Resign):
    """Raised by `choose`: what the bot may use up for a move is used up (fuel), and it loses on time."""


Answer = int | Move | Resign
"""What a bot makes of one position: a cell, with a score perhaps, or its resignation."""


class Bot:
    """A player. Subclass it and write `choose` or `choose_batch`; nothing else is required.

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
    it is spelled, and `mnk` covers every m,n,k game: `mnk:7,6,4`, `tictactoe`, `gomoku`, but not `gomoku:exact`;
    `cells<=16` covers every board of at most 16 cells. While it is online, the server does not let it be entered in
    others."""

    def choose(self, position: Position) -> int | Move | Awaitable[int | Move]:
        """The cell to play, one of `position.free`; or a `Move`, if the bot tells a score. May be `async def`.

        `position.rng()` is the only source of chance a bot should use: the same game can then be played again.
        Raise `Resign` to resign the game; any other exception resigns it, too, and is logged.
        """
        if type(self).choose_batch is Bot.choose_batch:
            raise NotImplementedError(f"{type(self).__name__} needs a method `choose(self, position)`")
        answer: Answer = read_batch(self.choose_batch((position,)), 1)[0]
        if isinstance(answer, Resign):
            raise answer
        return answer

    def choose_batch(self, positions: Sequence[Position]) -> Iterable[Answer]:
        """An answer to each position, in their order: a cell, a `Move`, or a `Resign` (returned, not raised).

        Optional: a bot that has it is asked all questions of a frame at once, which is what arrays and neural networks
        want. All positions of a call are of one variant; there may be one or a thousand. An array of numpy is as good
        as a list. The answers leave together, so in timed games each clock pays for the whole batch (a bot gets one
        timed game at a time unless it asks for more). An exception resigns all games of the batch, and is logged;
        so does any other number of answers.

        Where both are written, the class that is nearer to the bot's own decides: a subclass that only overrides
        `choose` is asked by that.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `choose_batch(self, positions)`")

    def open(self, opening: OpeningChoice) -> Choice:
        """What it chooses before a game that begins by agreement (`--opening-rule swap` or `swap2`).

        `Put` as many stones as `opening.may_put` says, X's and O's in turn, or `Take` a side where `opening.may_take`.
        A choice that is not allowed loses; raise `Resign` to give up. The clock runs as for a move. Without this method
        it is `opening.usual()`: stones that hardly help each other, and then the side that looks better.
        """
        return opening.usual()

    def start(self, game: GameInfo) -> None:
        """Called when a game begins, before its first question; also when it is sent again after a reconnection."""

    def end(self, game: GameInfo, end: GameEnd) -> None:
        """Called when a game is over."""


def chooses_in_batches(bot: Bot) -> bool:
    """Whether the bot is asked by `choose_batch`: the nearest of its classes that has either method has that one."""
    if "choose" in vars(bot):
        return False
    for kind in type(bot).__mro__:
        if kind is Bot:
            break
        if "choose_batch" in vars(kind):
            return True
        if "choose" in vars(kind):
            break
    return False


def chooses_asynchronously(bot: Bot) -> bool:
    """Whether the bot has `async def choose`. Raises TypeError for `async def choose_batch`, which there is not."""
    if not chooses_in_batches(bot):
        return inspect.iscoroutinefunction(bot.choose)
    if inspect.iscoroutinefunction(bot.choose_batch):
        raise TypeError("choose_batch: got `async def`, expected a plain method; `choose` may be asynchronous")
    return False


def read_batch(answers: Any, count: int) -> list[Any]:
    """What `choose_batch` has returned, as a new list. Raises TypeError, and ValueError unless there are `count`."""
    # Arrays of numpy, and those of the standard library, make plain numbers much faster than one by one.
    read: list[Any] = answers.tolist() if hasattr(answers, "tolist") else list(answers)
    if len(read) != count:
        raise ValueError(
            f"choose_batch: got {len(read)} answers, expected {count}, one for each position in their order"
        )
    return read
