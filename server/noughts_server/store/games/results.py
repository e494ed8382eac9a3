"""Store finished games: each slot exactly once, with everything that follows from it in one transaction."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, delete, select, update

from noughts_referee.rules import Result
from noughts_referee.work_units import FinishedGame, GameSoFar
from noughts_server.competition.formats import format_of
from noughts_server.competition.formats.tournament_format import InRounds
from noughts_server.core.resource_names import tournament_name
from noughts_server.store.engine import dialect
from noughts_server.store.engine.bulk import in_batches, upsert
from noughts_server.store.engine.schema import (
    TournamentState,
    bot_scores,
    entry_scores,
    meetings,
    pair_scores,
    tournaments,
    units,
)
from noughts_server.store.engine.schema import games as games_table
from noughts_server.store.games.analyses import drop_later_analyses
from noughts_server.store.games.endings import report_end
from noughts_server.store.games.machines import record_machine
from noughts_server.store.journal import forget_all, forget_played, journal_games
from noughts_server.store.pairing.ladders import append_to_ladder, note_absences
from noughts_server.store.pairing.matches import stored_match
from noughts_server.store.pairing.rounds import append_batch
from noughts_server.store.ratings.rater import (
    EntryResult,
    FoldingState,
    Ledger,
    Progress,
    bots_of,
    owners_of,
    tournament_rows,
)
from noughts_server.store.tournaments.reasons import shortened_reason
from noughts_server.store.tournaments.stops import play_resumed
from noughts_server.store.tournaments.withdrawals import Withdrawal, withdraw_failing

# Built once, because every commit needs them and building takes longer than executing.
_ATTEMPTS = select(units.c.number, units.c.attempt).where(
    units.c.tournament_id == bindparam("tournament"), units.c.number.in_(bindparam("numbers", expanding=True))
)
_PROGRESS = (
    update(tournaments)
    .where(tournaments.c.id == bindparam("tournament"))
    .values(folded=bindparam("folded"), games_done=bindparam("games_done"))
)

_SCORE = attrgetter("first", "second", "result")
_COUNTERS = ("wins", "draws", "losses")
_MOST_MET = 10_000
"""Limit of a tournament's pairs of bots that a process remembers.

It writes other pairs more than once, without effect.
"""


class TournamentProgress(NamedTuple):
    """The progress of a tournament after a commit."""

    tournament: int
    """The store's key."""
    name: str
    """`tournaments/ID`."""
    games_done: int
    games_total: int
    finished: bool
    """Whether this commit stored the last game."""
    withdrawn: tuple[Withdrawal, ...] = ()
    """Entries that this commit withdrew because they failed too often."""
    resumed: bool = False
    """Whether this commit paired bots of a ladder because some have connected or joined."""
    total_changed: bool = False
    """Whether the tournament has another number of games since this commit."""

    @property
    def concerns_referees(self) -> bool:
        """Whether referees that play the tournament must learn of this commit, also if another one has made it."""
        return self.finished or bool(self.withdrawn) or self.resumed or self.total_changed


@dataclass(slots=True)
class CommitReport:
    """The games that a commit stored, the numbers of dropped ones, and the progress of their tournaments."""

    games: list[FinishedGame] = field(default_factory=list)
    """The games that were stored, grouped by tournament."""
    stale: int = 0
    """Games dropped because of a later attempt at their unit, or because their tournament was cancelled or decided."""
    duplicates: int = 0
    """Games dropped because their slot had a game already."""
    progress: list[TournamentProgress] = field(default_factory=list)
    """One for each tournament with new games."""
    seconds: float = 0.0
    """The time from the request to the end of the commit, including the wait."""


