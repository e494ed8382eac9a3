"""The base class of most reference bots: it remembers the evaluation of each position."""

from noughts_bots.reference.candidate_bot import CandidateBot, Evaluation
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_referee.rules import Position, Variant

_MOST_CACHED_CELLS = 1 << 20
"""The cache is emptied when its boards together have this many cells (tens of megabytes).

This is enough for every board of twelve cells that a session is likely to meet, or for some thousands of 15x15.
"""


class CachingBot(BuiltInBot, CandidateBot):
    """A bot that caches its evaluations. Subclasses write `work_out` and, if needed, `plays`.

    Caching is correct because `work_out` depends only on the stones and the side to move. A bot whose evaluation also
    depends on the clock overrides `consider`, so that it is not cached.
    """

    def __init__(self) -> None:
        self._cache: dict[tuple[Variant, int, int, int], Evaluation] = {}

    def work_out(self, position: Position) -> Evaluation:
        """Return the evaluation of a position of a variant that the bot plays. It is called if the cache has none."""
        raise NotImplementedError

    def consider(self, position: Position) -> Evaluation:
        key = (position.variant, position.own, position.opponent, position.side)
        evaluation = self._cache.get(key)
        if evaluation is None:
            self.require(position.variant)
            evaluation = self.work_out(position)
            if (len(self._cache) + 1) * position.variant.cells > _MOST_CACHED_CELLS:
                self._cache.clear()
            self._cache[key] = evaluation
        return evaluation

    def forget(self, variant: Variant, own: int, opponent: int) -> None:
        """Drop a position from the cache."""
        for side in (0, 1):
            self._cache.pop((variant, own, opponent, side), None)
