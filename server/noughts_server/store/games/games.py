"""Read stored games, and unfinished games from the journal."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Label,
    LargeBinary,
    Row,
    Select,
    Table,
    TextClause,
    and_,
    case,
    func,
    literal,
    null,
    or_,
    select,
)

from noughts_referee.clock import TimeControl
from noughts_referee.comments import MOST_PACKED_BYTES, unpack_comments
from noughts_referee.rules import (
    Adjudication,
    Result,
    Termination,
    Thought,
    Variant,
    VariantError,
    game_seed,
    parse_variant,
    unpack_thoughts,
)
from noughts_referee.work_units import (
    Allowance,
    FinishedGame,
    unpack_allowances,
    unpack_moves,
    unpack_scores,
    unpack_times,
)
from noughts_server.core.errors import NotFound
from noughts_server.core.resource_names import bot_name, game_name
from noughts_server.core.turns import give_way
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.pages import Page, page_size, read_page_token, write_page_token
from noughts_server.store.engine.schema import (
    LOST_BY_FAULT,
    STOPPED,
    bot_versions,
    bots,
    entries,
    entries_with_bots,
    games,
    journal,
    pairings,
    rating_runs,
)
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament, schedule_of

Condition = ColumnElement[bool] | TextClause
_Entry = Row[Any]

_WITHOUT_COMMENTS = [column for column in games.c if column.name not in ("comments", "thoughts")]
# Lists omit comments and thoughts, because they are by far the largest part of a game.
_COMMENTS = func.substr(games.c.comments, 1, MOST_PACKED_BYTES, type_=LargeBinary).label("comments")

DAY_MS = 86_400_000
ROWS_AT_ONCE = 1000
"""Limit of the rows that are in memory at once."""
COMMENTED_ROWS_AT_ONCE = 10
"""The limit for games with comments, which can have megabytes."""
_LISTED_ROWS_AT_ONCE = 100
"""The limit for lists, which end when a page is full."""
_TOURNAMENTS_A_STATEMENT = 100
"""Databases limit the nesting of a statement's conditions."""
_MOST_GAMES_READ = 100_000
"""Limit of the games that the query of a page reads, so that a filter with few matches is not slow."""
_PAGE_BYTES = 1 << 20
"""Limit of a page, which ends before the game that exceeds it. A game with old comments can have 4 MiB."""
# Upper limits of the bytes in a message: a game without moves, a ply, a score, a thought and a move of its `pv`.
_GAME_BYTES = 500
_PLY_BYTES = 8
_SCORE_BYTES = 20
_THOUGHT_BYTES = 40
_PV_BYTES = 3


class GameFilter(NamedTuple):
    """A filter for games; the default accepts all."""

    faults: bool = False
    """Only games that a side lost through its own fault."""
    result: Result | None = None
    termination: Termination | None = None
    won: bool | None = None
    """Only games that the given entries won (or lost, if False)."""
    stopped: bool = False
    """Only games that the organiser of their tournament stopped."""

    def among(self, entries: Collection[int] | None) -> list[Condition]:
        """Return the conditions; `entries` are those that `won` refers to, None for all."""
        conditions: list[Condition] = [LOST_BY_FAULT] if self.faults else []
        if self.stopped:
            conditions.append(STOPPED)
        if self.result is not None:
            conditions.append(games.c.result == int(self.result))
        if self.termination is not None:
            conditions.append(games.c.termination == int(self.termination))
        if entries is None:
            return conditions
        first, second = games.c.first_entry.in_(entries), games.c.second_entry.in_(entries)
        if self.won is None:
            return [*conditions, or_(first, second)]
        results = (Result.FIRST_WINS, Result.SECOND_WINS)
        of_first, of_second = results if self.won else results[::-1]
        return [*conditions, or_(and_(first, games.c.result == of_first), and_(second, games.c.result == of_second))]


EVERY_GAME = GameFilter()


