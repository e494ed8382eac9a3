"""A bot that evaluates each position once and knows which variants it plays."""

from noughts_bots.reference.candidate_bot import CandidateBot, Considered
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_referee.rules import Position, Variant

# The cache is emptied when its boards together have this many cells. It has space for every board of twelve cells that
# a session is likely to meet, or for some thousands of boards of 15x15 (tens of megabytes in either case).
_REMEMBERED_CELLS = 1 << 20


class CachingBot(BuiltInBot, CandidateBot):
    """A bot that caches its answers. Subclasses write `work_out` and, if needed, `plays`.

    Caching is correct because the answer depends only on the stones and their owners, never on randomness.
    """

    changes: str = ""
    """In words, what else its choice depends on besides the position. Such a bot cannot be exported as a table."""

    def __init__(self) -> None:
        self._considered: dict[tuple[Variant, int, int, int], Considered] = {}

    def work_out(self, position: Position) -> Considered:
        """Return the answer to a position that the bot plays and has not cached."""
        raise NotImplementedError

    def consider(self, position: Position) -> Considered:
        key = (position.variant, position.own, position.opponent, position.side)
        considered = self._considered.get(key)
        if considered is None:
            self.require(position.variant)
            considered = self.work_out(position)
            if (len(self._considered) + 1) * position.variant.cells > _REMEMBERED_CELLS:
                self._considered.clear()
            self._considered[key] = considered
        return considered

    def forget(self, variant: Variant, own: int, opponent: int) -> None:
        """Drop a position from the cache."""
        for side in (0, 1):
            self._considered.pop((variant, own, opponent, side), None)
