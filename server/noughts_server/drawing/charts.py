"""Curves of pages, as numbers for SVG templates."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

WIDTH, HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 12, 28


class Mark(NamedTuple):
    """A tick on an axis: its position in the picture, and its label."""

    at: float
    text: str


class Line(NamedTuple):
    """A curve: SVG paths, the ticks of both axes, marks along it, and a description for screen readers."""

    path: str
    band: str
    """The confidence interval around the curve."""
    marks: list[Mark]
    """The games at which versions began."""
    across: list[Mark]
    up: list[Mark]
    words: str


def rating_line(points: Sequence[Mapping[str, Any]], versions: Sequence[tuple[int, str]] = ()) -> Line | None:
    """Return a bot's rating curve, as the API has it; None for fewer than two points.

    `versions`: games before each one, and its name.
    """
    if len(points) < 2:
        return None
    games, ratings, errors = ([point[name] for point in points] for name in ("games", "rating", "error95"))
    lower, upper = ([rating + sign * error for rating, error in zip(ratings, errors, strict=True)] for sign in (-1, 1))
    # The first points are very uncertain: their intervals may leave the picture.
    unsettled = len(points) // 4
    least, most = min(*ratings, *lower[unsettled:]), max(*ratings, *upper[unsettled:])
    room = max(10.0, (most - least) * 0.1)
    least, most = least - room, most + room
    first, last = min(games), max(games)

    x, y = _scale(first, last, _LEFT, WIDTH - _RIGHT), _scale(least, most, HEIGHT - _BOTTOM, _TOP)
    path = "M" + "L".join(f"{x(game)} {y(rating)}" for game, rating in zip(games, ratings, strict=True))
    words = (
        f"Rating after {first:,} to {last:,} games: from {ratings[0]:.0f} to {ratings[-1]:.0f}, between"
        f" {min(ratings):.0f} and {max(ratings):.0f}; now {ratings[-1]:.0f} ± {errors[-1]:.0f} (95 %)."
    )
    across = [Mark(x(value), f"{value:,.0f}") for value in _steps(first, last)]
    edge = [*zip(games, upper, strict=True), *reversed([*zip(games, lower, strict=True)])]
    band = "M" + "L".join(f"{x(game)} {y(value)}" for game, value in edge) + "Z"
    marks = [Mark(x(since), version) for since, version in versions if first <= since <= last]
    return Line(path, band, marks, across, [Mark(y(value), f"{value:.0f}") for value in _steps(least, most)], words)


def llr_line(course: Sequence[Mapping[str, float]], lower: float, upper: float) -> Line | None:
    """Return the course of a test, as the API has it, with its bounds; None for fewer than two points."""
    if len(course) < 2:
        return None
    room, found, last = (upper - lower) / 8, [point["llr"] for point in course], course[-1]["pairs"]
    least, most = min(lower, *found) - room, max(upper, *found) + room
    x, y = _scale(0, last, _LEFT, WIDTH - _RIGHT), _scale(least, most, HEIGHT - _BOTTOM, _TOP)
    path = "M" + "L".join(f"{x(point['pairs'])} {y(point['llr'])}" for point in course)
    across = [Mark(x(value), f"{value:,.0f}") for value in _steps(0, last) if value == round(value)]
    up = [Mark(y(upper), f"H1 {upper:.1f}"), Mark(y(0), "0"), Mark(y(lower), f"H0 {lower:.1f}")]
    words = f"LLR after each pair of games, up to {found[-1]:.2f} after {last:,}."
    return Line(path, "", [], across, up, words)


def _scale(least: float, most: float, start: float, end: float) -> Callable[[float], float]:
    """Return the function from a value to its place in the picture. Values beyond the limits are at the edge."""
    return lambda value: round(
        start + (min(max(value, least), most) - least) / ((most - least) or 1) * (end - start), 1
    )


def _steps(least: float, most: float) -> list[float]:
    """Return three to six round numbers between the two."""
    span = (most - least) or 1.0
    size = 10 ** floor(log10(span / 3))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if span / (size * factor) <= 5)
    return [number * step for number in range(ceil(least / step), floor(most / step) + 1)]
