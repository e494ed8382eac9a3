"""A bot that works out each position once, and says which variants it plays."""

from typing import ClassVar

from noughts_bots.errors import VariantRefused
from noughts_bots.reference.candidate_bot import CandidateBot, Considered
from noughts_referee.rules import Position, Variant, covers

# Answers are forgotten when together they hold this many cells: every board of twelve cells that a session is
# likely to meet is kept, and some thousands of boards of 15x15 (tens of megabytes in either case).
_REMEMBERED_CELLS = 1 << 20


class CachingBot(CandidateBot):
    """A bot that keeps what it made of a position. Subclasses write `work_out` and, if need be, `plays`.

    Remembering is sound because what a bot considers depends on the stones and on whose they are, never on chance.
    """

    name: ClassVar[str]
    """The bot's name in specs."""
    boards: ClassVar[str] = "every variant"
    """The variants it plays, in words."""
    advice: ClassVar[str] = "choose such a variant, or a bot that plays every one, e.g. `nextstep`"
    """What to do about a variant that it does not play."""
    heeds_forbidden_moves: ClassVar[bool] = False
    """Whether it knows that a variant may forbid a side cells that are free, and that lines may be shut. The others
    play no such variant."""
    changes: str = ""
    """What its choice depends on besides the position, in words; such a bot cannot be written down as a table."""

    def __init__(self) -> None:
        self._considered: dict[tuple[Variant, int, int, int], Considered] = {}

    def plays(self, variant: Variant) -> bool:
        """Whether the bot plays this variant."""
        return covers(self.variants, variant.name)

    def require(self, variant: Variant) -> None:
        """Raises VariantRefused unless the bot plays this variant."""
        if (variant.forbids is not None or variant.blocked_ends) and not self.heeds_forbidden_moves:
            what = "forbids moves" if variant.forbids is not None else "knows lines that are shut"
            raise VariantRefused(
                f"bot '{self.name}'",
                f"variant {variant.name}, which {what}",
                "a variant in which every free cell may be played, and every line wins",
                "choose such a variant, or a bot that heeds what is forbidden, e.g. `random`",
            )
        if not self.plays(variant):
            raise VariantRefused(
                f"bot '{self.name}'", f"variant {variant.name} ({variant.cells} cells)", self.boards, self.advice
            )

    def prepare(self) -> None:
        """Called once in the process that will play, before it logs in: takes what only one may hold."""

    def close(self) -> None:
        """Called when it will play no more: saves and gives back what it holds."""

    @property
    def busy(self) -> bool:
        """Whether it waits for the end of a game."""
        return False

    def work_out(self, position: Position) -> Considered:
        """What the bot makes of a position that it plays and does not remember."""
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
        """Works the position out anew when it is asked next."""
        for side in (0, 1):
            self._considered.pop((variant, own, opponent, side), None)
