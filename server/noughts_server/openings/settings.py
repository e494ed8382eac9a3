"""What an organiser chooses of openings, as it is stored with a tournament."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

MOST_PLIES = 50
"""Of openings by chance."""
MOST_OPENINGS = 10_000
"""In a list."""
MOST_CHARACTERS = 1_000_000
"""Of a list, as it is stored."""
LONGEST_NAME = 100


class OpeningsKind(StrEnum):
    """Where openings come from."""

    NONE = "none"
    RANDOM = "random"
    BALANCED = "balanced"
    LIST = "list"


class OpeningsOrder(StrEnum):
    """In what order a list is gone through."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Openings:
    """Where the openings of a tournament come from. Which one an encounter gets, `choosing` says."""

    kind: OpeningsKind = OpeningsKind.NONE
    plies: int = 0
    """Of openings by chance."""
    name: str = ""
    """Of a list: its file or book, for people."""
    order: OpeningsOrder = OpeningsOrder.SEQUENTIAL
    """Of a list."""
    symmetries: bool = False
    """Whether each opening is laid on the board in one of its symmetries, drawn by lot."""
    text: str = ""
    """Of a list: an opening a line, its cells with spaces between them. As a text, because most of those who read a
    tournament never ask for it."""

    def __bool__(self) -> bool:
        return self.kind is not OpeningsKind.NONE

    def __str__(self) -> str:
        """As on the command line, e.g. `balanced:6` or the name of a file."""
        if self.kind in (OpeningsKind.RANDOM, OpeningsKind.BALANCED):
            return f"{self.kind}:{self.plies}"
        return self.name if self.kind is OpeningsKind.LIST else str(self.kind)

    @property
    def listed(self) -> tuple[tuple[int, ...], ...]:
        """The openings of a list."""
        return _listed(self.text)

    def of_list(self, name: str, openings: Iterable[Iterable[int]]) -> "Openings":
        """The same with a list of openings, each its cells in the order of play."""
        text = "\n".join(" ".join(map(str, cells)) for cells in openings)
        return replace(self, kind=OpeningsKind.LIST, name=name[-LONGEST_NAME:], text=text, plies=0)

    def document(self) -> dict[str, Any] | None:
        """For JSON; what is as usual is left out, and None stands for no openings at all."""
        if not self:
            return None
        values: dict[str, Any] = {"kind": str(self.kind), "plies": self.plies, "name": self.name, "text": self.text}
        if self.kind is OpeningsKind.LIST:
            values["order"] = str(self.order)
        return {name: value for name, value in values.items() if value} | (
            {"symmetries": True} if self.symmetries else {}
        )

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> "Openings":
        """The inverse of `document`."""
        if not document:
            return cls()
        return cls(
            OpeningsKind(document["kind"]),
            plies=document.get("plies", 0),
            name=document.get("name", ""),
            order=OpeningsOrder(document.get("order", OpeningsOrder.SEQUENTIAL)),
            symmetries=document.get("symmetries", False),
            text=document.get("text", ""),
        )


@lru_cache(maxsize=8)
def _listed(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, line.split())) for line in text.splitlines())