def commit_games(
    connection: Connection,
    games: Sequence[FinishedGame],
    state: FoldingState,
    *,
    now_ms: int,
    advanced: Sequence[GameSoFar] = (),
    absences: Mapping[int, Mapping[int, bool]] | None = None,
    again: bool = False,
    referee: str = "",
    machine: str = "",
) -> CommitReport:
    """Store games with their scores, progress and ratings, and the state of unfinished games in `advanced`.

    No slot occurs twice in `games`. Games of an attempt that is not the unit's current one, and of slots that already
    have a game, are dropped and counted. Call `state.confirm` after the commit.

    Args:
        absences: which entries of ladders are absent, by tournament and number; the others in these ladders are paired.
        again: the same commit was tried before with an unknown outcome. The report then includes games of the current
            attempt that are stored already.
        referee: the name of this node in a cluster.
        machine: the host on which the games were played; empty: its games are not compared with those of others.
    """
    state.begin()
    report = CommitReport()
    batches: defaultdict[int, list[FinishedGame]] = defaultdict(list)
    for game in games:
        batches[game.tournament].append(game)
    rows = tournament_rows(connection, sorted(batches.keys() | {game.tournament for game in advanced}))
    if advanced:
        # `_commit_tournament` deletes the journal's rows of slots that now have a game, so it must run afterwards.
        current = list(_of_current_attempts(connection, advanced, rows))
        journal_games(connection, current)
        for tournament_id in {game.tournament for game in current if rows[game.tournament].reason}:
            play_resumed(connection, tournament_id, now_ms=now_ms)
    ledger = Ledger(connection, state, now_ms=now_ms)
    for tournament_id in sorted(batches):
        batch = batches[tournament_id]
        row = rows.get(tournament_id)
        if row is None or row.state == TournamentState.CANCELLED:
            state.forget(tournament_id)
            report.stale += len(batch)
        else:
            _commit_tournament(
                connection,
                batch,
                row,
                state=state,
                ledger=ledger,
                report=report,
                now_ms=now_ms,
                again=again,
                referee=referee,
                machine=machine,
            )
    ledger.store()
    for tournament_id, absent in sorted((absences or {}).items()):
        _pair_present(connection, tournament_id, absent, state=state, report=report, again=again)
    return report


def _pair_present(
    connection: Connection,
    tournament_id: int,
    absences: Mapping[int, bool],
    *,
    state: FoldingState,
    report: CommitReport,
    again: bool,
) -> None:
    """Store which entries of a ladder are absent, and pair the others if it is running."""
    note_absences(connection, tournament_id, absences)
    row = tournament_rows(connection, [tournament_id])[tournament_id]
    if row.state != TournamentState.RUNNING:
        return
    ladder = state.ladders[tournament_id] = append_to_ladder(connection, row, (), state.ladders.get(tournament_id))
    if ladder.games_total == row.games_total and not again:
        return
    progress = next((each for each in report.progress if each.tournament == tournament_id), None)
    if progress is not None:
        report.progress.remove(progress)
    report.progress.append(
        TournamentProgress(
            tournament=tournament_id,
            name=tournament_name(row.slug),
            games_done=row.games_done,
            games_total=ladder.games_total,
            finished=False,
            withdrawn=() if progress is None else progress.withdrawn,
            resumed=True,
            total_changed=True,
        )
    )


