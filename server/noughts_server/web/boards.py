"""What a browser needs to draw a variant's board, and confidence intervals of scores."""

from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

from noughts_referee.rules import Variant, VariantError, column_name, parse_variant

_Z95 = 1.959964
_MOST_SQUARES = 9
"""Columns or rows of the largest board with squares; larger ones have intersections."""
_LEAST_WITH_STARS = 13


@lru_cache(maxsize=256)
def geometry(variant: str) -> dict[str, Any] | None:
    """Return what draws the board (`board_svg`); None for a variant of a plugin that is not installed here."""
    try:
        known = parse_variant(variant)
    except VariantError:
        return None
    return {
        "columns": known.columns,
        "rows": known.rows,
        "layers": known.layers,
        "gravity": known.gravity,
        "names": [column_name(column) for column in range(known.columns)],
        "look": (look := _look(known)),
        "stars": _stars(known.columns, known.rows) if look == "stones" else [],
    }


def _look(variant: Variant) -> str:
    """Return the look of the variant's board, which `board_svg` draws."""
    if variant.gravity:
        return "plate"
    return "stones" if max(variant.columns, variant.rows) > _MOST_SQUARES else "marks"


def _stars(columns: int, rows: int) -> list[int]:
    """Return the cells with a star point: near each corner, and in the middle if there is one."""
    if min(columns, rows) < _LEAST_WITH_STARS:
        return []
    middle = [rows // 2 * columns + columns // 2] if columns % 2 and rows % 2 else []
    corners = [row * columns + column for row in (3, rows - 4) for column in (3, columns - 4)]
    return sorted(corners + middle)


class Interval(NamedTuple):
    """A share of the points and its 95 % confidence interval, all from 0 to 1."""

    share: float
    low: float
    high: float


def score_interval(wins: int, draws: int, losses: int) -> Interval | None:
    """Return the Wilson interval of the share of the points, a draw counted as half a win; None without games.

    Draws reduce the variance, so the interval is never too narrow. It has a width even if all games were won.
    """
    games = wins + draws + losses
    if not games:
        return None
    share = (wins + draws / 2) / games
    square = _Z95 * _Z95
    middle = (share + square / (2 * games)) / (1 + square / games)
    half = _Z95 * sqrt(share * (1 - share) / games + square / (4 * games * games)) / (1 + square / games)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))
