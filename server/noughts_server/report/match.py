"""The match of a report with two players: the estimate, the test and its course."""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_server.report.charts import Picture, llr_chart
from noughts_server.report.collect import MatchCourse
from noughts_server.statistics.sprt import Sprt

_PAIRS = ("LL", "LD", "WL+DD", "WD", "WW")


class Match(NamedTuple):
    lines: list[str]
    picture: Picture | None


def match(course: MatchCourse, other: str, test: Sprt) -> Match:
    """Return the match from the point of view of the player that began it, against `other`."""
    counted = course.statistics()
    found = counted.estimate
    lines = []
    if found.value is not None:
        error = f" ± {found.error95:.0f} (95 %)" if found.error95 is not None else ""
        lines.append(f"Elo difference of {course.label} to {other}: {found.value:+.0f}{error}.")
    elif found.at_least is not None:
        winner = course.label if found.score == 1 else other
        lines.append(f"{winner} has won everything: it is stronger by {found.at_least:.0f} Elo at least (95 %).")
    if found.los is not None:
        lines.append(f"{course.label} is the stronger one with a likelihood of {_likelihood(found.los)}.")
    if course.paired:
        told = ", ".join(f"{name} {count:,}" for name, count in zip(_PAIRS, counted.pentanomial, strict=True))
        lines.append(f"Pairs of games with swapped sides, by the points of {course.label}: {told}.")
    if counted.repeats:
        lines.append(f"{counted.repeats:,} of {counted.games:,} games only repeat others; they count once here.")
    steps = course.steps()
    if not steps:
        return Match(lines, None)
    points = [(step.games, test.llr(step.counts)) for step in steps]
    tested = f"{test.elo0:g} (H0) against {test.elo1:g} Elo (H1, {test.model})"
    lines.append(
        f"A sequential test of {tested} {_verdict(points, test)}; at the end the LLR is {points[-1][1]:.2f},"
        f" the bounds are {test.lower:.2f} and {test.upper:.2f}."
    )
    unit = "pairs" if course.paired else "single games"
    picture = Picture(
        llr_chart([(0, 0.0), *points], test.lower, test.upper, points[-1][0]),
        f"Log-likelihood ratio over games. {lines[-1]}",
        f"The log-likelihood ratio after each game, from {unit}, for {course.label}; broken lines are the bounds"
        f" (alpha {test.alpha:g}, beta {test.beta:g}).",
        ("LLR", f"accept H1 at {test.upper:.2f}", f"accept H0 at {test.lower:.2f}"),
    )
    return Match(lines, picture)


def _verdict(points: Sequence[tuple[int, float]], test: Sprt) -> str:
    """Return what the test said when it first crossed a limit, where it would have ended."""
    for games, llr in points:
        if not test.lower < llr < test.upper:
            # A long match has only a sample of its moments.
            about = "about " if points[-1][0] > 2 * len(points) else ""
            return f"accepts {'H1' if llr >= test.upper else 'H0'} after {about}{games:,} games"
    return "is not decided"


def _likelihood(value: float) -> str:
    """Return a percentage; never 0 or 100, which no number of games can show."""
    return "more than 99.9 %" if value > 0.9995 else "less than 0.1 %" if value < 0.0005 else f"{value:.1%}"
