"""A bot that evaluates each position once and knows which variants it plays."""

from typing import ClassVar

from noughts_bots.errors import VariantRefused
from noughts_bots.reference.candidate_bot import CandidateBot, Considered
from noughts_referee.rules import Position, Variant, covers

# Answers are forgotten when together they have this many cells. This keeps every board of twelve cells that a session
# is likely to meet, and some thousands of boards of 15x15 (tens of megabytes in either case).
_REMEMBERED_CELLS = 1 << 20


class CachingBot(CandidateBot):
    """A bot that caches its answers. Subclasses write `work_out` and, if needed, `plays`.

    Caching is correct because the answer depends only on the stones and their owners, never on randomness.
    """

    name: ClassVar[str]
    """The bot's name in specs."""
    boards: ClassVar[str] = "every variant"
    """The variants it plays, in words."""
    advice: ClassVar[str] = "choose such a variant, or a bot that plays every one, e.g. `nextstep`"
    """Advice for a variant that it does not play."""
    heeds_forbidden_moves: ClassVar[bool] = False
    """Whether it supports forbidden cells and blocked lines. Other bots do not play variants with these."""
    changes: str = ""
    """What its choice depends on in addition to the position, in words. Such a bot cannot be exported as a table."""

    def __init__(self) -> None:
        self._considered: dict[tuple[Variant, int, int, int], Considered] = {}

    def plays(self, variant: Variant) -> bool:
        return covers(self.variants, variant.name)

    def require(self, variant: Variant) -> None:
        """Raise VariantRefused unless the bot plays this variant."""
        if (variant.forbids is not None or variant.blocked_ends) and not self.heeds_forbidden_moves:
            what = "forbids moves" if variant.forbids is not None else "has lines that can be blocked"
            raise VariantRefused(
                f"bot '{self.name}'",
                f"variant {variant.name}, which {what}",
                "a variant in which every free cell can be played and every line wins",
                "choose such a variant, or a bot that respects forbidden moves, e.g. `random`",
            )
        if not self.plays(variant):
            raise VariantRefused(
                f"bot '{self.name}'", f"variant {variant.name} ({variant.cells} cells)", self.boards, self.advice
            )

    def prepare(self) -> None:
        """Acquire what only one process can hold. Called once in the process that will play, before it logs in."""

    def close(self) -> None:
        """Save and release everything. Called after the last game."""

    @property
    def busy(self) -> bool:
        """Whether it waits for the end of a game."""
        return False

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
