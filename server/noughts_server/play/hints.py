"""Hints: what a reference bot would play in the place of a person."""

from collections.abc import Iterator
from dataclasses import dataclass

from noughts_bots.bot import Move
from noughts_bots.errors import VariantRefused
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.specs import make_bot, parse_spec
from noughts_bots.thinking_thread import Thinker, Work
from noughts_referee.rules import Position, Variant

_HINT_MICROSECONDS = 2_000_000
_SMALL_CELLS = 9
"""Of boards that `minimax` sees through in no time."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A move that somebody suggests."""

    cell: int
    by: str
    """The bot's name."""
    score: float | None
    """What the bot thinks of it, on its own scale; None if it does not say."""


def scored(bot: CachingBot, position: Position) -> tuple[int, float | None]:
    """The bot's move, and what it thinks of it."""
    move = bot.choose(position)
    if isinstance(move, Move):
        return move.cell, move.score
    # Without a clock it keeps its scores to itself, which are worked out all the same.
    assert isinstance(move, int)
    return move, bot.consider(position).scores.get(move)


def adviser(variant: Variant) -> tuple[str, CachingBot]:
    """The best reference bot that answers soon on this board, with its spec."""
    for spec in _advisers(variant):
        bot = make_bot(parse_spec(spec))
        try:
            bot.require(variant)
        except VariantRefused:
            continue
        return spec, bot
    raise AssertionError(variant.name)


def _advisers(variant: Variant) -> Iterator[str]:
    if variant.cells <= _SMALL_CELLS:
        # So it takes the line that is there now, and not one that it can have later.
        yield "minimax:faster=true"
    yield "threats"
    # Where stones fall there are few moves to look at.
    yield f"nextstep:depth={4 if variant.gravity else 2}"
    yield "first-free"


class Adviser:
    """Gives hints, and thinks about them in a thread of its own. Made inside a running loop."""

    def __init__(self) -> None:
        self._thinker = Thinker()
        self._variant: Variant | None = None
        self._bot: tuple[str, CachingBot] | None = None

    async def hint(self, position: Position) -> Hint:
        """What a reference bot would play there, after two seconds or so."""
        if self._bot is None or self._variant is not position.variant:
            self._variant, self._bot = position.variant, adviser(position.variant)
        spec, bot = self._bot
        if spec == "threats":
            position.own_clock_us = position.opponent_clock_us = position.limit_us = _HINT_MICROSECONDS
        work, found = Work(), list[Hint]()

        def think() -> None:
            cell, score = scored(bot, position)
            found.append(Hint(cell, bot.name, score))

        self._thinker.put(think, work)
        await work.wakeup.wait()
        if work.failure is not None:
            raise work.failure
        return found[0]
