"""The match of a report with two players: the estimate, and the test after each game."""

from typing import NamedTuple

from markupsafe import Markup

from noughts_server.report.charts import llr_chart
from noughts_server.report.collect import MatchCourse
from noughts_server.statistics.match_games import MatchStatistics
from noughts_server.statistics.sprt import Sprt


class Match(NamedTuple):
    """A match from the point of view of the player that began it, against `other`."""

    course: MatchCourse
    other: str
    test: Sprt
    counted: MatchStatistics
    points: list[tuple[int, float]]
    """The LLR after numbers of games."""

    @property
    def chart(self) -> Markup | None:
        """Return the chart of the LLR; None without games."""
        if not self.points:
            return None
        return llr_chart([(0, 0.0), *self.points], self.test.lower, self.test.upper)

    @property
    def verdict(self) -> str:
        """Return the result of the test when it first crossed a limit, where it would have ended; a phrase."""
        for games, llr in self.points:
            if not self.test.lower < llr < self.test.upper:
                # The points of a long match are only a sample.
                last_games, _ = self.points[-1]
                about = "about " if last_games > 2 * len(self.points) else ""
                return f"accepts {'H1' if llr >= self.test.upper else 'H0'} after {about}{games:,} games"
        return "is not decided"


def match(course: MatchCourse, other: str, test: Sprt) -> Match:
    """Return the match against `other`."""
    points = [(step.games, test.llr(step.counts)) for step in course.steps()]
    return Match(course=course, other=other, test=test, counted=course.statistics(), points=points)
