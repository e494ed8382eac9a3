"""Read ratings: leaderboards, rating lists, and a bot's rank and history in each list."""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select, tuple_

from noughts_server.competition.elo import PROVISIONAL_GAMES, START, Rating
from noughts_server.core.errors import NotFound
from noughts_server.statistics.rating_table import Estimate
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.pages import Page, contains, page_size, read_page, read_page_token, write_page_token
from noughts_server.store.engine.schema import accuracies, bots, owners, rating_lists, ratings
from noughts_server.store.engine.schema import rating_history as history
from noughts_server.store.people.bots import get_bot
from noughts_server.store.ratings.rater import list_key
from noughts_server.store.ratings.rating_lists import list_name


class Place(NamedTuple):
    """The place of a bot in a view of a list."""

    rank: int
    estimate: Estimate


Places = Mapping[int, Place]
"""Places by the bot's key."""

_FEWEST_FOR_TREND = 10
"""With fewer games, a rating has no trend."""
_LIST = rating_lists.c.variant, rating_lists.c.time_class


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    rank: int
    bot_id: int
    bot: str
    """The name of the bot, without the prefix `bots/`."""
    owner: str
    rating: float
    games: int
    wins: int
    draws: int
    losses: int
    before: float | None
    """The rating after nine tenths of its games; None with fewer than ten games."""
    judged_games: int = 0
    """The number of judged games. For this and the next two fields, see `noughts_bots.reference.accuracy`."""
    decisions: int = 0
    blunders: int = 0

    @property
    def trend(self) -> float | None:
        """Return the change of the rating since `before`."""
        return None if self.before is None else self.rating - self.before

    @property
    def provisional(self) -> bool:
        """Return whether the bot has too few games for a reliable rating."""
        return Rating(games=self.games).provisional


@dataclass(frozen=True, slots=True)
class Filters:
    """A filter for the bots in a list; the default accepts all active bots."""

    owner: str = ""
    online: Collection[int] | None = field(default=None, compare=False)
    """Only these bots, by key: those that are online."""
    min_games: int = 0
    exclude_provisional: bool = False
    retired: bool = False
    search: str = ""
    """Only bots whose name contains this, ignoring case."""

    @property
    def fewest_games(self) -> int:
        """Return the larger of both limits on the number of games."""
        return max(self.min_games, PROVISIONAL_GAMES if self.exclude_provisional else 0)


class RatingList(NamedTuple):
    """The ratings of one variant and time class."""

    variant: str
    time_class: str
    bots: int
    """Bots with a rated game in this list."""
    games: int

    @property
    def name(self) -> str:
        return f"{self.variant}/{self.time_class}"


class ListState(NamedTuple):
    """Counts of a list that change with every rated game and every bot that retires. A game counts for both bots."""

    bots: int
    retired: int
    games: int


class RatingPoint(NamedTuple):
    """A bot's rating after its first `games` rated games."""

    games: int
    rating: float
    at: int
    """Milliseconds since 1970 in UTC."""


class RatingBin(NamedTuple):
    """The number of active bots whose ratings are in one interval."""

    rating: float
    """The lower end of the interval, which is `BIN_WIDTH` points wide."""
    bots: int


BIN_WIDTH = 50
"""In rating points."""


@dataclass(frozen=True, slots=True)
class RatingHistory:
    rating_list: str
    points: list[RatingPoint]
    """Oldest first; empty before the first rated game."""
    rating: float
    games: int
    distribution: list[RatingBin] = field(default_factory=list)
    """If requested: the intervals with bots, the lowest ratings first."""