def _commit_tournament(
    connection: Connection,
    batch: list[FinishedGame],
    row: Row[Any],
    *,
    state: FoldingState,
    ledger: Ledger,
    report: CommitReport,
    now_ms: int,
    again: bool,
    referee: str,
    machine: str,
) -> None:
    progress = state.progress(connection, row)
    if max(max(game.first, game.second) for game in batch) >= len(progress.bots):
        progress.bots, progress.owners = bots_of(connection, row.id), owners_of(connection, row)  # entries have joined
    fresh, duplicates = _admit(connection, batch, row, progress, report)
    if again and duplicates:
        report.games += duplicates
        report.duplicates -= len(duplicates)
        if not fresh:
            is_finished = row.state == TournamentState.FINISHED
            unchanged = TournamentProgress(
                tournament=row.id,
                name=tournament_name(row.slug),
                games_done=row.games_done,
                games_total=row.games_total,
                finished=is_finished,
            )
            report.progress.append(unchanged)
    if not fresh:
        return
    total = row.games_total
    kind = format_of(row.schedule)
    if kind.base is not None:
        match = state.matches[row.id] = state.matches.get(row.id) or stored_match(connection, row)
        match.count_games(connection, row, fresh, referee)
        total = match.store(connection, total)
        if match.games.over:
            counted = {ordinal: game for ordinal, game in fresh.items() if ordinal <= total}
            report.stale += len(fresh) - len(counted)
            fresh = counted
            _drop_later(connection, row, progress, total)
    if row.reason:
        play_resumed(connection, row.id, now_ms=now_ms)
    stored = list(fresh.values())
    dialect.of(connection).insert_games(connection, stored, now_ms)
    if stored:
        forget_played(connection, row.id, stored[0].ordinal, stored[-1].ordinal)
    if machine:
        record_machine(connection, row, progress.bots, stored, machine=machine, now_ms=now_ms)
    scores = list(map(_SCORE, stored))
    _count_scores(connection, row, progress, scores)
    _record_meetings(connection, row.id, progress, scores)
    run = progress.add(connection, dict(zip(fresh, scores, strict=True)))
    ledger.fold(row.id, progress, len(run), run)
    progress.folded += len(run)
    withdrawals = tuple(withdraw_failing(connection, row, stored, now_ms=now_ms)) if row.options else ()
    if kind.endless:
        ladder = state.ladders[row.id] = append_to_ladder(connection, row, stored, state.ladders.get(row.id))
        total = ladder.games_total
    elif isinstance(kind, InRounds):
        total = append_batch(connection, row, progress.games_done)
    finished = progress.games_done == total and not kind.endless
    _store_progress(connection, row, progress, now_ms if finished else None)
    if finished:
        if kind.base is not None:
            match = state.matches[row.id]
            match.report_decision(connection, now_ms)
            if reason := shortened_reason(match.undecided_reason()):
                connection.execute(update(tournaments).where(tournaments.c.id == row.id).values(reason=reason))
        report_end(connection, row.id, now_ms)
    report.games += stored
    committed = TournamentProgress(
        tournament=row.id,
        name=tournament_name(row.slug),
        games_done=progress.games_done,
        games_total=total,
        finished=finished,
        withdrawn=withdrawals,
        total_changed=total != row.games_total,
    )
    report.progress.append(committed)


