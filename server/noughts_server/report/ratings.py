"""The ratings of a report: the batch fit over all its games, as rows of a table and bars of a chart."""

from collections.abc import Iterator
from typing import NamedTuple

from noughts_server.report.charts import RatingBar
from noughts_server.statistics.batch_fit import FitError
from noughts_server.statistics.batch_ratings import BatchRatings, rate
from noughts_server.statistics.rated_games import count_pairs
from noughts_server.tables.table import Column, Table, Unit
from noughts_server.tables.tally import Tally

MOST_BARS = 60
_NAMED = 6


class Rated(NamedTuple):
    table: Table
    bars: list[RatingBar]
    """Strongest first."""
    lines: list[str]


def rated(tally: Tally) -> Rated | None:
    """Return the fit; None if nothing can be fitted.

    If the games cannot compare all bots, each gets two virtual draws against the pool, and a sentence says so.
    """
    pairs = ((*pair, score.counts) for pair, score in tally.independent.items() if pair[0] != pair[1])
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
    fields = [column.key for column in columns]
    rows = [[getattr(player, name) for name in fields] for player in ratings.players]
    errors = "the normal approximation of the posterior" if ratings.prior else "the sandwich estimator"
    note = (
        "Maximum likelihood of the logistic model from all games at once, draws as half points, 1500 as the mean; 95 %"
        f" by {errors}. Above the next: the likelihood that the bot is stronger than the one below it."
    )
    found = ((player.name, player.rating, player.error95) for player in ratings.players)
    bars = [RatingBar(name, rating, error) for name, rating, error in found if rating is not None]
    lines = [*_about_advantage(ratings), *_about_groups(ratings)]
    if tally.repeats:
        lines.append(
            f"{tally.repeats:,} of {tally.games:,} games only repeat others, move by move, between two who always play"
            " the same from there; they count once here."
        )
    return Rated(Table("ratings", "Ratings", columns, rows, [note]), bars[:MOST_BARS], lines)


def _about_advantage(ratings: BatchRatings) -> Iterator[str]:
    if ratings.advantage is not None:
        error = f" ± {ratings.advantage_error95:.0f} (95 %)" if ratings.advantage_error95 is not None else ""
        yield f"Moving first is worth {ratings.advantage:+.0f}{error} Elo."
    else:
        yield "These games do not show the first-move advantage."


def _about_groups(ratings: BatchRatings) -> Iterator[str]:
    groups = ratings.groups
    if len(groups) < 2:
        return
    named = [
        ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
        for names in groups[:_NAMED]
    ]
    more = f"; and {len(groups) - _NAMED:,} groups more" if len(groups) > _NAMED else ""
    yield (
        f"By the games alone {len(groups):,} groups cannot be compared, because one has won everything against the"
        f" other, or they have not met: {'; '.join(named)}{more}. To put all on one scale, each bot was given two"
        " virtual draws against the pool."
    )
