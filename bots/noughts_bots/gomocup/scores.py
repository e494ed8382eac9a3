"""Scores in the messages of engines, on one scale. Pure.

Engines print the score of their position in many forms: `Eval 34`, `ev -12`, `val=0`, `Eval +M9`, `ev -v4`, or
`winrate 62 %`. A plain number is the score; engines use about 100 for a small advantage. A win in N plies is 30,000 -
N, a loss N - 30,000; if N is unknown, 29,000 and -29,000. A winning chance p is 200 ln(p / (1 - p)), from -2,000 to
2,000.
"""

import math
import re
from collections.abc import Iterable
from functools import cache

WIN = 30_000
"""The score of a position that is won; less the number of plies to the win."""
WIN_OF_UNKNOWN_LENGTH = 29_000
"""The score of a win whose number of plies the engine does not report."""
_LOGISTIC = 200
"""The factor between the logarithm of the odds of a win and a score."""
_LARGEST_CHANCE = 2_000
"""The largest score of a chance to win. It is less than the score of any win."""

_WORDS = r"ev|eval|evaluation|score|val|value|win\ ?rate|估值|分值|评分|得分|胜率"
# Engines are untrusted: a possessive quantifier (`*+`) does not try to split spaces in all ways.
_VALUE = r"""
    \s*+[:=]?\s*+
    (?:
        (?P<sign>[+-]?) (?P<end>mate(?:\ in)?|[mwl\#]|(?<=[+-])v) \s* (?P<sign2>[+-]?) (?P<plies>\d{1,4}|\*) (?![\w.])
      | (?P<infinite>[+-]?) (?:val_)?inf(?:inity|inite)?\b
      | (?P<number>[+-]?\d{1,15}(?:\.\d{1,9})?) \s* (?P<percent>%?)
    )
"""


@cache
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?P<word>{re.escape(word) if word else _WORDS}){_VALUE}", re.IGNORECASE | re.VERBOSE)


def score_in(lines: Iterable[str], word: str = "") -> float | None:
    """Return the first score in these lines, after `word` or else after a usual word; None if no line has one."""
    pattern = _pattern(word)
    match = next(filter(None, map(pattern.search, lines)), None)
    return None if match is None else _score(match)


def _score(match: re.Match[str]) -> float:
    if match["end"] is not None:
        length = WIN_OF_UNKNOWN_LENGTH if match["plies"] == "*" else WIN - int(match["plies"])
        is_loss = "-" in match["sign"] + match["sign2"] or match["end"] in "lL"
        return -length if is_loss else length
    if match["infinite"] is not None:
        return -WIN_OF_UNKNOWN_LENGTH if match["infinite"] == "-" else WIN_OF_UNKNOWN_LENGTH
    number = float(match["number"])
    if match["percent"] or match["word"].lower().startswith(("win", "胜")):
        return score_of_chance(number / 100 if match["percent"] or number > 1 else number)
    return number if abs(number) <= WIN else math.copysign(WIN_OF_UNKNOWN_LENGTH, number)


def score_of_chance(chance: float) -> float:
    """Return the score of a chance of winning."""
    if not 0 < chance < 1:
        return -_LARGEST_CHANCE if chance <= 0 else _LARGEST_CHANCE
    score = round(_LOGISTIC * math.log(chance / (1 - chance)))
    return max(-_LARGEST_CHANCE, min(_LARGEST_CHANCE, score))
