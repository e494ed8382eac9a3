"""Curves of pages, as numbers that a template puts into SVG."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 12, 28


class Mark(NamedTuple):
    """A place on an axis: where in the picture, and what it says there."""

    at: float
    text: str


class Line(NamedTuple):
    """A curve: a path of SVG, the places of both axes, and a sentence for those who do not see it."""

    path: str
    across: list[Mark]
    up: list[Mark]
    words: str


def rating_line(points: Sequence[tuple[int, float]]) -> Line | None:
    """A bot's rating over its rated games; None with fewer than two points."""
    if len(points) < 2:
        return None
    games, ratings = [point[0] for point in points], [point[1] for point in points]
    least, most = _around(min(ratings), max(ratings))
    first, last = min(games), max(games)

    def x(value: float) -> float:
        return round(_LEFT + (value - first) / ((last - first) or 1) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (value - least) / (most - least) * (HEIGHT - _TOP - _BOTTOM), 1)

    path = "M" + "L".join(f"{x(game)} {y(rating)}" for game, rating in points)
    words = (
        f"Rating after {first:,} to {last:,} games: from {ratings[0]:.0f} to {ratings[-1]:.0f}, between"
        f" {min(ratings):.0f} and {max(ratings):.0f}."
    )
    across = [Mark(x(value), f"{value:,.0f}") for value in _steps(first, last)]
    return Line(path, across, [Mark(y(value), f"{value:.0f}") for value in _steps(least, most)], words)


def _around(least: float, most: float) -> tuple[float, float]:
    room = max(10.0, (most - least) * 0.1)
    return least - room, most + room


def _steps(least: float, most: float) -> list[float]:
    """Round numbers between the two, three to six of them."""
    span = (most - least) or 1.0
    size = 10 ** floor(log10(span / 3))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if span / (size * factor) <= 5)
    return [number * step for number in range(ceil(least / step), floor(most / step) + 1)]
