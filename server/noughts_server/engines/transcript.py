"""All that is said to an engine and by it, with times, for who wants to read it."""

from collections.abc import Sequence
from typing import Protocol


class Transcript(Protocol):
    """Hears what is said at one seat."""

    def told(self, commands: Sequence[str]) -> None:
        """To the engine."""

    def heard(self, line: str) -> None:
        """By the engine."""
