"""The ratings of a report: the batch fit over all its games, as rows of a table and bars of a chart."""

from typing import NamedTuple

from noughts_server.report.charts import RatingBar
from noughts_server.statistics.batch_fit import FitError
from noughts_server.statistics.batch_ratings import BatchRatings, rate
from noughts_server.statistics.rated_games import count_pairs
from noughts_server.tables.table import Column, Table, Unit
from noughts_server.tables.tally import Tally

MOST_BARS = 60


class ReportRatings(NamedTuple):
    """The ratings of a report."""

    table: Table
    bars: list[RatingBar]
    """Strongest first."""
    ratings: BatchRatings
    tally: Tally


def fit_ratings(tally: Tally) -> ReportRatings | None:
    """Return the ratings of the bots; None if nothing can be fitted.

    If the games cannot compare all bots, each gets two virtual draws against the pool, and the page says so.
    """
    scores = tally.independent_scores
    pairs = ((first, second, score.counts) for (first, second), score in scores.items() if first != second)
    games = count_pairs(pairs, tally.labels)
    try:
        ratings = rate(games)
        if len(ratings.groups) > 1:
            ratings = rate(games, prior=True)
    except FitError:
        return None
    columns = (
        Column("rank", "#", Unit.COUNT),
        Column("name", "bot"),
        Column("rating", "rating", Unit.NUMBER),
        Column("error95", "± 95 %", Unit.NUMBER),
        Column("opposition", "opposition", Unit.NUMBER),
        Column("los_next", "above the next", Unit.SHARE),
    )
    rows = [
        (player.rank, player.name, player.rating, player.error95, player.opposition, player.los_next)
        for player in ratings.players
    ]
    estimates = ((player.name, player.rating, player.error95) for player in ratings.players)
    bars = [RatingBar(name, rating, error) for name, rating, error in estimates if rating is not None]
    return ReportRatings(Table("ratings", "Ratings", columns, rows), bars[:MOST_BARS], ratings, tally)
