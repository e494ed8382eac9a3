"""The modes of registration: whether newcomers can register without the help of the operator."""

from enum import StrEnum

MOST_USES = 10_000
"""The most owners that can register with one invitation."""


class Registration(StrEnum):
    """The rule of a server for new owners. The operator can always create tokens."""

    OPEN = "open"
    """Anyone, after a proof of work; and with an invitation."""
    INVITATION = "invitation"
    """Only with an invitation."""
    CLOSED = "closed"
    """Nobody."""
