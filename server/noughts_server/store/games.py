"""Reading stored games."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select

from noughts_referee.records import unpack_moves, unpack_times
from noughts_referee.rules import Result, Termination, game_seed, parse_variant
from noughts_server.errors import NotFound
from noughts_server.pages import Page, page_size, read_page_token, write_page_token
from noughts_server.store.schema import bot_versions, entries, games, rating_runs
from noughts_server.store.tournaments import Tournament, get_tournament, get_tournament_by_id

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Game:
    """A stored game."""

    tournament: str
    """`tournaments/ID`."""
    ordinal: int
    """Its slot, from 1: `tournaments/ID/games/ORDINAL`."""
    variant: str
    first: str
    """Labels of the entries."""
    second: str
    seed: int
    """The game's own; a side's is `side_seed(seed, side)`."""
    moves: list[int]
    """Cells in the order played."""
    times_us: list[int]
    """Thinking time of each move in microseconds."""
    result: Result
    termination: Termination
    ended_at: int
    """When it was stored, in milliseconds since 1970 in UTC."""
    rating_seq: int | None
    """Its place in the order in which games were rated; None: not rated, or not yet."""

    @property
    def name(self) -> str:
        """`tournaments/ID/games/ORDINAL`."""
        return f"{self.tournament}/games/{self.ordinal}"


def get_game(connection: Connection, slug: str, ordinal: int) -> Game:
    """The game `tournaments/SLUG/games/ORDINAL`. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    name = f"{tournament.name}/games/{ordinal}"
    if not 0 < ordinal <= tournament.games_total:
        raise NotFound(name, hint=f"Its games are numbered from 1 to {tournament.games_total}.")
    row = connection.execute(_games(tournament).where(games.c.ordinal == ordinal)).one_or_none()
    if row is None:
        raise NotFound(name, hint="It has not been played yet.")
    return _Reader(connection, tournament, ordinal, ordinal).game(row)


def list_games(connection: Connection, slug: str, *, size: int = 0, page_token: str = "") -> Page[Game]:
    """A tournament's stored games in slot order. Raises NotFound, InvalidArgument for a bad size or page token."""
    limit = page_size(size)
    tournament = get_tournament(connection, slug)
    method = f"{tournament.name}/games"
    after = read_page_token(method, page_token, [0]) or [0]
    rows = connection.execute(_games(tournament).where(games.c.ordinal > after[0]).limit(limit + 1)).all()
    shown = rows[:limit]
    if not shown:
        return Page([], "")
    more = write_page_token(method, [shown[-1].ordinal]) if len(rows) > limit else ""
    reader = _Reader(connection, tournament, shown[0].ordinal, shown[-1].ordinal)
    return Page([reader.game(row) for row in shown], more)


class ExportedGame(NamedTuple):
    """A game in the words of game files."""

    variant: str
    first: str
    """Labels of the entries."""
    second: str
    seed: int
    """The game's own; a side's is `side_seed(seed, side)`."""
    moves: list[int]
    """Cells in the order played."""
    times_us: list[int]
    """Thinking time of each move in microseconds."""
    result: str
    """`1-0`, `1/2-1/2`, `0-1` or `*`."""
    termination: str


def export(connection: Connection, tournament_id: int) -> Iterator[ExportedGame]:
    """All stored games of a tournament in slot order, a few at a time in memory. Raises NotFound."""
    tournament = get_tournament_by_id(connection, tournament_id)
    variant, seed = tournament.variant, tournament.seed
    cells = parse_variant(variant).cells
    labels = {number: entry.label for number, entry in _entries(connection, tournament_id).items()}
    results = {int(result): str(result) for result in Result}
    terminations = {int(termination): str(termination) for termination in Termination}
    for row in connection.execute(_games(tournament).execution_options(yield_per=_ROWS_AT_ONCE)):
        yield ExportedGame(
            variant,
            labels[row.first_entry],
            labels[row.second_entry],
            game_seed(seed, row.ordinal),
            unpack_moves(row.moves, cells),
            unpack_times(row.times),
            results[row.result],
            terminations[row.termination],
        )


def terminations(connection: Connection, tournament_id: int) -> dict[str, int]:
    """How many of a tournament's games ended in each way; only ways that occurred. Reads all its games."""
    rows = connection.execute(
        select(games.c.termination, func.count())
        .where(games.c.tournament_id == tournament_id)
        .group_by(games.c.termination)
        .order_by(games.c.termination)
    )
    return {str(Termination(termination)): count for termination, count in rows}


class _Entry(NamedTuple):
    label: str
    bot: int


class _Reader:
    """Makes games of rows whose ordinals lie within bounds, both included."""

    def __init__(self, connection: Connection, tournament: Tournament, low: int, high: int) -> None:
        self._tournament = tournament
        self._cells = parse_variant(tournament.variant).cells
        self._entries = _entries(connection, tournament.id)
        self._runs = _runs(connection, tournament.id, low, high)

    def game(self, row: Row[Any]) -> Game:
        first, second = self._entries[row.first_entry], self._entries[row.second_entry]
        rated = row.result != Result.VOID and first.bot != second.bot
        return Game(
            tournament=self._tournament.name,
            ordinal=row.ordinal,
            variant=self._tournament.variant,
            first=first.label,
            second=second.label,
            seed=game_seed(self._tournament.seed, row.ordinal),
            moves=unpack_moves(row.moves, self._cells),
            times_us=unpack_times(row.times),
            result=Result(row.result),
            termination=Termination(row.termination),
            ended_at=row.ended_at,
            rating_seq=self._rating_seq(row.ordinal) if rated else None,
        )

    def _rating_seq(self, ordinal: int) -> int | None:
        index = bisect_right(self._runs, ordinal, key=lambda run: run[0]) - 1
        if index < 0:
            return None
        first_ordinal, count, first_seq = self._runs[index]
        offset = ordinal - first_ordinal
        return first_seq + offset if offset < count else None


def _games(tournament: Tournament) -> Select[Any]:
    return select(games).where(games.c.tournament_id == tournament.id).order_by(games.c.ordinal)


def _entries(connection: Connection, tournament_id: int) -> dict[int, _Entry]:
    rows = connection.execute(
        select(entries.c.number, entries.c.label, bot_versions.c.bot_id)
        .join(bot_versions)
        .where(entries.c.tournament_id == tournament_id)
    )
    return {number: _Entry(label, bot) for number, label, bot in rows}


def _runs(connection: Connection, tournament_id: int, low: int, high: int) -> list[tuple[int, int, int]]:
    """First ordinal, number of slots and first rating_seq of the runs that touch these ordinals."""
    rows = connection.execute(
        select(rating_runs.c.first_ordinal, rating_runs.c.games, rating_runs.c.first_seq)
        .where(
            rating_runs.c.tournament_id == tournament_id,
            rating_runs.c.first_ordinal <= high,
            rating_runs.c.first_ordinal + rating_runs.c.games > low,
        )
        .order_by(rating_runs.c.first_ordinal)
    )
    return [(first_ordinal, count, first_seq) for first_ordinal, count, first_seq in rows]
