"""The organiser's choice of openings, as stored with a tournament."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

MOST_PLIES = 50
"""Limit for random openings."""
MOST_OPENINGS = 10_000
"""Limit for a list."""
MOST_CHARACTERS = 1_000_000
"""Limit for a stored list."""
LONGEST_NAME = 100


class OpeningsKind(StrEnum):
    """The source of openings."""

    NONE = "none"
    RANDOM = "random"
    BALANCED = "balanced"
    LIST = "list"


class OpeningsOrder(StrEnum):
    """The order in which pairs of games get the openings of a list."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Openings:
    """The source of a tournament's openings. `choosing` chooses the opening of a pair of games."""

    kind: OpeningsKind = OpeningsKind.NONE
    plies: int = 0
    """The plies of random openings."""
    name: str = ""
    """The displayed name of the list's file or book."""
    order: OpeningsOrder = OpeningsOrder.SEQUENTIAL
    symmetries: bool = False
    """Whether each opening is turned or mirrored at random."""
    text: str = ""
    """The openings of a list, one a line, its cells separated by spaces; parsed only on demand."""

    def __bool__(self) -> bool:
        return self.kind is not OpeningsKind.NONE

    def __str__(self) -> str:
        """Return the openings as on the command line, e.g. `balanced:6` or the name of a file."""
        if self.kind in (OpeningsKind.RANDOM, OpeningsKind.BALANCED):
            return f"{self.kind}:{self.plies}"
        return self.name if self.kind is OpeningsKind.LIST else str(self.kind)

    @property
    def listed(self) -> tuple[tuple[int, ...], ...]:
        """Return the openings of a list, each as cells in playing order."""
        return _listed(self.text)

    def of_list(self, name: str, openings: Iterable[Iterable[int]]) -> "Openings":
        """Return a copy with a list of openings, each as cells in playing order."""
        text = "\n".join(" ".join(map(str, cells)) for cells in openings)
        return replace(self, kind=OpeningsKind.LIST, name=name[-LONGEST_NAME:], text=text, plies=0)

    def document(self) -> dict[str, Any] | None:
        """Return the value for JSON without defaults; None if there are no openings."""
        defaults = asdict(Openings())
        return {name: value for name, value in asdict(self).items() if value != defaults[name]} or None

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> "Openings":
        """Return the value of a document, the inverse of `document`."""
        openings = cls(**(document or {}))
        return replace(openings, kind=OpeningsKind(openings.kind), order=OpeningsOrder(openings.order))


@lru_cache(maxsize=8)
def _listed(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, line.split())) for line in text.splitlines())
