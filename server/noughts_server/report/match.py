"""The match of a report in which two have played: estimate, test, and how the test went."""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_server.report.charts import llr_chart
from noughts_server.report.collect import MatchCourse
from noughts_server.report.picture import Picture
from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.sprt import Sprt

_PAIRS = ("LL", "LD", "WL+DD", "WD", "WW")


class Match(NamedTuple):
    """What there is to show."""

    lines: list[str]
    """Sentences."""
    picture: Picture | None


def match(course: MatchCourse, other: str, test: Sprt) -> Match:
    """The match from the point of view of the one who began it, against `other`."""
    losses, draws, wins = course.alone
    found = estimate(Pentanomial(*course.pairs), WinsDrawsLosses(wins, draws, losses))
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
        counted = ", ".join(f"{name} {count:,}" for name, count in zip(_PAIRS, course.pairs, strict=True))
        lines.append(f"Pairs of games with swapped sides, by what {course.label} made of both: {counted}.")
    steps = course.steps()
    if not steps:
        return Match(lines, None)
    judged = test.judge(steps[-1].counts)
    saying = {"H0": "accepts H0", "H1": "accepts H1"}.get(judged.decision, "is not decided")
    lines.append(
        f"A sequential test of {test.elo0:g} (H0) against {test.elo1:g} Elo (H1, {test.model}) {saying}:"
        f" LLR {judged.llr:.2f} between {judged.lower:.2f} and {judged.upper:.2f}."
    )
    return Match(lines, _picture(course, [(step.games, test.llr(step.counts)) for step in steps], test, lines[-1]))


def _likelihood(value: float) -> str:
    """As a percentage; never all or nothing, which no games can show."""
    return "more than 99.9 %" if value > 0.9995 else "less than 0.1 %" if value < 0.0005 else f"{value:.1%}"


def _picture(course: MatchCourse, points: Sequence[tuple[int, float]], test: Sprt, said: str) -> Picture:
    drawn = llr_chart([(0, 0.0), *points], test.lower, test.upper, points[-1][0])
    unit = "pairs" if course.paired else "single games"
    return Picture(
        drawn,
        f"Log-likelihood ratio over games. {said}",
        f"The log-likelihood ratio after each game, from {unit}, for {course.label}; broken lines are the bounds"
        f" (alpha {test.alpha:g}, beta {test.beta:g}).",
        ("LLR", f"accept H1 at {test.upper:.2f}", f"accept H0 at {test.lower:.2f}"),
    )
