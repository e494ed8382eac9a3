"""The score while games are being played, a line every so many games: for logs, where no bar can be drawn."""

from collections import defaultdict
from typing import TYPE_CHECKING

from noughts_server.cli.drawing.match_summary import elo_line
from noughts_server.cli.output import note, points, stderr
from noughts_server.competition.score import Score

if TYPE_CHECKING:
    from collections.abc import Callable

    from noughts_server.local.run import LocalPlan, PlayedGame

_MOST_BOTS = 16


def score_lines(plan: "LocalPlan", every: int | None) -> "Callable[[PlayedGame], None] | None":
    """A function that takes each game and prints the score after every so many, on stderr; None on a terminal."""
    if every is None or stderr().is_terminal:
        return None
    from noughts_bots.specs import unique_labels
    from noughts_server.competition.schedule import most_games

    settings = plan.settings
    total = most_games(settings.schedule, len(plan.specs), settings.games_per_pair, settings.rounds)
    of_all = "" if settings.schedule.follows_results else f" of {total:,}"
    return _ScoreLines(unique_labels(plan.specs), every, of_all).heard


class _ScoreLines:
    def __init__(self, labels: list[str], every: int, of_all: str) -> None:
        self._labels = labels
        self._every = every
        self._of_all = of_all
        self._done = 0
        self._scores: defaultdict[str, Score] = defaultdict(Score)

    def heard(self, game: "PlayedGame") -> None:
        winner = game.outcome.winner
        score = Score(wins=winner == 0, draws=winner is None, losses=winner == 1)
        self._scores[game.first] += score
        self._scores[game.second] += score.mirrored
        self._done += 1
        if self._done % self._every == 0:
            standing = self._match() if len(self._labels) == 2 else self._table()
            note(f"{self._done:,}{self._of_all} games: {standing}")

    def _match(self) -> str:
        from noughts_server.competition.elo import elo_estimate

        first, second = self._labels
        score = self._scores[first]
        elo = elo_line(first, *elo_estimate(score.wins, score.draws, score.losses))
        return f"{first} {points(score.points)} - {points(score.mirrored.points)} {second}; {elo}"

    def _table(self) -> str:
        ranked = sorted(self._labels, key=lambda label: -self._scores[label].points)
        told = [f"{label} {points(self._scores[label].points)}" for label in ranked[:_MOST_BOTS]]
        if len(ranked) > _MOST_BOTS:
            told.append(f"and {len(ranked) - _MOST_BOTS} more")
        return ", ".join(told)
