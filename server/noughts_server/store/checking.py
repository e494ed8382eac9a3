"""Check the consistency of a database: compare each derived value with the values from which it follows.

The check starts with SQLite's own check. Then it checks the slots, moves and scores of each tournament, the totals of
bots, and the log of the ratings with its results. A tournament that cannot be read is a finding, and the check
continues with the next one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, case, exists, func, literal_column, or_, select, union_all
from sqlalchemy.exc import DBAPIError

from noughts_referee.rules import Result, Termination, game_seed, parse_variant
from noughts_referee.work_units import unpack_moves, unpack_times
from noughts_server.competition.schedule import Schedule
from noughts_server.core.resource_names import game_name, tournament_name
from noughts_server.store.engine import dialect
from noughts_server.store.engine.schema import (
    TournamentState,
    bot_scores,
    bot_versions,
    entries,
    entry_scores,
    games,
    journal,
    meetings,
    pair_scores,
    rating_runs,
    tournaments,
    units,
)
from noughts_server.store.games.exports import ExportedGame, export
from noughts_server.store.games.results import counted_scores
from noughts_server.store.ratings.rating_lists import replay_ratings
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id, schedule_of

MOST_KEPT = 1000
"""Limit of the findings that are kept as text; the check only counts the others."""

_ROWS_AT_ONCE = 1000
"""Rows of a batch, so that a large tournament needs little memory."""


class Finding(NamedTuple):
    """One inconsistency in the database."""

    where: str
    """`tournaments/ID/games/N`, `tournaments/ID`, `bots`, `ratings` or `database`."""
    error: str


@dataclass(slots=True)
class CheckReport:
    """The numbers of rows that the check has read, and its findings."""

    tournaments: int = 0
    games: int = 0
    ratings: int = 0
    errors: int = 0
    """The number of all errors."""
    findings: list[Finding] = field(default_factory=list)
    """The first `MOST_KEPT` findings."""

    def add(self, where: str, *errors: str) -> None:
        """Record errors found at `where`."""
        self.errors += len(errors)
        self.findings += (Finding(where, error) for error in errors[: max(0, MOST_KEPT - len(self.findings))])


def check_database(
    connection: Connection,
    errors_of: Callable[[ExportedGame], Iterable[str]],
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> CheckReport:
    """Check the whole database without changing it; `errors_of` replays a game and returns its errors.

    `on_progress` is called after each batch with the number of games checked and of all games.
    """
    report = CheckReport()
    report.add("database", *dialect.of(connection).findings(connection))
    keys = connection.execute(select(tournaments.c.id, tournaments.c.slug, tournaments.c.games_done)).all()
    total = sum(row.games_done for row in keys)
    for key, slug, _ in keys:
        report.tournaments += 1
        place = tournament_name(slug)
        try:
            _Check(connection, get_tournament_by_id(connection, key), report, place).run(
                errors_of, lambda: on_progress(report.games, total)
            )
        except (DBAPIError, ValueError, LookupError) as error:
            # SQLite itself reports a damaged page. Values read from it can be meaningless.
            cause = error.orig if isinstance(error, DBAPIError) else error
            report.add(place, f"cannot be read on: {cause}")
    for place, check in (("bots", _check_bots), ("ratings", _check_ratings)):
        try:
            check(connection, report)
        except (DBAPIError, ValueError, LookupError) as error:
            report.add(place, f"cannot be read: {error.orig if isinstance(error, DBAPIError) else error}")
    return report


class _Check:
    def __init__(self, connection: Connection, tournament: Tournament, report: CheckReport, place: str) -> None:
        self._connection = connection
        self._tournament = tournament
        self._report = report
        self._place = place
        # Players can swap sides by agreement, so the entries of a game and of its slot can have opposite orders.
        self._swaps = bool(parse_variant(tournament.settings.variant).agreement)
        attempts = select(units.c.number, units.c.attempt).where(units.c.tournament_id == tournament.id)
        self._attempts = {row.number: row.attempt for row in connection.execute(attempts)}
        self._pairs: Counter[tuple[int, int, int]] = Counter()
        """The number of games by first entry, second entry and result."""
        self._count = 0
        """Games read so far."""
        self._prefix = 0
        """The number of games before the first gap."""

    def run(self, errors_of: Callable[[ExportedGame], Iterable[str]], on_progress: Callable[[], None]) -> None:
        """Check the whole tournament. Raises the errors of reading it."""
        has_started = self._tournament.games_total > 0
        schedule = schedule_of(self._connection, self._tournament) if has_started else None
        played = export(self._connection, self._tournament.id)
        rows = iter(self._rows())
        while batch := list(islice(rows, _ROWS_AT_ONCE)):
            self._check_slots(batch, schedule)
            for row, game in zip(batch, played, strict=False):
                self._report.add(game_name(self._place, row.ordinal), *errors_of(game))
            self._report.games += len(batch)
            on_progress()
        self._check_progress()
        self._check_scores()
        self._check_journal(errors_of)

    def _check_journal(self, errors_of: Callable[[ExportedGame], Iterable[str]]) -> None:
        """Check the journal: its games must be legal so far, and their slots must have no stored game."""
        settings, key = self._tournament.settings, self._tournament.id
        played = exists().where(games.c.tournament_id == key, games.c.ordinal == journal.c.ordinal)
        of_tournament = select(journal, played.label("played")).where(journal.c.tournament_id == key)
        cells = parse_variant(settings.variant).cells
        for row in self._connection.execute(of_tournament):
            place = game_name(self._place, row.ordinal)
            if row.played:
                self._report.add(place, "journal: got a live game, expected none: its slot has been played")
            so_far = ExportedGame(
                variant=settings.variant,
                first="",
                second="",
                seed=game_seed(settings.seed, row.ordinal),
                moves=unpack_moves(row.moves, cells),
                times_us=unpack_times(row.times),
                result=str(Result.VOID),
                termination=str(Termination.VOID),
                opening_plies=row.opening_plies,
            )
            self._report.add(place, *(f"journal: {fault}" for fault in errors_of(so_far)))

    def _rows(self) -> Iterable[Row[Any]]:
        column = games.c
        query = select(column.ordinal, column.attempt, column.first_entry, column.second_entry, column.result)
        statement = query.where(column.tournament_id == self._tournament.id).order_by(column.ordinal)
        return self._connection.execute(statement.execution_options(yield_per=_ROWS_AT_ONCE))

    def _check_slots(self, batch: Sequence[Row[Any]], schedule: Schedule | None) -> None:
        total = self._tournament.games_total
        inside = [row.ordinal for row in batch if 1 <= row.ordinal <= total]
        slots = {slot.ordinal: slot for slot in schedule.slots(inside)} if schedule is not None else {}
        for row in batch:
            place = game_name(self._place, row.ordinal)
            slot = slots.get(row.ordinal)
            self._count += 1
            if row.ordinal == self._prefix + 1:
                self._prefix += 1
            self._pairs[row.first_entry, row.second_entry, row.result] += 1
            if slot is None:
                self._report.add(place, f"slot: got {row.ordinal}, expected 1 to {total}")
                continue
            got, expected = (row.first_entry, row.second_entry), (slot.first, slot.second)
            if got != expected and not (self._swaps and got == expected[::-1]):
                self._report.add(place, f"entries: got {got}, expected {expected}, as its slot has them")
            attempt = self._attempts.get((row.ordinal - 1) // self._tournament.unit_games, 0)
            if not 1 <= row.attempt <= attempt:
                self._report.add(place, f"attempt: got {row.attempt}, expected 1 to {attempt}, as its unit was claimed")

    def _check_progress(self) -> None:
        tournament = self._tournament
        if tournament.games_done != self._count:
            self._report.add(
                self._place, f"games: got {tournament.games_done} counted, expected the {self._count} stored"
            )
        # A cancelled tournament has also folded the games behind its gaps.
        if tournament.state is not TournamentState.CANCELLED and tournament.folded != self._prefix:
            self._report.add(
                self._place, f"folded: got {tournament.folded}, expected {self._prefix}, up to the first gap"
            )
        if tournament.state is TournamentState.FINISHED and self._count != tournament.games_total:
            self._report.add(self._place, f"finished: got {self._count} games, expected {tournament.games_total}")

    def _check_scores(self) -> None:
        pairs, totals = counted_scores(self._pairs)
        table = pair_scores.c
        pairs_of = select(table.first_entry, table.second_entry, table.wins, table.draws, table.losses)
        stored_pairs = self._connection.execute(pairs_of.where(table.tournament_id == self._tournament.id))
        stored_scores = {(first, second): [*score] for first, second, *score in stored_pairs}
        self._compare("score of the entries", stored_scores, pairs)
        row_of = entry_scores.c
        totals_of = select(row_of.entry, row_of.wins, row_of.draws, row_of.losses)
        stored = self._connection.execute(totals_of.where(row_of.tournament_id == self._tournament.id))
        self._compare("score of entry", {row[0]: [*row[1:]] for row in stored}, totals)

    def _compare(self, what: str, stored: dict[Any, list[int]], counted: dict[Any, list[int]]) -> None:
        nothing = [0, 0, 0]
        for key in sorted(stored.keys() | counted.keys()):
            got, expected = stored.get(key, nothing), counted.get(key, nothing)
            if got != expected:
                text = "got {} wins, {} draws, {} losses, expected {}, {}, {}".format(*got, *expected)
                self._report.add(self._place, f"{what} {key}: {text}")


def _check_bots(connection: Connection, report: CheckReport) -> None:
    """Check the bots of entries, the scores of bots against each other, and the tournaments in which they met."""
    version = and_(bot_versions.c.id == entries.c.bot_version_id, bot_versions.c.bot_id != entries.c.bot_id)
    wrong_entries = select(entries.c.tournament_id, entries.c.number).join(bot_versions, version)
    for tournament_id, number in connection.execute(wrong_entries):
        entry = f"entry {number} of the tournament with key {tournament_id}"
        report.add("bots", f"bot: got another bot for {entry}, expected that of its version")
    one = entries.alias()
    other = entries.alias()
    scores = pair_scores.c
    joined = (
        pair_scores.join(tournaments, tournaments.c.id == scores.tournament_id)
        .join(one, and_(one.c.tournament_id == scores.tournament_id, one.c.number == scores.first_entry))
        .join(other, and_(other.c.tournament_id == scores.tournament_id, other.c.number == scores.second_entry))
    )
    counts = ("wins", "draws", "losses")
    of_pairs = select(
        one.c.bot_id.label("first"), other.c.bot_id.label("second"), tournaments.c.variant, *(scores[c] for c in counts)
    ).select_from(joined)
    total = bot_scores.c
    stored = select(
        total.first_bot, total.second_bot, total.variant, *(literal_column(f"-{name}").label(name) for name in counts)
    )
    # Stored totals count as negative here. So the result is 0 if a total equals the sum of its pairs.
    scores_and_totals = union_all(of_pairs, stored.select_from(bot_scores)).subquery().c
    differs = or_(*(func.sum(scores_and_totals[name]) != 0 for name in counts))
    key = (scores_and_totals.first, scores_and_totals.second, scores_and_totals.variant)
    for first, second, variant in connection.execute(select(*key).group_by(*key).having(differs)):
        pair = f"the bots with keys {first} and {second} in {variant}"
        report.add("bots", f"score: got another total for {pair}, expected the sum of their tournaments")
    smaller = case((one.c.bot_id < other.c.bot_id, one.c.bot_id), else_=other.c.bot_id)
    larger = case((one.c.bot_id < other.c.bot_id, other.c.bot_id), else_=one.c.bot_id)
    met = meetings.c
    is_stored = exists().where(
        met.one_bot == smaller, met.other_bot == larger, met.tournament_id == scores.tournament_id
    )
    missing = select(scores.tournament_id, smaller.label("one"), larger.label("other")).distinct()
    for tournament_id, first, second in connection.execute(missing.select_from(joined).where(~is_stored)):
        pair = f"the bots with keys {first} and {second} in the tournament with key {tournament_id}"
        report.add("bots", f"meeting: got none of {pair}, expected one")


def _check_ratings(connection: Connection, report: CheckReport) -> None:
    """Check that the log covers all folded games without gaps and produces the stored ratings, bit for bit."""
    next_seq = 1
    last_ordinals: dict[int, int] = {}
    """The last rated slot of each tournament."""
    for run in connection.execute(select(rating_runs).order_by(rating_runs.c.first_seq)):
        if run.first_seq != next_seq:
            report.add("ratings", f"log: got a run that begins at {run.first_seq}, expected {next_seq}")
        next_seq = run.first_seq + run.games
        before = last_ordinals.get(run.tournament_id, 0)
        if run.first_ordinal != before + 1:
            slot = f"slot {run.first_ordinal} of the tournament with key {run.tournament_id}"
            report.add("ratings", f"log: got {slot}, expected {before + 1}")
        last_ordinals[run.tournament_id] = run.first_ordinal + run.games - 1
    statement = select(tournaments.c.id, tournaments.c.slug, tournaments.c.folded)
    for key, slug, folded in connection.execute(statement.where(tournaments.c.rated.is_(True))):
        if last_ordinals.get(key, 0) != folded:
            report.add(tournament_name(slug), f"log: got {last_ordinals.get(key, 0)} slots rated, expected {folded}")
    replay = replay_ratings(connection)
    report.ratings = len(replay.rebuilt)
    for row in replay.differences():
        got = None if row.stored is None else row.stored.rating
        expected = None if row.rebuilt is None else row.rebuilt.rating
        report.add("ratings", f"{row.bot} in {row.rating_list}: got {got}, expected {expected}, as its games give")
    wrong = len(replay.wrong_points()) + len(replay.surplus_points())
    if wrong:
        report.add("ratings", f"history: {wrong} points are not those that the games give")