class Agreement(NamedTuple):
    """The agreement of the players on the opening of a game."""

    rule: str
    """`swap` or `swap2`."""
    opener: str
    """The label of the entry that placed the first stones."""
    stones: int
    """The number of moves placed by agreement: three or five, or fewer if the game ended earlier."""


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A finished game, or a game in progress from the journal."""

    tournament_id: int
    """The store's key."""
    tournament: str
    """`tournaments/ID`."""
    tournament_title: str
    """The title of the tournament; can be empty."""
    ordinal: int
    """Its slot, from 1, as in `tournaments/ID/games/ORDINAL`."""
    variant: str
    first: str
    """The label of the entry that moved first."""
    second: str
    """The label of the other entry."""
    first_bot: str
    """The bot version of the entry that moved first, `bots/NAME/versions/V`."""
    second_bot: str
    seed: int
    """The seed of the game; that of a side is `side_seed(seed, side)`."""
    moves: list[int]
    """Cells in playing order."""
    times_us: list[int]
    """The time of each move in microseconds."""
    result: Result
    termination: Termination
    first_time: TimeControl
    second_time: TimeControl
    ended_at: int
    """When the game was stored, in milliseconds since 1970 in UTC."""
    fault: str
    """Why the loser lost through its own fault, if known: a phrase that follows "it"; else empty."""
    adjudication: str
    """Why a rule of the tournament adjudicated the game: a clause; else empty."""
    rating_seq: int | None
    """The position in the order of rated games; None if the game is not rated, or not yet."""
    time_factor: float | None = None
    """The number by which both times were multiplied; None if the tournament does not scale times."""
    agreement: Agreement | None = None
    opening_plies: int = 0
    """The number of moves that belong to a given opening."""
    allowances: tuple[Allowance, Allowance] | None = None
    """The time that each side's moves can take in addition to the clock; None without clocks or if unknown."""
    scores: Mapping[int, float] = field(default_factory=dict)
    """The mover's scores by ply, if the tournament keeps them; of a game in progress only with `live_scores`."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """The bots' comments by ply, if the tournament keeps scores and a caller requests them; none of running games."""
    thoughts: Mapping[int, Thought] = field(default_factory=dict)
    """The reports of the bots' searches by ply; present if comments are."""
    round: int = 0
    """The round of a Swiss, Danish or knockout tournament, or the number of the pairing in a ladder, from 1; else 0."""
    clocks_us: tuple[int, int] | None = None
    """The two clocks after the last move of a game in progress; None for a finished game."""

    @property
    def name(self) -> str:
        return game_name(self.tournament, self.ordinal)

    @property
    def size(self) -> int:
        """Return an upper estimate of the bytes of a message with this game."""
        comment_bytes = sum(4 + len(text.encode(errors="replace")) for text in self.comments.values())
        thought_bytes = sum(_THOUGHT_BYTES + _PV_BYTES * len(thought.pv) for thought in self.thoughts.values())
        remarks = _SCORE_BYTES * len(self.scores) + comment_bytes + thought_bytes
        remarks += len(self.tournament_title.encode(errors="replace"))
        return _GAME_BYTES + _PLY_BYTES * len(self.moves) + remarks


def get_game(connection: Connection, slug: str, ordinal: int, *, comments: bool = True) -> StoredGame:
    """Return the game `tournaments/SLUG/games/ORDINAL`, even in progress if it is journaled. Raises NotFound.

    Without `comments`, a finished game has neither comments nor thoughts.
    """
    tournament = get_tournament(connection, slug)
    name = game_name(tournament.name, ordinal)
    if not 0 < ordinal <= tournament.games_total:
        raise NotFound(name, hint=f"Choose a number from 1 to {tournament.games_total}.")
    one = _games_with_rating_seq(tournament, comments=comments).where(games.c.ordinal == ordinal)
    stored = _read(connection, tournament, one) or _read(connection, tournament, _so_far(tournament, ordinal))
    if not stored:
        raise NotFound(name, hint="Wait until it has been played.")
    return stored[0]


