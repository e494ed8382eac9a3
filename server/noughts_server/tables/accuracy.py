"""The accuracy of a bot as tables show it: only with enough decisions to mean something."""

LEAST_DECISIONS = 30
"""A bot that is soon lost has few decisions, and could have kept all of them."""


def shown_accuracy(decisions: int, blunders: int) -> float | None:
    """Return the share of decisions without a blunder; None for fewer than 30 decisions."""
    return 1 - blunders / decisions if decisions >= LEAST_DECISIONS else None
