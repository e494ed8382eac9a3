"""Reasons of withdrawals, cancellations, pauses and stops, as they are stored."""

from noughts_server.store.engine.schema import LONGEST_REASON


def shortened_reason(reason: str) -> str:
    """Return the reason, with three dots in place of its end if it is too long to be stored."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 3]}..."
