"""Hints: the moves that a reference bot would play for a person."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from noughts_bots.connection.thinking_thread import Thinker, Work
from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.bot import Move
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, Variant

Computed = TypeVar("Computed")

_HINT_MICROSECONDS = 2_000_000
"""The time that the bot has for a hint."""
_SMALL_CELLS = 9
"""Size of the boards that `minimax` solves at once."""


@dataclass(frozen=True, slots=True)
class Hint:
    cell: int
    by: str
    """The bot's name."""
    score: float | None
    """The bot's score of the move, on its own scale; None if it has none."""


def choose_with_score(bot: BuiltInBot, position: Position) -> tuple[int, float | None]:
    """Return the bot's move and its score."""
    move = bot.choose(position)
    if isinstance(move, Move):
        return move.cell, move.score
    assert isinstance(move, int)
    # A bot without a clock returns only a cell, but `consider` has its score.
    return move, bot.consider(position).scores.get(move) if isinstance(bot, CandidateBot) else None


def adviser(variant: Variant) -> tuple[str, BuiltInBot]:
    """Return the spec and the best reference bot that answers soon on this board."""
    # Prefer the fastest win, not one that can come later.
    solvers = ("minimax:faster=true",) if variant.cells <= _SMALL_CELLS else ()
    # With gravity there are few moves to search.
    for spec in (*solvers, "threats", f"nextstep:depth={4 if variant.gravity else 2}", "first-free"):
        bot = make_bot(parse_spec(spec))
        with suppress(VariantRefused):
            bot.require(variant)
            return spec, bot
    raise AssertionError(variant.name)


class Adviser:
    """Computes hints in a thread of its own. Create it inside a running event loop."""

    def __init__(self) -> None:
        self._thinker = Thinker()
        self._variant: Variant | None = None
        self._bot: tuple[str, BuiltInBot] | None = None

    async def hint(self, position: Position) -> Hint:
        """Return a reference bot's move in this position, after about two seconds."""
        if self._bot is None or self._variant is not position.variant:
            self._variant = position.variant
            self._bot = adviser(position.variant)
        spec, bot = self._bot
        if spec == "threats":
            position.own_clock_us = position.opponent_clock_us = position.limit_us = _HINT_MICROSECONDS
        cell, score = await compute_in_thread(self._thinker, lambda: choose_with_score(bot, position))
        return Hint(cell, bot.name, score)


async def compute_in_thread(thinker: Thinker, compute: Callable[[], Computed]) -> Computed:
    """Return the result of a function that runs in the thread. Raises the function's error."""
    work = Work()
    results = list[Computed]()
    thinker.put(lambda: results.append(compute()), work)
    await work.wakeup.wait()
    if work.failure is not None:
        raise work.failure
    return results[0]
