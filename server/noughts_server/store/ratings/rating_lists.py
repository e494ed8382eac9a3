"""Names and keys of rating lists, and the computation of all ratings from the log."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select

from noughts_referee.rules import VariantError, parse_variant
from noughts_server.competition.elo import Rating, first_rating
from noughts_server.core.errors import InvalidArgument
from noughts_server.store.engine.schema import (
    bots,
    games,
    rating_history,
    rating_lists,
    rating_moves,
    rating_runs,
    ratings,
)
from noughts_server.store.ratings import rater

TIME_CLASSES = ("untimed", "bullet", "blitz", "rapid", "classical")

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored rating that differs from the log."""

    rating_list: str
    bot: str
    stored: Rating | None
    rebuilt: Rating | None


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """The result of computing the ratings from the log."""

    slots: int
    bots: int
    """Computed ratings, in all lists."""
    differences: list[Difference]
    history_points: int = 0
    """Points of rating histories, in all lists."""
    history_corrected: int = 0
    """Points that were missing, wrong or superfluous."""


def ensure_list(connection: Connection, variant: str, time_class: str) -> int:
    """Return the key of the rating list of a canonical variant and a time class, created if new."""
    key = rater.list_key(connection, variant, time_class)
    if key is not None:
        return key
    row = {"variant": variant, "time_class": time_class}
    return int(connection.execute(insert(rating_lists).returning(rating_lists.c.id), row).scalar_one())


def list_name(variant: str = "", time_class: str = "") -> str:
    """Return the canonical `VARIANT/TIME_CLASS`; empty means `tictactoe` and `untimed`. Raises InvalidArgument."""
    try:
        canonical = parse_variant(variant or "tictactoe").name
    except VariantError as error:
        raise InvalidArgument.of("variant", error.got, error.expected) from error
    time_class = time_class or "untimed"
    if time_class not in TIME_CLASSES:
        raise InvalidArgument.of("time_class", time_class, f"one of {', '.join(TIME_CLASSES)}")
    return f"{canonical}/{time_class}"


def rebuild_ratings(connection: Connection, on_progress: Callable[[int, int], None] | None = None) -> RebuildReport:
    """Compute all ratings from the log, compare them with the stored ones, and store the result. Writes.

    `on_progress` is called after each run of the log with the number of slots done and of all slots. No server should
    use the database meanwhile, because it would continue from its cached ratings.
    """
    replay = replay_ratings(connection, on_progress)
    differences = replay.differences()
    if differences:
        connection.execute(delete(ratings))
        rows = [rater.rating_row(list_id, bot, rating) for (list_id, bot), rating in replay.rebuilt.items()]
        rater.write_ratings(connection, rows)
    connection.execute(delete(rating_moves))
    rater.write_moves(connection, replay.moves())
    surplus, wrong = replay.surplus_points(), replay.wrong_points()
    points = rating_history.c
    for list_id, bot, count in surplus:
        this = and_(points.list_id == list_id, points.bot_id == bot, points.games == count)
        connection.execute(delete(rating_history).where(this))
    rater.write_history(connection, wrong)
    corrected = len(surplus) + len(wrong)
    return RebuildReport(replay.slots, len(replay.rebuilt), differences, len(replay.history), corrected)


def replay_ratings(connection: Connection, on_progress: Callable[[int, int], None] | None = None) -> "Replay":
    """Compute all ratings from the log without changing the database. `on_progress` is as in `rebuild_ratings`."""
    total = connection.execute(select(func.coalesce(func.sum(rating_runs.c.games), 0))).scalar_one()
    replay = Replay(connection)
    for run in connection.execute(select(rating_runs).order_by(rating_runs.c.first_seq)).all():
        replay.rate(run)
        if on_progress:
            on_progress(replay.slots, total)
    return replay


