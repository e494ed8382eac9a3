"""The accuracy of a bot as tables show it: they omit it if the bot had too few decisions."""

LEAST_DECISIONS = 30
"""With fewer decisions the share says little: a bot that is soon lost has few decisions, possibly without a blunder."""


def shown_accuracy(decisions: int, blunders: int) -> float | None:
    """Return the share of decisions without a blunder; None for fewer than `LEAST_DECISIONS` decisions."""
    return 1 - blunders / decisions if decisions >= LEAST_DECISIONS else None
