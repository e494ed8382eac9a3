"""The base class of bots that come with Noughts, with the variants that they play and hooks for their processes."""

from typing import ClassVar

from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Variant, covers


class BuiltInBot(Bot):
    """A reference bot or a language model. Subclasses write `plays` if `variants` is not enough."""

    name: ClassVar[str]
    """The bot's name in specs."""
    boards: ClassVar[str] = "every variant"
    """The variants it plays, in words."""
    advice: ClassVar[str] = "choose such a variant, or a bot that plays every one, e.g. `nextstep`"
    """Advice for a variant that it does not play."""
    heeds_forbidden_moves: ClassVar[bool] = False
    """Whether it supports forbidden cells and blocked lines. Other bots do not play variants with these."""

    changes: str = ""
    """In words, what its choice depends on besides the position; empty for nothing else.

    A bot with such a dependence cannot be exported as a table.
    """

    wait: float = 0.0
    """The longest time that a move waits for a busy endpoint, in seconds. Runs on this machine add it to the margin."""

    def plays(self, variant: Variant) -> bool:
        return covers(self.variants, variant.name)

    def require(self, variant: Variant) -> None:
        """Raise VariantRefused unless the bot plays this variant."""
        if (variant.forbids is not None or variant.blocked_ends) and not self.heeds_forbidden_moves:
            reason = "forbids moves" if variant.forbids is not None else "has lines that can be blocked"
            raise VariantRefused(
                f"bot '{self.name}'",
                f"variant {variant.name}, which {reason}",
                "a variant in which every free cell can be played and every line wins",
                "choose such a variant, or a bot that respects forbidden moves, e.g. `random`",
            )
        if not self.plays(variant):
            raise VariantRefused(
                f"bot '{self.name}'", f"variant {variant.name} ({variant.cells} cells)", self.boards, self.advice
            )

    def prepare(self) -> None:
        """Acquire resources that only one process can have, such as a lock.

        It is called before login in the process that plays. A second call changes nothing.
        """

    def close(self) -> None:
        """Save and release everything. It is called after the last game."""

    @property
    def busy(self) -> bool:
        """Return whether the bot waits for the end of a game."""
        return False
