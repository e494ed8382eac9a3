"""Ratings of a report: the batch fit over all its games, as lines for a table and bars for a picture."""

from collections.abc import Iterator
from typing import NamedTuple

from noughts_server.competition.score import Score
from noughts_server.report.charts import RatingBar
from noughts_server.statistics.batch_fit import FitError
from noughts_server.statistics.batch_ratings import BatchRatings, rate
from noughts_server.statistics.rated_games import GameResult, count_games
from noughts_server.tables.table import Column, Table, Unit
from noughts_server.tables.tally import Tally

MOST_BARS = 60
_NAMED_IN_GROUPS = 6


class Rated(NamedTuple):
    """What there is to show."""

    table: Table
    bars: list[RatingBar]
    """The strongest first; of the largest group that can be compared."""
    lines: list[str]
    """Sentences."""


def rated(tally: Tally) -> Rated | None:
    """The fit; None where nothing can be fitted."""
    try:
        ratings = rate(count_games(_results(tally.scores), tally.labels))
    except FitError:
        return None
    players = ratings.players
    columns = (
        Column("rank", "#", Unit.COUNT),
        Column("name", "bot"),
        Column("rating", "rating", Unit.NUMBER),
        Column("error95", "± 95 %", Unit.NUMBER),
        Column("opposition", "opposition", Unit.NUMBER),
        Column("los_next", "above the next", Unit.SHARE),
        *((Column("group", "group", Unit.COUNT),) if len(ratings.groups) > 1 else ()),
    )
    rows = [
        (player.rank, player.name, player.rating, player.error95, player.opposition, player.los_next, player.group + 1)[
            : len(columns)
        ]
        for player in players
    ]
    notes = [
        "Maximum likelihood of the logistic model from all games at once, draws as half points, 1500 as the mean; 95 % by "
        "the sandwich estimator. Above the next: the likelihood that the bot is stronger than the one below it."
    ]
    return Rated(
        Table("ratings", "Ratings", columns, rows, notes),
        _bars(ratings),
        [*_about_advantage(ratings), *_about_groups(ratings)],
    )


def _results(scores: dict[tuple[str, str], Score]) -> Iterator[GameResult]:
    for (first, second), score in scores.items():
        if first != second:
            yield GameResult(first, second, 1.0, score.wins)
            yield GameResult(first, second, 0.5, score.draws)
            yield GameResult(first, second, 0.0, score.losses)


def _bars(ratings: BatchRatings) -> list[RatingBar]:
    """Of the largest group: ratings of different groups are not on one scale."""
    largest = max(range(len(ratings.groups)), key=lambda group: len(ratings.groups[group]), default=0)
    return [
        RatingBar(player.name, player.rating, player.error95)
        for player in ratings.players
        if player.group == largest and player.rating is not None
    ][:MOST_BARS]


def _about_advantage(ratings: BatchRatings) -> Iterator[str]:
    if ratings.advantage is not None:
        error = f" ± {ratings.advantage_error95:.0f} (95 %)" if ratings.advantage_error95 is not None else ""
        yield f"Moving first is worth {ratings.advantage:+.0f}{error} Elo."
    else:
        yield "What moving first is worth cannot be told from these games."


def _about_groups(ratings: BatchRatings) -> Iterator[str]:
    groups = ratings.groups
    if len(groups) < 2:
        return
    named = "; ".join(
        ", ".join(names[:_NAMED_IN_GROUPS])
        + (f" and {len(names) - _NAMED_IN_GROUPS} more" if len(names) > _NAMED_IN_GROUPS else "")
        for names in groups[:_NAMED_IN_GROUPS]
    )
    more = f"; and {len(groups) - _NAMED_IN_GROUPS} more" if len(groups) > _NAMED_IN_GROUPS else ""
    yield (
        f"The games form {len(groups)} groups, of which none has taken points off the next one or they have not met:"
        f" {named}{more}. Ratings are on one scale within a group only."
    )
