"""The diagrams of docs/reference/rules.md: boards drawn with x, o and letters, and the text for each letter."""

import re
from typing import NamedTuple

from tests.support.five_in_a_row import Point, Stones
from tests.support.root import ROOT

_FENCE = re.compile(r"^```((?:renju|caro|gomoku)\S*)( corner)?\n(.*?)\n\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_EDGE, _MARGIN = 15, 2


class Diagram(NamedTuple):
    variant: str
    board: Stones
    remarks: dict[Point, str]
    """The remark about each letter's point."""

    def __str__(self) -> str:
        return f"{self.variant} {' '.join(self.remarks.values())}"


def diagrams() -> list[Diagram]:
    """Return all diagrams in the order of the page."""
    text = (ROOT / "docs" / "reference" / "rules.md").read_text()
    return [_read(*match.groups()) for match in _FENCE.finditer(text)]


def _read(variant: str, corner: str | None, drawing: str, legend: str) -> Diagram:
    margin = 0 if corner else _MARGIN
    marks = {
        (column + margin, row + margin): mark
        for row, line in enumerate(drawing.splitlines())
        for column, mark in enumerate(line.split(" "))
    }
    assert max(map(max, marks)) < _EDGE - 1
    assert set(marks.values()) <= set("xo.ABCDEF"), drawing
    remarks_by_letter = dict(line.split(" ", 1) for line in legend.splitlines())
    own, other = (frozenset(point for point, mark in marks.items() if mark == side) for side in "xo")
    remarks = {point: remarks_by_letter.pop(mark) for point, mark in marks.items() if mark in remarks_by_letter}
    assert not remarks_by_letter, f"no such letters: {remarks_by_letter}"
    assert len(remarks) == sum(mark.isupper() for mark in marks.values())
    return Diagram(variant, Stones(_EDGE, own, other), remarks)
