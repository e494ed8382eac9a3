"""The openings of a tournament, in words and as JSON."""

from dataclasses import dataclass
from typing import Any, Self

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import printing
from noughts_server.openings.settings import Openings


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningsSummary:
    """The facts about a tournament's openings that commands show."""

    kind: str
    """One of `OpeningsKind`, or a kind of a newer server."""
    plies: int
    name: str
    count: int
    """The number of openings of a list."""
    order: str
    symmetries: bool

    @classmethod
    def of_settings(cls, openings: Openings) -> Self:
        """Return the summary of the openings of a local tournament."""
        return cls(
            kind=openings.kind,
            plies=openings.plies,
            name=openings.name,
            count=len(openings.listed),
            order=openings.order,
            symmetries=openings.symmetries,
        )

    @classmethod
    def of_message(cls, message: pb.Openings) -> Self:
        """Return the summary of the openings of a tournament on a server, which sends no list."""
        return cls(
            kind=message.kind or "none",
            plies=message.plies,
            name=message.name,
            count=message.count,
            order=message.order or "sequential",
            symmetries=message.symmetries,
        )

    def wording(self) -> str:
        """Return the openings in words; empty without openings."""
        if self.kind == "none":
            return ""
        words = f"{self.kind}, {printing.count(self.plies, 'ply', 'plies')}"
        if self.kind == "list":
            words = f"{self.name} ({self.count:,}), {self.order}"
        return f"openings {printing.printable(words)}{', turned at random' if self.symmetries else ''}"

    def document(self) -> dict[str, Any] | None:
        """Return the openings as JSON; None without openings."""
        if self.kind == "none":
            return None
        document: dict[str, Any] = {"kind": self.kind, "symmetries": self.symmetries}
        if self.kind == "list":
            document |= {"name": self.name, "count": self.count, "order": self.order}
        else:
            document["plies"] = self.plies
        return document