def read_games(
    connection: Connection, tournament: Tournament, ordinals: Sequence[int], *conditions: Condition
) -> list[StoredGame]:
    """Return the stored games of up to 1,001 ordinals that meet the conditions, in slot order, without comments."""
    return _read(
        connection, tournament, _games_with_rating_seq(tournament).where(games.c.ordinal.in_(ordinals), *conditions)
    )


def is_installed(variant: str) -> bool:
    """Return whether the variant is known here. The plugin of a stored variant can be missing."""
    try:
        parse_variant(variant)
    except VariantError:
        return False
    return True


class SomeGames(NamedTuple):
    """The games of a tournament with these ordinals that meet the conditions."""

    tournament: Tournament
    ordinals: Sequence[int]
    conditions: Sequence[Condition]


def read_games_of_many(connection: Connection, parts: Iterable[SomeGames]) -> list[StoredGame]:
    """Return the stored games of several tournaments, in the order of `parts`, in each in slot order.

    A tournament occurs at most once. The games have no comments.
    """
    stored: list[StoredGame] = []
    # Databases limit the nesting of a statement's conditions, and the number of its parameters.
    for batch in in_batches(parts, _TOURNAMENTS_A_STATEMENT):
        of_game = (
            and_(games.c.tournament_id == each.tournament.id, games.c.ordinal.in_(each.ordinals), *each.conditions)
            for each in batch
        )
        rows = connection.execute(_WITH_RATING_SEQ.where(or_(*of_game))).all()
        stored += _games_of_rows(connection, [each.tournament for each in batch], rows)
    return stored


def list_games(
    connection: Connection,
    slug: str,
    *,
    size: int = 0,
    page_token: str = "",
    game_filter: GameFilter = EVERY_GAME,
    entry: str = "",
    after: int = 0,
    comments: bool = False,
) -> Page[StoredGame]:
    """Return a page of a tournament's stored games in slot order that match `game_filter` and `entry`.

    The page has fewer games than `size` if they are too large for a message. With `comments`, games have comments.

    `entry` is a label, or `bots/NAME` for all entries of a bot. Without a token, the page begins after the number
    `after`. Raises NotFound, InvalidArgument (size, page token).
    """
    limit = page_size(size)
    tournament = get_tournament(connection, slug)
    conditions = game_filter.among(_entries_called(connection, tournament, entry) if entry else None)
    method = f"{tournament.name}/games{f'?{entry}&{game_filter}' if conditions else ''}"
    after = int((read_page_token(method, page_token, [0]) or [min(after, tournament.games_total)])[0])
    has_index = game_filter.faults or game_filter.stopped
    end = after + _MOST_GAMES_READ if conditions and not has_index else tournament.games_total
    if has_index:
        conditions = [games.c.ordinal.in_(_matching_ordinals(connection, tournament, after, limit + 1, conditions))]
    else:
        conditions += (games.c.ordinal > after, games.c.ordinal <= end)
    statement = _games_with_rating_seq(tournament, comments=comments).where(*conditions).limit(limit + 1)
    page = _read(connection, tournament, statement, most_bytes=_PAGE_BYTES)
    limit = fitting_count(page, limit)
    if len(page) > limit:
        return Page(page[:limit], write_page_token(method, [page[limit - 1].ordinal]))
    return Page(page, write_page_token(method, [end]) if end < tournament.games_total else "")


def fitting_count(page: Sequence[StoredGame], limit: int) -> int:
    """Return how many of the games fit into one page: `limit`, or fewer if they are large; at least one."""
    size = 0
    for count, game in enumerate(page[:limit]):
        size += game.size
        if size > _PAGE_BYTES and count:
            return count
    return limit


def _matching_ordinals(
    connection: Connection, tournament: Tournament, after: int, most: int, conditions: Sequence[Condition]
) -> list[int]:
    """Return the ordinals of up to `most` games after `after` that meet the conditions. One condition has an index."""
    # The `+ 0` prevents SQLite from reading all games in the order of the key.
    ordinal = games.c.ordinal + 0
    statement = select(games.c.ordinal).where(games.c.tournament_id == tournament.id, *conditions, ordinal > after)
    return list(connection.scalars(statement.order_by(ordinal).limit(most)))


