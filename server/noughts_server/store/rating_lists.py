"""Leaderboards, and recomputing them from the log."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select

from noughts_referee.rules import VariantError, parse_variant
from noughts_server.errors import InvalidArgument
from noughts_server.pages import Page, page_size, read_page_token, write_page_token
from noughts_server.ratings import Rating
from noughts_server.store import folding
from noughts_server.store.schema import bots, games, rating_lists, rating_runs, ratings

TIME_CLASSES = ("untimed", "bullet", "blitz", "rapid", "classical")

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A bot's place."""

    rank: int
    """From 1."""
    bot: str
    """Without the `bots/`."""
    rating: float
    games: int
    wins: int
    draws: int
    losses: int
    provisional: bool
    """Too few games to be sure."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored rating that the log does not confirm."""

    rating_list: str
    bot: str
    stored: Rating | None
    rebuilt: Rating | None


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What recomputing the ratings found."""

    slots: int
    """Slots in the log."""
    bots: int
    """Ratings computed, over all lists."""
    differences: list[Difference]
    """Empty when everything stored was right."""


def ensure_list(connection: Connection, variant: str, time_class: str) -> int:
    """The key of the rating list of a canonical variant and a time class, which is made if new."""
    this = and_(rating_lists.c.variant == variant, rating_lists.c.time_class == time_class)
    known: int | None = connection.execute(select(rating_lists.c.id).where(this)).scalar()
    if known is not None:
        return known
    row = {"variant": variant, "time_class": time_class}
    return int(connection.execute(insert(rating_lists).returning(rating_lists.c.id), row).scalar_one())


def list_name(variant: str = "", time_class: str = "") -> str:
    """`VARIANT/TIME_CLASS` in canonical spelling; empty means `tictactoe` and `untimed`. Raises InvalidArgument."""
    try:
        canonical = parse_variant(variant or "tictactoe").name
    except VariantError as error:
        raise InvalidArgument.of("variant", error.got, error.expected) from error
    time_class = time_class or "untimed"
    if time_class not in TIME_CLASSES:
        raise InvalidArgument.of("time_class", time_class, f"one of {', '.join(TIME_CLASSES)}")
    return f"{canonical}/{time_class}"


def leaderboard(
    connection: Connection,
    *,
    variant: str = "",
    time_class: str = "",
    size: int = 0,
    page_token: str = "",
) -> Page[LeaderboardRow]:
    """The bots of one list, strongest first, equal ones by name. Raises InvalidArgument."""
    name = list_name(variant, time_class)
    limit = page_size(size)
    method = f"leaderboards/{name}"
    canonical, _, time_class = name.partition("/")
    statement = (
        select(ratings, bots.c.name)
        .join(bots)
        .join(rating_lists)
        .where(rating_lists.c.variant == canonical, rating_lists.c.time_class == time_class)
        .order_by(ratings.c.rating.desc(), bots.c.name)
        .limit(limit + 1)
    )
    rank = 0
    after = read_page_token(method, page_token, [0.0, "", 0])
    if after is not None:
        rating, bot, rank = float(after[0]), str(after[1]), int(after[2])
        statement = statement.where(or_(ratings.c.rating < rating, and_(ratings.c.rating == rating, bots.c.name > bot)))
    found = connection.execute(statement).all()
    rows = [_leaderboard_row(rank + place, row) for place, row in enumerate(found[:limit], 1)]
    more = ""
    if len(found) > limit:
        more = write_page_token(method, [rows[-1].rating, rows[-1].bot, rows[-1].rank])
    return Page(rows, more)


def rebuild_ratings(connection: Connection, on_progress: Callable[[int, int], None] | None = None) -> RebuildReport:
    """Computes all ratings again from the log, compares them with what is stored, and stores the result. Writes.

    `on_progress` is called now and then with the slots done and the slots in all. No server should be running on the
    database: it would go on from the ratings that it remembers.
    """
    total = connection.execute(select(func.coalesce(func.sum(rating_runs.c.games), 0))).scalar_one()
    rebuilt: dict[tuple[int, int], Rating] = {}
    done = 0
    bots_of: dict[int, tuple[int, ...]] = {}
    for run in connection.execute(select(rating_runs).order_by(rating_runs.c.first_seq)).all():
        if run.tournament_id not in bots_of:
            bots_of[run.tournament_id] = folding.bots_of(connection, run.tournament_id)
        playing = bots_of[run.tournament_id]
        of_list = {bot: rebuilt.setdefault((run.list_id, bot), Rating()) for bot in playing}
        folding.rate_scores(_scores(connection, run), playing, of_list)
        done += run.games
        if on_progress:
            on_progress(done, total)
    rebuilt = {key: rating for key, rating in rebuilt.items() if rating.games}
    differences = _compare(connection, rebuilt)
    if differences:
        connection.execute(delete(ratings))
        folding.write_ratings(
            connection,
            [folding.rating_row(list_id, bot, rating) for (list_id, bot), rating in rebuilt.items()],
        )
    return RebuildReport(total, len(rebuilt), differences)


def _scores(connection: Connection, run: Row[Any]) -> Iterator[folding.Score]:
    rows = connection.execute(
        select(games.c.first_entry, games.c.second_entry, games.c.result)
        .where(
            games.c.tournament_id == run.tournament_id,
            games.c.ordinal.between(run.first_ordinal, run.first_ordinal + run.games - 1),
        )
        .order_by(games.c.ordinal)
        .execution_options(yield_per=_ROWS_AT_ONCE)
    )
    return ((first, second, result) for first, second, result in rows)


def _compare(connection: Connection, rebuilt: dict[tuple[int, int], Rating]) -> list[Difference]:
    stored = {
        (row.list_id, row.bot_id): Rating(row.rating, row.games, row.wins, row.draws, row.losses)
        for row in connection.execute(select(ratings))
    }
    differing = sorted(key for key in stored.keys() | rebuilt.keys() if stored.get(key) != rebuilt.get(key))
    if not differing:
        return []
    lists = {row.id: f"{row.variant}/{row.time_class}" for row in connection.execute(select(rating_lists))}
    names = {row.id: row.name for row in connection.execute(select(bots.c.id, bots.c.name))}
    return [
        Difference(lists[list_id], names[bot], stored.get((list_id, bot)), rebuilt.get((list_id, bot)))
        for list_id, bot in differing
    ]


def _leaderboard_row(rank: int, row: Row[Any]) -> LeaderboardRow:
    return LeaderboardRow(
        rank=rank,
        bot=row.name,
        rating=row.rating,
        games=row.games,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        provisional=Rating(games=row.games).provisional,
    )
