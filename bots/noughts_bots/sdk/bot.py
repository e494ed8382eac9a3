"""The base class of bots: an author writes a class with one method."""

import inspect
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import index
from typing import Any, NamedTuple

from noughts_referee.rules import Choice, OpeningChoice, Position, Result, Termination, Thought, Variant
from noughts_referee.rules.thoughts import LONGEST_PV


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time control of a side, in seconds. All values are zero if there is no limit.

    A time control can have a base time and a limit of each move. `Position.limit_us` is the limit of the next move.
    """

    move: float = 0.0
    """The limit of each move."""
    bank: float = 0.0
    """The base time: the time on the clock at the start."""
    increment: float = 0.0
    """Time added after each move of the side."""


@dataclass(frozen=True, slots=True)
class GameInfo:
    """A game from a bot's point of view."""

    name: str
    """`tournaments/ID/games/NUMBER`."""
    variant: Variant
    side: int
    """The bot's side: 0 moves first, 1 second."""
    opponent: str
    """The opponent's name."""
    time: TimeLimits = TimeLimits()
    """The bot's time control."""
    opponent_time: TimeLimits = TimeLimits()
    """The opponent's time control. It differs only if bots have their own times in this tournament."""
    moves_before: int = field(default=0, compare=False)
    """The number of moves that were made before the bot received the game.

    They are the opening, the opponent's first move, or all moves before a reconnection.
    """


@dataclass(frozen=True, slots=True)
class GameEnd:
    """The end of a game."""

    result: Result
    termination: Termination
    moves: tuple[int, ...]


class Move(NamedTuple):
    """A cell to play, and the bot's score of its position. `choose` can return it instead of a plain cell."""

    cell: int
    score: float | None = None
    """The score on the bot's own scale; higher is better for the bot. None, NaN and infinities count as no score.

    Spectators see the scores of untimed games at once. In timed games they see only the last score of each side, after
    the game, unless the tournament has `live_scores`. A tournament with `keep_scores` stores all scores.

    A score can end a game only in tournaments with `--resign` or `--draw`: low scores lose the game, and scores near 0
    draw it. No score wins a game.
    """
    comment: str = ""
    """A text for the record of the game, which the server stores in tournaments with `keep_scores`.

    The server cuts a comment that is longer than `Bot.comment_bytes`, and comments that exceed its limit for a side of
    a game (default: 32 KiB). `choose_batch` cannot add comments.
    """
    depth: int | None = 0
    """The depth of the search in plies. None is the same as 0.

    Tournaments with `keep_scores` store it, like `nodes` and `pv`.
    """
    nodes: int | None = 0
    """The number of nodes of the search. None is the same as 0."""
    pv: Sequence[int] | None = ()
    """The principal variation: the cells that the bot expects, beginning with its own move. None is the same as ().

    The server keeps at most 32 cells.
    """

    @property
    def thought(self) -> Thought | None:
        """Return depth, nodes and pv; None if the bot gave none of them. Raises TypeError for values of wrong types."""
        line = () if self.pv is None else self.pv
        if not hasattr(line, "__len__"):
            raise TypeError(f"pv: got {line!r}, expected a list of cells")
        if not (self.depth or self.nodes or len(line)):
            return None
        pv = tuple(index(cell) for cell in line[:LONGEST_PV])
        return Thought(depth=index(self.depth or 0), nodes=index(self.nodes or 0), pv=pv)


class Resign(Exception):
    """Raise this in `choose`, or return it from `choose_batch`, to resign the game.

    If the bot cannot continue, add a reason: `Resign("why")`. A resignation with a reason is reported as a fault.
    """

    comment = ""
    """The comment, as in `Move`. It is ignored if `choose_batch` returns the resignation."""


class Exhausted(Resign):
    """Raise this in `choose` if the fuel of a move is used up. The bot loses on time."""


Answer = int | Move | Resign
"""A bot's answer to one position: a cell, with or without a score, or a resignation."""