def leaderboard(
    connection: Connection,
    *,
    variant: str = "",
    time_class: str = "",
    filters: Filters | None = None,
    size: int = 0,
    page_token: str = "",
    view: str = "live",
    places: Places | None = None,
) -> Page[LeaderboardRow]:
    """Return a page of one list, highest rating first, newest bot first among equals.

    With `places`, the page has only bots with a place, ordered by its rating. Otherwise it has all bots, ordered by
    their live ratings. Filters do not change ranks. Raises InvalidArgument, and NotFound for an unknown owner.
    """
    filters = filters or Filters()
    name = list_name(variant, time_class)
    limit = page_size(size)
    # `online` is omitted because bots connect and disconnect between pages.
    conditions = (filters.owner, filters.online is not None, filters.fewest_games, filters.retired, filters.search)
    method = f"leaderboards/{name}/{view}?{'&'.join(map(str, conditions))}"
    after = read_page_token(method, page_token, [0.0, 0, 0])
    # The list has no key if none of its bots is rated. Then no row matches.
    in_list = ratings.c.list_id == _key_of(connection, name)
    statement = _rows().where(in_list, ratings.c.games >= filters.fewest_games)
    if not filters.retired:
        statement = statement.where(bots.c.retired_at.is_(None))
    if filters.search:
        statement = statement.where(contains(filters.search, bots.c.name))
    last: tuple[float, int] | None = None
    above = 0
    """The number of active bots above the next row. The page token passes it on to the next page."""
    if after is not None:
        last_rating, last_bot, above_count = after
        last = (float(last_rating), int(last_bot))
        above = int(above_count)
    bot_ids = _bots_of(connection, filters)

    def sort_key(row: Row[Any]) -> tuple[float, int]:
        return row.rating if places is None else places[row.bot_id].estimate.view_rating, row.bot_id

    if places is not None:
        bot_ids = places.keys() if bot_ids is None else bot_ids & places.keys()
    if bot_ids is None:
        if last:
            statement = statement.where(tuple_(ratings.c.rating, ratings.c.bot_id) < last)
        # The database reads the index (list_id, rating, bot_id) backwards.
        ordered = statement.order_by(ratings.c.rating.desc(), ratings.c.bot_id.desc())
        page = list(connection.execute(ordered.limit(limit + 1)))
    else:
        batches = (statement.where(ratings.c.bot_id.in_(batch)) for batch in in_batches(sorted(bot_ids)))
        candidates = chain.from_iterable(map(connection.execute, batches))
        after_last = (row for row in candidates if last is None or sort_key(row) < last)
        page = sorted(after_last, key=sort_key, reverse=True)[: limit + 1]
    # Bots that a filter leaves out still count for ranks.
    filtered = places is None and (bot_ids is not None or filters.fewest_games or filters.search)
    rows = []
    for row in page[:limit]:
        if filtered:
            above += _active_above(connection, row, last)
        rows.append(_leaderboard_row(above + 1 if places is None else places[row.bot_id].rank, row))
        last = sort_key(row)
        above += 1 if row.retired_at is None else 0
    next_page_token = write_page_token(method, [*last, above]) if last and len(page) > limit else ""
    return Page(rows, next_page_token)


def list_state(connection: Connection, name: str) -> ListState:
    """Return the state of the list with this canonical name."""
    counts = select(
        func.count().label("bots"),
        func.count(bots.c.retired_at).label("retired"),
        func.coalesce(func.sum(ratings.c.games), 0).label("games"),
    )
    in_list = ratings.c.list_id == _key_of(connection, name)
    row = connection.execute(counts.select_from(ratings).join(bots).where(in_list)).one()
    return ListState(bots=int(row.bots), retired=int(row.retired), games=int(row.games))


def list_bots(connection: Connection, name: str) -> dict[str, tuple[int, bool]]:
    """Return the bots of a list by name: the key, and whether it is active."""
    in_list = ratings.c.list_id == _key_of(connection, name)
    rows = connection.execute(select(bots.c.name, bots.c.id, bots.c.retired_at).join(ratings).where(in_list))
    return {name: (key, retired_at is None) for name, key, retired_at in rows}


def list_rating_lists(connection: Connection, *, size: int = 0, page_token: str = "") -> Page[RatingList]:
    """Return a page of the rating lists, by variant and time class. Raises InvalidArgument (size, page token)."""
    of_list = ratings.c.list_id == rating_lists.c.id
    count = select(func.count()).where(of_list).scalar_subquery()
    # Each game counts for both bots.
    games = select(func.coalesce(func.sum(ratings.c.games), 0) / 2).where(of_list).scalar_subquery()
    statement = select(*_LIST, count.label("bots"), games.label("games"))

    def read(row: Row[Any]) -> RatingList:
        return RatingList(variant=row.variant, time_class=row.time_class, bots=row.bots, games=int(row.games))

    return read_page(connection, statement, read, "rating_lists", _LIST, size=size, page_token=page_token)


def list_bot_ratings(
    connection: Connection, bot: str, *, size: int = 0, page_token: str = ""
) -> Page[tuple[str, LeaderboardRow]]:
    """Return a page of the lists in which a bot has a rated game: the name, and the bot's row.

    Ranks count active bots and the bot itself.

    Raises NotFound, and InvalidArgument for a bad size or page token.
    """
    bot_id = get_bot(connection, bot).id
    statement = _rows().join(rating_lists).add_columns(*_LIST).where(ratings.c.bot_id == bot_id)

    def read(row: Row[Any]) -> tuple[str, LeaderboardRow]:
        return f"{row.variant}/{row.time_class}", _leaderboard_row(_active_above(connection, row) + 1, row)

    return read_page(connection, statement, read, f"bots/{bot}/ratings", _LIST, size=size, page_token=page_token)


