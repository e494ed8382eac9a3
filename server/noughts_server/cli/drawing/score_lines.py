"""The score during the games, one line after every N games: for logs, which cannot show a bar."""

from collections import defaultdict
from collections.abc import Callable

from noughts_bots.reference.specs import unique_labels
from noughts_referee.rules import Result
from noughts_server.cli.drawing.estimate_lines import elo_line, llr_text
from noughts_server.cli.printing import note, points, stderr
from noughts_server.competition.score import Score
from noughts_server.local.plan import LocalPlan, PlayedGame
from noughts_server.statistics.match_games import MatchGames, MatchStatistics
from noughts_server.tables.standings import compute_standings

_MOST_BOTS = 16


def score_lines(plan: LocalPlan, every: int | None) -> Callable[[PlayedGame, MatchGames], None]:
    """Return a function that takes each game and prints the score on stderr after every N, but not on a terminal."""
    if every is None or stderr().is_terminal:
        return lambda game, match: None
    settings = plan.settings
    total = settings.schedule.most_games(settings, len(plan.specs))
    total_text = "" if settings.schedule.follows_results else f" of {total:,}"
    return _ScoreLines(unique_labels(plan.specs), every, total_text).take_game


class _ScoreLines:
    """Counts games, and prints the score after every N of them and after the decision of a test."""

    def __init__(self, labels: list[str], every: int, total_text: str) -> None:
        self._labels = labels
        self._every = every
        self._total_text = total_text
        self._games = 0
        self._pairs: defaultdict[tuple[str, str], Score] = defaultdict(Score)

    def take_game(self, game: PlayedGame, match: MatchGames) -> None:
        result = game.outcome.result
        self._pairs[game.first, game.second] += Score(
            int(result is Result.FIRST_WINS), int(result is Result.DRAW), int(result is Result.SECOND_WINS)
        )
        self._games += 1
        if not game.is_earlier and (self._games % self._every == 0 or match.decided):
            standing = self._match_text(match.statistics()) if len(self._labels) == 2 else self._standings_text()
            games = "game" if self._games == 1 and not self._total_text else "games"
            note(f"{self._games:,}{self._total_text} {games}: {standing}")

    def _match_text(self, statistics: MatchStatistics) -> str:
        first, second = self._labels
        score = next(row.score for row in compute_standings(self._labels, self._pairs) if row.label == first)
        scores = f"{first} {points(score.points)} - {points(score.mirrored.points)} {second}"
        scores += f"; {elo_line(first, statistics.estimate)}"
        return scores if statistics.sprt is None else f"{scores}; {llr_text(statistics.sprt)}"

    def _standings_text(self) -> str:
        rows = compute_standings(self._labels, self._pairs)
        scores = [f"{row.label} {points(row.points)}" for row in rows[:_MOST_BOTS]]
        if len(rows) > _MOST_BOTS:
            scores.append(f"and {len(rows) - _MOST_BOTS} more")
        return ", ".join(scores)