class Bot:
    """A player. Subclass it and write `choose` or `choose_batch`; nothing else is required.

        class Centre(Bot):
            def choose(self, position):
                return 4 if 4 in position.free else position.free[0]

    One object plays all games of a session, many at the same time. A position contains all data of its game. Keep your
    own data of a game in `position.memo`.
    """

    max_games: int = 0
    """The largest number of concurrent games. 0: the referee's default, 1,024 games, of which 1 can be timed."""

    accepts_challenges: bool = True
    """Whether others can challenge the bot to a few unrated games while it is online."""

    stored_ends: bool = False
    """Whether `end` is called only after the game is stored, usually 0.25 s later.

    By default it is called at once. If the server is killed before it stores the game, the game is played again and can
    end differently.
    """

    variants: tuple[str, ...] = ()
    """Variants that the bot plays, e.g. `("connect4", "mnk")`; empty means all.

    A variant with several names is covered by each of them. `mnk` covers every m,n,k game: `mnk:7,6,4`, `tictactoe`,
    `gomoku`, but not `gomoku:exact`. `cells<=16` covers every board of at most 16 cells. While the bot is online, the
    server rejects its entry in other variants.
    """

    comment_bytes: int = 65_536
    """The longest comment that the server keeps, in bytes of UTF-8.

    The SDK sets it to the server's limit (default: 2,048) before the first question.
    """

    def choose(self, position: Position) -> int | Move | Awaitable[int | Move]:
        """Return the cell to play, one of `position.free`, or a `Move` with a score. The method can be `async def`.

        Use `position.rng()` as the only source of randomness, so that the same game can be played again. Raise `Resign`
        to resign the game. Any other exception is logged and also resigns it.
        """
        if type(self).choose_batch is Bot.choose_batch:
            raise NotImplementedError(f"{type(self).__name__} needs a method `choose(self, position)`")
        answer: Answer = read_batch(self.choose_batch((position,)), 1)[0]
        if isinstance(answer, Resign):
            raise answer
        return answer

    def choose_batch(self, positions: Sequence[Position]) -> Iterable[Answer]:
        """Return an answer to each position, in their order: a cell, a `Move`, or a `Resign` (returned, not raised).

        This method is optional. A bot with this method gets all questions of a frame at once, from one position to a
        thousand, all of one variant. Neural networks and array code are faster this way. The result can be a list or a
        numpy array. The answers are sent together, so in timed games each clock is charged for the whole batch. By
        default a bot gets one timed game at a time. An exception, or a wrong number of answers, is logged and resigns
        all games of the batch.

        If both methods exist, the most derived class decides: a subclass that overrides only `choose` uses `choose`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `choose_batch(self, positions)`")

    def open(self, opening: OpeningChoice) -> Choice:
        """Return the choice before a game that begins by agreement (`--opening-rule swap` or `swap2`).

        `Put` exactly `opening.may_put` stones, X's and O's in turn, or `Take` a side if `opening.may_take`. A choice
        that is not allowed loses. Raise `Resign` to give up. The clock runs as for a move. Default: `opening.usual()`,
        which puts stones far from each other and then takes the side that looks better.
        """
        return opening.usual()

    def start(self, game: GameInfo) -> None:
        """Called when a game begins, before its first question, and again after a reconnection."""

    def end(self, game: GameInfo, end: GameEnd) -> None:
        """Called when a game is over."""


_METHODS = ("choose_arrays", "choose_batch", "choose")


def method_of(bot: Bot) -> str:
    """Return the name of the method that answers: `choose`, `choose_batch` or `choose_arrays`.

    It is the method of the most derived class. If that class has several of them, `choose_arrays` comes before
    `choose_batch`, and `choose_batch` before `choose`.
    """
    if "choose" in vars(bot):
        return "choose"
    subclasses = takewhile(lambda base: base is not Bot, type(bot).__mro__)
    return next((name for subclass in subclasses for name in _METHODS if name in vars(subclass)), "choose")


def chooses_asynchronously(bot: Bot) -> bool:
    """Return whether the bot has `async def choose`. Raises TypeError for the other methods as `async def`."""
    name = method_of(bot)
    is_async = inspect.iscoroutinefunction(getattr(bot, name))
    if is_async and name != "choose":
        raise TypeError(f"{name}: got `async def`, expected a plain method; `choose` may be asynchronous")
    return is_async


def read_batch(answers: Any, count: int) -> list[Any]:
    """Return the result of `choose_batch` as a new list. Raises TypeError, or ValueError for a wrong count."""
    # `tolist` of numpy and standard arrays is much faster than conversion one by one.
    results: list[Any] = answers.tolist() if hasattr(answers, "tolist") else list(answers)
    if len(results) != count:
        raise ValueError(
            f"choose_batch: got {len(results)} answers, expected {count}, one for each position, in the same order"
        )
    return results
