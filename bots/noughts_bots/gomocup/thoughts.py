"""Read the messages of engines about a search: depth, nodes, time and the principal variation. Pure functions.

Engines print `Depth 17-36 | Eval -175 | Node 550K | Time 470ms` and then `Bestline H7 I9`, `depth 17-36 ev -175 n 550K
n/ms 1171 tm 470 pv H7 I9`, `dep 9-14 ev -126 nd 794k tm 396`, or the same words in Chinese. `scores` reads the score.
"""

import re
from collections.abc import Callable, Sequence
from itertools import product

from noughts_referee.rules import Thought
from noughts_referee.rules.thoughts import LONGEST_PV

# Engines are untrusted: where a text can be split in several ways, a possessive quantifier (`*+`) tries only one.
_NUMBER = r"\s*+[:=]?\s*+(\d{1,15}(?:\.\d{1,9})?)"
_DEPTH = re.compile(rf"(?<!\w)(?:depth|dep|深度|层数){_NUMBER}", re.IGNORECASE)
_COUNT = r"\s*+[:=]?\s*+(\d{1,3}(?:,\d{3}){1,4}(?!,?\d)|\d{1,15}(?:\.\d{1,9})?(?!,\d))"
_NODES = re.compile(rf"(?<![\w/])(?:nodes?|nd|n|visits?|节点数?){_COUNT}\s*([kmgt]?)(?![\w/])", re.IGNORECASE)
_TIME = re.compile(rf"(?<!\w)(?:time|tm|总?耗时|用时){_NUMBER}\s*(ms|s|sec|min|h|)(?!\w)", re.IGNORECASE)
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNIT_US = {"": 10**3, "ms": 10**3, "s": 10**6, "sec": 10**6, "min": 60 * 10**6, "h": 3_600 * 10**6}
_POINT = r"(?:[a-z]\d{1,2}+|[\[(]?\d{1,2}+,\s?\d{1,2}+[\])]?+)"
_LETTER_POINT = r"[a-z]\d{1,2}+"
_LINE = re.compile(
    # Between letters and numbers, commas separate points.
    rf"(?<![\w,.\-])(?:{_LETTER_POINT}(?:,\s?{_LETTER_POINT})+|{_POINT}(?:[\s_\->;]*+{_POINT})+)(?![\w,.])",
    re.IGNORECASE,
)
_POINTS = re.compile(r"([a-z])(\d{1,2})|(\d{1,2}),\s?(\d{1,2})", re.IGNORECASE)
_LETTERS, _LETTERS_WITHOUT_I = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ABCDEFGHJKLMNOPQRSTUVWXYZ"

_Place = tuple[int, int]
"""Column and row from 0, the row from the top."""
_LetterPoint = Callable[[str, int, int], _Place]
_NumberPoint = Callable[[int, int], _Place]


def _of_letters(letters: str, *, from_top: bool) -> _LetterPoint:
    def place(letter: str, number: int, rows: int) -> _Place:
        return letters.find(letter.upper()), number - 1 if from_top else rows - number

    return place


def _of_numbers(first: int, *, column_first: bool) -> _NumberPoint:
    def place(one: int, other: int) -> _Place:
        return (one - first, other - first) if column_first else (other - first, one - first)

    return place


_LETTER_POINTS = [
    _of_letters(letters, from_top=from_top)
    for letters, from_top in product((_LETTERS, _LETTERS_WITHOUT_I), (True, False))
]
_NUMBER_POINTS = [
    _of_numbers(first, column_first=column_first) for column_first, first in product((True, False), (0, 1))
]


class ThoughtReader:
    """Reads the messages of one engine. The protocol does not define the spelling of points, so it learns the spelling.

    The principal variation begins with the move that the engine played. A spelling that contradicts this is wrong.
    """

    def __init__(self) -> None:
        self._letter_points = _LETTER_POINTS
        self._number_points = _NUMBER_POINTS
        """The spellings that fit all lines so far, the most usual first."""

    def read(self, lines: Sequence[str], cell: int, columns: int, rows: int) -> Thought | None:
        """Return the report in the last lines before the move `cell`; None if they have none.

        Each value comes from the last line that has it.
        """
        depth = nodes = time_us = 0
        pv: tuple[int, ...] = ()
        for line in reversed(lines):
            if not depth and (match := _DEPTH.search(line)):
                depth = int(float(match[1]))
            if not nodes and (match := _NODES.search(line)):
                nodes = int(float(match[1].replace(",", "")) * _THOUSANDS[match[2].casefold()])
            if not time_us and (match := _TIME.search(line)):
                time_us = int(float(match[1]) * _UNIT_US[match[2].casefold()])
            if not pv and (match := _LINE.search(line)):
                pv = self._line(match[0], cell, columns, rows)
        if not (depth or nodes or time_us or pv):
            return None
        return Thought(depth=depth, nodes=nodes, time_us=time_us, pv=pv)

    def _line(self, text: str, cell: int, columns: int, rows: int) -> tuple[int, ...]:
        """Return the cells of these points; none if the line does not begin with the move."""
        points = _POINTS.findall(text)[:LONGEST_PV]
        first_letter, *_ = points[0]
        uses_letters = bool(first_letter)
        if uses_letters:
            letter_points = [(letter, int(number)) for letter, number, _, _ in points if letter]
            lines = [[place(*point, rows) for point in letter_points] for place in self._letter_points]
        else:
            number_points = [(int(one), int(other)) for _, _, one, other in points if one]
            lines = [[place(*point) for point in number_points] for place in self._number_points]
        begin = cell % columns, cell // columns
        fitting = [index for index, line in enumerate(lines) if line[0] == begin]
        if not fitting:
            return ()
        if uses_letters:
            self._letter_points = [self._letter_points[index] for index in fitting]
        else:
            self._number_points = [self._number_points[index] for index in fitting]
        return tuple(
            row * columns + column if 0 <= column < columns and 0 <= row < rows else -1
            for column, row in lines[fitting[0]]
        )
