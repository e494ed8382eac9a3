"""The scores of a whole rating list by pair, from which batch ratings are computed."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, func, or_, select

from noughts_referee.clock import TimeControl
from noughts_server.competition.score import Score
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import bots, entries, entries_with_bots, pair_scores, tournaments
from noughts_server.store.ratings.rating_lists import list_name


class RatedPair(NamedTuple):
    """The score of the games of one rating list in which `first` moved first against `second`."""

    first: str
    """Without the `bots/`."""
    second: str
    score: Score


def rated_pairs(
    connection: Connection, *, variant: str = "", time_class: str = "", min_games: int = 0
) -> list[RatedPair]:
    """Return all pairs of a list, including games that are stored but not yet rated.

    With `min_games`, return only pairs of bots with that many games in the list. Raises InvalidArgument.
    """
    name, _, time_class = list_name(variant, time_class).rpartition("/")
    scores: defaultdict[tuple[str, str], Score] = defaultdict(Score)
    for batch in in_batches(_tournaments(connection, name, time_class)):
        for first, second, wins, draws, losses in connection.execute(_of_tournaments(batch)):
            # Games between two versions of one bot are not rated.
            if first != second:
                scores[first, second] += Score(int(wins), int(draws), int(losses))
    games: defaultdict[str, int] = defaultdict(int)
    for (first, second), score in scores.items():
        games[first] += score.games
        games[second] += score.games
    active = {name for name, count in games.items() if count >= min_games}
    return [
        RatedPair(first=first, second=second, score=score)
        for (first, second), score in scores.items()
        if first in active and second in active
    ]


def _tournaments(connection: Connection, variant: str, time_class: str) -> list[int]:
    columns = tournaments.c
    statement = select(columns.id, columns.move_us, columns.bank_us, columns.increment_us)
    return [
        row.id
        for row in connection.execute(statement.where(columns.variant == variant, columns.rated))
        if TimeControl(move_us=row.move_us, bank_us=row.bank_us, increment_us=row.increment_us).time_class == time_class
    ]


def _of_tournaments(keys: Sequence[int]) -> Select[Any]:
    columns = entries.c.tournament_id, entries.c.number, bots.c.name, bots.c.owner_id
    playing = select(*columns).select_from(entries_with_bots).subquery()
    one = playing.alias()
    other = playing.alias()
    scores = pair_scores.c
    of_one = and_(one.c.tournament_id == scores.tournament_id, one.c.number == scores.first_entry)
    of_other = and_(other.c.tournament_id == scores.tournament_id, other.c.number == scores.second_entry)
    joined = pair_scores.join(tournaments, tournaments.c.id == scores.tournament_id)
    sums = (func.sum(scores.wins), func.sum(scores.draws), func.sum(scores.losses))
    return (
        select(one.c.name, other.c.name, *sums)
        .select_from(joined.join(one, of_one).join(other, of_other))
        .where(scores.tournament_id.in_(keys), or_(tournaments.c.own_rated, one.c.owner_id != other.c.owner_id))
        .group_by(one.c.name, other.c.name)
    )
