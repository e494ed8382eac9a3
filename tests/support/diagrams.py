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
    asked: dict[Point, str]
    """The remark about each letter's point."""

    def __str__(self) -> str:
        return f"{self.variant} {' '.join(self.asked.values())}"


def diagrams() -> list[Diagram]:
    """All of them, in the order of the page."""
    text = (ROOT / "docs" / "reference" / "rules.md").read_text()
    return [_read(*found.groups()) for found in _FENCE.finditer(text)]


def _read(variant: str, corner: str | None, drawn: str, said: str) -> Diagram:
    margin = 0 if corner else _MARGIN
    marks = {
        (column + margin, row + margin): mark
        for row, line in enumerate(drawn.splitlines())
        for column, mark in enumerate(line.split(" "))
    }
    assert max(map(max, marks)) < _EDGE - 1
    assert set(marks.values()) <= set("xo.ABCDEF"), drawn
    words = dict(line.split(" ", 1) for line in said.splitlines())
    own, other = (frozenset(point for point, mark in marks.items() if mark == side) for side in "xo")
    asked = {point: words.pop(mark) for point, mark in marks.items() if mark in words}
    assert not words, f"no such letters: {words}"
    assert len(asked) == sum(mark.isupper() for mark in marks.values())
    return Diagram(variant, Stones(_EDGE, own, other), asked)