def _entries_called(connection: Connection, tournament: Tournament, entry: str) -> list[int]:
    """Return the number of the entry with this label, or those of a bot's entries. Raises NotFound."""
    has_name = bots.c.name == entry.removeprefix("bots/") if entry.startswith("bots/") else entries.c.label == entry
    of_tournament = entries.c.tournament_id == tournament.id
    statement = select(entries.c.number).select_from(entries_with_bots).where(of_tournament, has_name)
    numbers = list(connection.scalars(statement))
    if not numbers:
        hint = f"`noughts tournament show {tournament.slug}` lists the entries."
        agent_hint = "`get_tournament` lists the entries."
        raise NotFound(f"{tournament.name}, entry {entry!r}", hint=hint, agent_hint=agent_hint)
    return numbers


def count_faults(connection: Connection, tournament_id: int) -> dict[int, int]:
    """Return how many games each entry lost through its own fault; entries without such a game are absent."""
    loser = case((games.c.result == int(Result.FIRST_WINS), games.c.second_entry), else_=games.c.first_entry)
    decided = games.c.result.in_((Result.FIRST_WINS, Result.SECOND_WINS))
    statement = select(loser, func.count()).where(games.c.tournament_id == tournament_id, LOST_BY_FAULT, decided)
    lost: Counter[int] = Counter()
    # SQLite uses the index of faults only for a query in its order. Otherwise it reads all games of the tournament.
    for entry, count in connection.execute(statement.group_by(games.c.termination, loser)):
        lost[entry] += count
    return lost


class GamesOfDay(NamedTuple):
    """The games of a tournament that ended on one day. A change of one of the sums shows new games or faults."""

    day: int
    """Days since 1970-01-01 in UTC."""
    tournament: int
    games: int
    sum_of_ordinals: int
    length_of_faults: int