class Replay:
    """A second rating of the games of the log."""

    def __init__(self, connection: Connection) -> None:
        self.ratings: dict[tuple[int, int], Rating] = {}
        """The ratings, by list and bot."""
        self.history: dict[tuple[int, int, int], tuple[float, int]] = {}
        """Rating and time, by list, bot and number of games."""
        self.slots = 0
        """The number of slots of the log that were read."""
        self._connection = connection
        self._playing: dict[int, tuple[tuple[int, ...], tuple[int, ...] | None, bool]] = {}
        self._ended_at = 0
        """The end of the game that is being rated."""

    def players(self, tournament: int) -> tuple[tuple[int, ...], tuple[int, ...] | None, bool]:
        """Return the entries' bots and owners as `rater.bots_of` and `owners_of` do, and whether moves are bounded."""
        if tournament not in self._playing:
            row = rater.tournament_rows(self._connection, [tournament])[tournament]
            owners = rater.owners_of(self._connection, row)
            self._playing[tournament] = rater.bots_of(self._connection, tournament), owners, row.bounded
        return self._playing[tournament]

    def rate(self, run: Row[Any]) -> None:
        """Rate the next run of the log."""
        playing, owners, bounded = self.players(run.tournament_id)
        new = [bot for bot in playing if (run.list_id, bot) not in self.ratings]
        anchors = rater.anchors_of(self._connection, new)
        self.ratings |= {(run.list_id, bot): first_rating(anchors.get(bot)) for bot in new}
        ratings_of_bots = {bot: self.ratings[run.list_id, bot] for bot in playing}

        def record(bot: int, rating: Rating) -> None:
            self.history[run.list_id, bot, rating.games] = (rating.rating, self._ended_at)

        rater.rate_scores(self.scores(run), playing, ratings_of_bots, record, owners, bounded=bounded)
        self.slots += run.games

    @property
    def rebuilt(self) -> dict[tuple[int, int], Rating]:
        """Return the ratings of bots with rated games, by list and bot."""
        return {key: rating for key, rating in self.ratings.items() if rating.games}

    def moves(self) -> list[tuple[Any, ...]]:
        """Return the moves of ratings: list, bot, owner of the opponents, points."""
        return [(*key, owner, moved) for key, rating in self.ratings.items() for owner, moved in rating.moved.items()]

    def differences(self) -> list[Difference]:
        """Return the stored ratings that differ."""
        return _compare(self._connection, self.rebuilt)

    def surplus_points(self) -> list[tuple[int, int, int]]:
        """Return stored points of histories that should not exist: list, bot, number of games."""
        return sorted(self._points().keys() - self.history.keys())

    def wrong_points(self) -> list[rater.HistoryRow]:
        """Return the correct points of histories that are missing or differ. Known times are kept.

        A game counts when the last gap before it is filled, and the log does not record this time. A missing point
        therefore gets the time at which its own game was stored.
        """
        stored = self._points()
        wrong: list[rater.HistoryRow] = []
        for key, (rating, ended_at) in self.history.items():
            stored_rating, stored_time = stored.get(key, (None, ended_at))
            if stored_rating != rating:
                list_id, bot, count = key
                wrong.append((list_id, bot, count, rating, stored_time))
        return wrong

    def _points(self) -> dict[tuple[int, int, int], tuple[float, int]]:
        return {
            (list_id, bot, count): (rating, at)
            for list_id, bot, count, rating, at in self._connection.execute(select(rating_history))
        }

    def scores(self, run: Row[Any]) -> Iterator[rater.EntryResult]:
        """Yield the games of a run of the log."""
        slots = games.c.ordinal.between(run.first_ordinal, run.first_ordinal + run.games - 1)
        statement = select(games.c.first_entry, games.c.second_entry, games.c.result, games.c.ended_at)
        played = statement.where(games.c.tournament_id == run.tournament_id, slots).order_by(games.c.ordinal)
        rows = self._connection.execute(played.execution_options(yield_per=_ROWS_AT_ONCE))
        for first, second, result, ended_at in rows:
            self._ended_at = ended_at
            yield first, second, result


def _compare(connection: Connection, rebuilt: dict[tuple[int, int], Rating]) -> list[Difference]:
    stored = {
        (row.list_id, row.bot_id): Rating(row.rating, row.games, row.wins, row.draws, row.losses)
        for row in connection.execute(select(ratings))
    }
    differing_keys = sorted(key for key in stored.keys() | rebuilt.keys() if stored.get(key) != rebuilt.get(key))
    if not differing_keys:
        return []
    lists = {row.id: f"{row.variant}/{row.time_class}" for row in connection.execute(select(rating_lists))}
    names = {row.id: row.name for row in connection.execute(select(bots.c.id, bots.c.name))}
    return [
        Difference(lists[list_id], names[bot], stored.get((list_id, bot)), rebuilt.get((list_id, bot)))
        for list_id, bot in differing_keys
    ]