def rating_history(
    connection: Connection, bot: str, *, variant: str = "", time_class: str = "", distribution: bool = False
) -> RatingHistory:
    """Return the history of a bot's rating in one list, with the distribution of all ratings if requested.

    Raises NotFound, InvalidArgument.
    """
    name = list_name(variant, time_class)
    bot_id = get_bot(connection, bot).id
    list_id = _key_of(connection, name)
    statement = select(history.c.games, history.c.rating, history.c.at).order_by(history.c.games)
    rows = connection.execute(statement.where(history.c.list_id == list_id, history.c.bot_id == bot_id))
    of_bot = (ratings.c.list_id == list_id, ratings.c.bot_id == bot_id)
    current = connection.execute(select(ratings.c.rating, ratings.c.games).where(*of_bot)).one_or_none()
    return RatingHistory(
        rating_list=name,
        points=[RatingPoint(games=row.games, rating=row.rating, at=row.at) for row in rows],
        rating=START if current is None else current.rating,
        games=0 if current is None else current.games,
        distribution=_distribution(connection, list_id) if distribution and list_id is not None else [],
    )


def _distribution(connection: Connection, list_id: int) -> list[RatingBin]:
    """Return how many active bots of a list have which rating."""
    # SQLite can lack the function `floor`.
    number = func.round(ratings.c.rating / BIN_WIDTH - 0.5)
    active = ratings.c.bot_id.not_in(select(bots.c.id).where(bots.c.retired_at > 0))
    statement = select(number.label("number"), func.count().label("bots")).where(ratings.c.list_id == list_id, active)
    rows = connection.execute(statement.group_by(number).order_by(number))
    return [RatingBin(rating=BIN_WIDTH * float(row.number), bots=row.bots) for row in rows]


def _key_of(connection: Connection, name: str) -> int | None:
    """Return the key of the list with this canonical name; None if it is unknown."""
    variant, time_class = name.split("/")
    return list_key(connection, variant, time_class)


def _rows() -> Select[Any]:
    """Select ratings with their bots."""
    of_bot = (history.c.list_id == ratings.c.list_id, history.c.bot_id == ratings.c.bot_id)
    early = (history.c.games <= ratings.c.games * 9 / 10, ratings.c.games >= _FEWEST_FOR_TREND)
    newest = select(history.c.rating).where(*of_bot, *early).order_by(history.c.games.desc()).limit(1)
    before = newest.correlate(ratings).scalar_subquery()
    of_both = (accuracies.c.list_id == ratings.c.list_id) & (accuracies.c.bot_id == ratings.c.bot_id)
    return (
        select(
            ratings,
            bots.c.name,
            bots.c.retired_at,
            owners.c.name.label("owner"),
            before.label("before"),
            func.coalesce(accuracies.c.judged_games, 0).label("judged_games"),
            func.coalesce(accuracies.c.decisions, 0).label("decisions"),
            func.coalesce(accuracies.c.blunders, 0).label("blunders"),
        )
        .select_from(ratings)
        .join(bots, bots.c.id == ratings.c.bot_id)
        .join(owners, owners.c.id == bots.c.owner_id)
        .outerjoin(accuracies, of_both)
    )


def _bots_of(connection: Connection, filters: Filters) -> Set[int] | None:
    """Return the keys of the bots that the filters for owner and presence accept; None for all."""
    bot_ids = None if filters.online is None else set(filters.online)
    if filters.owner:
        owner_id = connection.execute(select(owners.c.id).where(owners.c.name == filters.owner)).scalar()
        if owner_id is None:
            hint = "`noughts leaderboard` shows the owners of its bots."
            agent_hint = "`get_leaderboard` shows the owners of its bots."
            raise NotFound(f"owner {filters.owner}", hint=hint, agent_hint=agent_hint)
        owned = set(connection.scalars(select(bots.c.id).where(bots.c.owner_id == owner_id)))
        bot_ids = owned if bot_ids is None else bot_ids & owned
    return bot_ids


def _active_above(connection: Connection, row: Row[Any], below: tuple[float, int] | None = None) -> int:
    """Return the number of active bots above this row and, if given, below the rating and key `below`."""
    sort_key = tuple_(ratings.c.rating, ratings.c.bot_id)
    # Few bots are retired, so subtracting them is faster than checking each bot above. SQLite uses the index.
    active = ratings.c.bot_id.not_in(select(bots.c.id).where(bots.c.retired_at > 0))
    conditions = (ratings.c.list_id == row.list_id, sort_key > (row.rating, row.bot_id), active)
    above = select(func.count()).select_from(ratings).where(*conditions)
    return int(connection.execute(above if below is None else above.where(sort_key < below)).scalar_one())


def _leaderboard_row(rank: int, row: Row[Any]) -> LeaderboardRow:
    return LeaderboardRow(
        rank=rank,
        bot_id=row.bot_id,
        bot=row.name,
        owner=row.owner,
        rating=row.rating,
        games=row.games,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        before=row.before,
        judged_games=row.judged_games,
        decisions=row.decisions,
        blunders=row.blunders,
    )