def _admit(
    connection: Connection, batch: list[FinishedGame], row: Row[Any], progress: Progress, report: CommitReport
) -> tuple[dict[int, FinishedGame], list[FinishedGame]]:
    """Return the games to store, by ordinal and ascending, and games of the current attempt that are already stored."""
    unit_games, total = row.unit_games, row.games_total
    if not total:
        report.stale += len(batch)
        return {}, []
    # The unit follows from the slot, so a game cannot use the attempt of another unit.
    attempts = _attempts(connection, row.id, {(game.ordinal - 1) // unit_games for game in batch})
    folded = progress.folded
    beyond = progress.stored_among(connection, {game.ordinal for game in batch})
    fresh: dict[int, FinishedGame] = {}
    duplicates: list[FinishedGame] = []
    for game in batch:
        ordinal = game.ordinal
        if attempts.get((ordinal - 1) // unit_games) != game.attempt or ordinal > total:
            report.stale += 1
        elif ordinal <= folded or ordinal in beyond or ordinal in fresh:
            report.duplicates += 1
            duplicates.append(game)
        else:
            fresh[ordinal] = game
    return {ordinal: fresh[ordinal] for ordinal in sorted(fresh)}, duplicates


def _of_current_attempts(
    connection: Connection, advanced: Sequence[GameSoFar], rows: Mapping[int, Row[Any]]
) -> Iterator[GameSoFar]:
    """Yield the games of `advanced` whose attempt is the current one of their unit."""
    by_tournament: defaultdict[int, list[GameSoFar]] = defaultdict(list)
    for game in advanced:
        by_tournament[game.tournament].append(game)
    for tournament, batch in by_tournament.items():
        row = rows.get(tournament)
        if row is not None and row.state not in (TournamentState.FINISHED, TournamentState.CANCELLED):
            units = [(game.ordinal - 1) // row.unit_games for game in batch]
            attempts = _attempts(connection, tournament, set(units))
            yield from (game for game, unit in zip(batch, units, strict=True) if attempts.get(unit) == game.attempt)


def _attempts(connection: Connection, tournament_id: int, numbers: set[int]) -> dict[int, int]:
    stored = {}
    for batch in in_batches(sorted(numbers)):
        rows = connection.execute(_ATTEMPTS, {"tournament": tournament_id, "numbers": batch})
        stored.update({row.number: row.attempt for row in rows})
    return stored


def _drop_later(connection: Connection, row: Row[Any], progress: Progress, last: int) -> None:
    """Delete the games after the last one of a match that has ended."""
    later = progress.drop_later(connection, last)
    if later:
        of_tournament = games_table.c.tournament_id == row.id
        connection.execute(delete(games_table).where(of_tournament, games_table.c.ordinal > last))
        drop_later_analyses(connection, row.id, last)
        _count_scores(connection, row, progress, later, -1)
    forget_all(connection, row.id)


def counted_scores(
    scores: Mapping[EntryResult, int],
) -> tuple[dict[tuple[int, int], list[int]], dict[int, list[int]]]:
    """Return the wins, draws and losses of each pair of entries and of each entry, from the numbers of results."""
    pairs: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for (first, second, result), count in scores.items():
        if result != Result.VOID:
            column = result - Result.FIRST_WINS
            pairs[first, second][column] += count
            totals[first][column] += count
            totals[second][2 - column] += count
    return pairs, totals


def bot_pairs(pairs: Mapping[tuple[int, int], list[int]], bots: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """Return the wins, draws and losses of each pair of bots, given those of each pair of entries."""
    scores: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for (first, second), counts in pairs.items():
        bot_counts = scores[bots[first], bots[second]]
        for column, count in enumerate(counts):
            bot_counts[column] += count
    return scores


def _count_scores(
    connection: Connection, row: Row[Any], progress: Progress, scores: list[EntryResult], sign: int = 1
) -> None:
    pairs, totals = counted_scores({score: sign * count for score, count in Counter(scores).items()})
    pair_rows = [
        (row.id, first, second, wins, draws, losses) for (first, second), (wins, draws, losses) in pairs.items()
    ]
    entry_rows = [(row.id, entry, wins, draws, losses) for entry, (wins, draws, losses) in totals.items()]
    bot_rows = [
        (first, second, row.variant, wins, draws, losses)
        for (first, second), (wins, draws, losses) in bot_pairs(pairs, progress.bots).items()
    ]
    upsert(connection, pair_scores, pair_rows, add=_COUNTERS)
    upsert(connection, entry_scores, entry_rows, add=_COUNTERS)
    upsert(connection, bot_scores, bot_rows, add=_COUNTERS)


def _record_meetings(
    connection: Connection, tournament_id: int, progress: Progress, scores: Iterable[EntryResult]
) -> None:
    """Record that these bots have met in the tournament, unless this process has recorded it before."""
    bots, met = progress.bots, progress.met
    pairs = {(bots[first], bots[second]) for first, second, _ in set(scores)}
    new = {(min(pair), max(pair)) for pair in pairs} - met
    upsert(connection, meetings, [(one, other, tournament_id) for one, other in sorted(new)])
    if len(met) + len(new) <= _MOST_MET:
        met |= new


def _store_progress(connection: Connection, row: Row[Any], progress: Progress, ended_at: int | None) -> None:
    values = {"tournament": row.id, "folded": progress.folded, "games_done": progress.games_done}
    connection.execute(_PROGRESS, values)
    if ended_at is not None:
        connection.execute(
            update(tournaments)
            .where(tournaments.c.id == row.id)
            .values(state=TournamentState.FINISHED, ended_at=ended_at, reason=None, retry_at=None)
        )
        claimed = (units.c.tournament_id == row.id) & units.c.holder.is_not(None)
        connection.execute(update(units).where(claimed).values(holder=None))