def games_by_day(connection: Connection) -> list[GamesOfDay]:
    """Return the games of each day and tournament, in that order."""
    key = (games.c.ended_at // DAY_MS, games.c.tournament_id)
    sums = func.sum(games.c.ordinal), func.coalesce(func.sum(func.length(games.c.fault)), 0)
    rows = connection.execute(select(*key, func.count(), *sums).group_by(*key).order_by(*key))
    return [GamesOfDay(*map(int, row)) for row in rows]


def finished_games(connection: Connection, tournament_id: int) -> Iterator[FinishedGame]:
    """Yield all stored games of a tournament in slot order, without comments, a few at a time in memory."""
    statement = select(*_WITHOUT_COMMENTS).where(games.c.tournament_id == tournament_id).order_by(games.c.ordinal)
    for row in connection.execute(statement.execution_options(yield_per=ROWS_AT_ONCE)):
        yield FinishedGame(
            tournament=row.tournament_id,
            ordinal=row.ordinal,
            attempt=row.attempt,
            first=row.first_entry,
            second=row.second_entry,
            result=row.result,
            termination=row.termination,
            moves=row.moves,
            times=row.times,
            fault=row.fault or "",
            opening_plies=row.opening_plies,
            allowances=row.allowances,
            scores=row.scores,
            time_factor=row.time_factor,
        )


def terminations(connection: Connection, tournament_id: int) -> dict[str, int]:
    """Return how many of a tournament's games ended in each way that occurred. Reads all its games."""
    kind = games.c.termination
    statement = select(kind, func.count()).where(games.c.tournament_id == tournament_id).group_by(kind).order_by(kind)
    return {str(Termination(termination)): count for termination, count in connection.execute(statement)}


def _read(
    connection: Connection, tournament: Tournament, statement: Select[Any], *, most_bytes: int | None = None
) -> list[StoredGame]:
    """Return the games; with `most_bytes`, stop one game after their size exceeds it."""
    at_once = COMMENTED_ROWS_AT_ONCE if _COMMENTS.name in statement.selected_columns else _LISTED_ROWS_AT_ONCE
    stored: list[StoredGame] = []
    size = 0
    with connection.execute(statement.execution_options(yield_per=at_once)) as result:
        for rows in result.partitions():
            for game in _games_of_rows(connection, [tournament], rows):
                stored.append(game)
                if most_bytes is not None and size > most_bytes:
                    return stored
                size += game.size
    return stored


def _games_of_rows(
    connection: Connection, of_tournaments: Iterable[Tournament], rows: Sequence[Row[Any]]
) -> Iterator[StoredGame]:
    """Yield the games in these rows: in the order of the tournaments, in each by ordinal."""
    by_tournament: defaultdict[int, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        by_tournament[row.tournament_id].append(row)
    numbers = {
        tournament_id: {entry for row in its_rows for entry in (row.first_entry, row.second_entry)}
        for tournament_id, its_rows in by_tournament.items()
    }
    entries_by_tournament = _entries(connection, numbers)
    for tournament in of_tournaments:
        if its_rows := by_tournament[tournament.id]:
            variant = parse_variant(tournament.settings.variant)
            players = entries_by_tournament[tournament.id]
            labels = {number: entry.label for number, entry in players.items()}
            agreement_of = agreements(connection, tournament)
            adjudication = tournament.settings.adjudication
            for row in sorted(its_rows, key=attrgetter("ordinal")):
                yield _game(
                    tournament,
                    variant,
                    first=players[row.first_entry],
                    second=players[row.second_entry],
                    row=row,
                    agreement=agreement_of(row, labels),
                    adjudication=adjudication,
                )
                give_way()


def agreements(
    connection: Connection, tournament: Tournament
) -> Callable[[Row[Any], Mapping[int, str]], Agreement | None]:
    """Return a function from a row and the entries' labels to the agreement on the opening."""
    variant = parse_variant(tournament.settings.variant)
    if not variant.agreement:
        return lambda row, labels: None
    schedule = schedule_of(connection, tournament)

    def agreement(row: Row[Any], labels: Mapping[int, str]) -> Agreement:
        return Agreement(variant.agreement, labels[schedule.slot(row.ordinal).first], row.opening_plies)

    return agreement


def _game(
    tournament: Tournament,
    variant: Variant,
    *,
    first: _Entry,
    second: _Entry,
    row: Row[Any],
    agreement: Agreement | None,
    adjudication: Adjudication,
) -> StoredGame:
    rated = row.result != Result.VOID and first.bot_id != second.bot_id
    rated = rated and (tournament.own_rated or first.owner_id != second.owner_id)
    is_live = "first_clock_us" in row._fields
    return StoredGame(
        tournament_id=tournament.id,
        tournament=tournament.name,
        tournament_title=tournament.settings.title,
        ordinal=row.ordinal,
        variant=tournament.settings.variant,
        first=first.label,
        second=second.label,
        first_bot=bot_name(first.name, first.version),
        second_bot=bot_name(second.name, second.version),
        seed=game_seed(tournament.settings.seed, row.ordinal),
        moves=unpack_moves(row.moves, variant.cells),
        times_us=unpack_times(row.times),
        result=Result(row.result),
        termination=Termination(row.termination),
        first_time=tournament.settings.time_of(first.label),
        second_time=tournament.settings.time_of(second.label),
        time_factor=row.time_factor,
        ended_at=row.ended_at,
        fault=row.fault or "",
        adjudication=adjudication_reason(adjudication, row, variant, first.label, second.label),
        rating_seq=row.rating_seq if rated else None,
        agreement=agreement,
        opening_plies=variant.given_plies(row.opening_plies),
        allowances=unpack_allowances(row.allowances) if not is_live and row.allowances else None,
        comments=unpack_comments(row.comments) if "comments" in row._fields and not is_live else {},
        thoughts=unpack_thoughts(row.thoughts) if "thoughts" in row._fields and not is_live else {},
        scores=unpack_scores(None if is_live and not tournament.settings.live_scores else row.scores),
        round=row.round,
        clocks_us=(row.first_clock_us, row.second_clock_us) if is_live else None,
    )


def adjudication_reason(adjudication: Adjudication, row: Row[Any], variant: Variant, first: str, second: str) -> str:
    """Return why one of these rules adjudicated a stored game between entries with these labels; else empty.

    A game that an entry lost because it was withdrawn has a fault.
    """
    if row.termination != Termination.ADJUDICATED or row.fault:
        return ""
    plies = len(unpack_moves(row.moves, variant.cells))
    return adjudication.reason(Result(row.result), unpack_scores(row.scores), plies, (first, second))


def _so_far(tournament: Tournament, ordinal: int) -> Select[Any]:
    """Select a journaled game with the columns of a finished one."""
    void = {"result": int(Result.VOID), "termination": int(Termination.VOID), "ended_at": 0}
    other_columns: list[Any] = [literal(value).label(name) for name, value in void.items()]
    other_columns += [null().label("fault"), null().label("rating_seq")]
    other_columns.append(_round(journal))
    return select(journal, *other_columns).where(journal.c.tournament_id == tournament.id, journal.c.ordinal == ordinal)


def _round(played: Table) -> Label[Any]:
    """Return the column `round` of games, which is stored with their pairings."""
    same = (pairings.c.tournament_id == played.c.tournament_id, pairings.c.ordinal == played.c.ordinal)
    stored = select(pairings.c.round).where(*same).correlate(played).scalar_subquery()
    return func.coalesce(stored, 0).label("round")


def select_games(tournament: Tournament) -> Select[Any]:
    """Select a tournament's games with their comments and thoughts, in slot order."""
    statement = select(*_WITHOUT_COMMENTS, _COMMENTS, games.c.thoughts, _round(games)).where(
        games.c.tournament_id == tournament.id
    )
    return statement.order_by(games.c.ordinal)


def _with_rating_seq() -> Select[Any]:
    """Select games without comments, with `rating_seq`: the number of their slot in the log of the ratings, if any."""
    run = rating_runs.c
    place = games.c.ordinal - run.first_ordinal
    runs = select(case((place < run.games, run.first_seq + place))).order_by(run.first_ordinal.desc()).limit(1)
    of_game = runs.where(run.tournament_id == games.c.tournament_id, run.first_ordinal <= games.c.ordinal)
    rating_seq = of_game.correlate(games).scalar_subquery()
    return select(*_WITHOUT_COMMENTS, rating_seq.label("rating_seq"), _round(games))


_WITH_RATING_SEQ = _with_rating_seq()


def _games_with_rating_seq(tournament: Tournament, *, comments: bool = False) -> Select[Any]:
    """Select a tournament's games with `rating_seq`, and with `comments` if the tournament keeps them."""
    statement = _WITH_RATING_SEQ.where(games.c.tournament_id == tournament.id).order_by(games.c.ordinal)
    return (
        statement.add_columns(_COMMENTS, games.c.thoughts)
        if comments and tournament.settings.keep_scores
        else statement
    )


def _entries(connection: Connection, numbers: Mapping[int, Collection[int]]) -> dict[int, dict[int, _Entry]]:
    """Return the entries with these numbers by tournament and number; `numbers` are by tournament."""
    statement: Select[Any] = select(
        entries.c.tournament_id,
        entries.c.number,
        entries.c.label,
        bot_versions.c.bot_id,
        bots.c.name,
        bot_versions.c.version,
        bots.c.owner_id,
    ).select_from(entries_with_bots)
    rows: defaultdict[int, dict[int, _Entry]] = defaultdict(dict)
    for batch in in_batches(numbers.items(), _TOURNAMENTS_A_STATEMENT):
        of_tournaments = (
            and_(entries.c.tournament_id == tournament_id, entries.c.number.in_(sorted(of_it)))
            for tournament_id, of_it in batch
        )
        for row in connection.execute(statement.where(or_(*of_tournaments))):
            rows[row.tournament_id][row.number] = row
    return rows
