"""Export the games of a tournament to files. The last game also has the facts about the whole tournament."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, select

from noughts_referee.clock import late_moves
from noughts_referee.comments import unpack_comments
from noughts_referee.rules import (
    FAULTS,
    Result,
    Termination,
    Thought,
    game_seed,
    in_words,
    parse_variant,
    unpack_thoughts,
)
from noughts_referee.work_units import unpack_allowances, unpack_moves, unpack_scores, unpack_times
from noughts_server.store.engine.schema import TournamentState, entries, games
from noughts_server.store.games.games import (
    COMMENTED_ROWS_AT_ONCE,
    ROWS_AT_ONCE,
    Agreement,
    adjudication_reason,
    agreements,
    select_games,
)
from noughts_server.store.games.standings import CrosstablePage, crosstable
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id
from noughts_server.tables.about import About, time_text
from noughts_server.tables.pairings import matches_won


@dataclass(frozen=True, slots=True)
class ExportedGame:
    """A game in the notation of game files, with fields as in `StoredGame`."""

    variant: str
    first: str
    second: str
    seed: int
    moves: list[int]
    times_us: list[int]
    result: str
    """`1-0`, `1/2-1/2`, `0-1` or `*`."""
    termination: str
    first_time: str = ""
    """The time controls of the two sides as on the command line; empty if all bots have the same."""
    second_time: str = ""
    time_factor: float | None = None
    """As in `StoredGame`."""
    fault: str = ""
    """Why the loser lost, as in `StoredGame`; never empty if the loser lost by one of `FAULTS`."""
    adjudication: str = ""
    """As in `StoredGame`."""
    agreement: Agreement | None = None
    opening_plies: int = 0
    """The number of moves that belong to the opening; their times are 0."""
    scores: Mapping[int, float] = field(default_factory=dict)
    """As in `StoredGame`."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """As in `StoredGame`."""
    thoughts: Mapping[int, Thought] = field(default_factory=dict)
    """As in `StoredGame`."""
    ordinal: int = 0
    margins_us: tuple[int, int] | None = None
    """The time margins of both sides; None in games without clocks."""
    late_moves: tuple[int, int] = field(default=(0, 0), compare=False)
    """The number of moves of each side that needed its margin."""
    round: int = 0
    """As in `StoredGame`."""
    ended_at: int = field(default=0, compare=False, repr=False)
    """In milliseconds since 1970. It does not count for equality: equal games can be played at different times."""
    tournament: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Set in the last game: the facts about the tournament that files have (`About.recorded`)."""

    @property
    def loser(self) -> int | None:
        """Return the side that lost: 0 moved first, 1 second; None without a loser."""
        return {"1-0": 1, "0-1": 0}.get(self.result)


def export(
    connection: Connection,
    tournament_id: int,
    *,
    after: int = 0,
    through: int | None = None,
    ended: tuple[int, int] | None = None,
) -> Iterator[ExportedGame]:
    """Yield a tournament's stored games in slot order, a few at a time in memory. Raises NotFound.

    Only games of the slots after `after` up to `through` are returned, and with `ended` only games that ended from the
    first time to before the second, in milliseconds.
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    settings = tournament.settings
    variant = parse_variant(settings.variant)
    adjudication = settings.adjudication
    seed = settings.seed
    of_tournament = entries.c.tournament_id == tournament_id
    entry_rows = connection.execute(select(entries.c.number, entries.c.label).where(of_tournament))
    labels: dict[int, str] = {row.number: row.label for row in entry_rows}
    times = {label: str(settings.time_of(label)) if settings.own_times else "" for label in labels.values()}
    time_of = {label: settings.time_of(label) for label in labels.values()}
    results = {int(result): str(result) for result in Result}
    terminations = {int(termination): str(termination) for termination in Termination}
    agreement_of = agreements(connection, tournament)
    statement = select_games(tournament).where(games.c.ordinal > after)
    if through is not None:
        statement = statement.where(games.c.ordinal <= through)
    if ended is not None:
        start, end = ended
        statement = statement.where(games.c.ended_at >= start, games.c.ended_at < end)
    # This closes the cursor even if the caller stops early.
    at_once = COMMENTED_ROWS_AT_ONCE if settings.keep_scores else ROWS_AT_ONCE
    with connection.execute(statement.execution_options(yield_per=at_once)) as rows:
        for row in rows:
            first = labels[row.first_entry]
            second = labels[row.second_entry]
            moves = unpack_moves(row.moves, variant.cells)
            times_us = unpack_times(row.times)
            allowances = unpack_allowances(row.allowances) if row.allowances else None
            limits = first_limit, second_limit = time_of[first], time_of[second]
            if row.time_factor is not None:
                limits = first_limit.scaled(row.time_factor), second_limit.scaled(row.time_factor)
            yield ExportedGame(
                variant=settings.variant,
                first=first,
                second=second,
                seed=game_seed(seed, row.ordinal),
                moves=moves,
                times_us=times_us,
                result=results[row.result],
                termination=terminations[row.termination],
                first_time=times[first],
                second_time=times[second],
                time_factor=row.time_factor,
                fault=row.fault or (in_words(terminations[row.termination]) if row.termination in FAULTS else ""),
                adjudication=adjudication_reason(adjudication, row, variant, first, second),
                agreement=agreement_of(row, labels),
                opening_plies=variant.given_plies(row.opening_plies),
                scores=unpack_scores(row.scores),
                comments=unpack_comments(row.comments),
                thoughts=unpack_thoughts(row.thoughts),
                ordinal=row.ordinal,
                margins_us=None if allowances is None else (allowances[0].margin_us, allowances[1].margin_us),
                late_moves=(
                    (0, 0) if allowances is None else late_moves(limits, times_us[: len(moves)], row.opening_plies)
                ),
                round=row.round,
                ended_at=row.ended_at,
            )


def export_file(
    connection: Connection, tournament: Tournament, *, after: int = 0, through: int | None = None
) -> Iterator[ExportedGame]:
    """Yield the stored games of the slots after `after` up to `through`. The last stored game has `tournament` set."""
    of_tournament = games.c.tournament_id == tournament.id
    number, last = connection.execute(select(func.count(), func.max(games.c.ordinal)).where(of_tournament)).one()
    for game in export(connection, tournament.id, after=after, through=through):
        if game.ordinal == last:
            facts = about_stored(tournament, crosstable(connection, tournament, top=1))
            is_finished = tournament.state is TournamentState.FINISHED
            game = replace(game, tournament=facts.file_facts(number, finished=is_finished))
        yield game


def about_stored(tournament: Tournament, table: CrosstablePage) -> About:
    """Return the facts about a tournament; `table` can be a part of the crosstable."""
    settings = tournament.settings
    matches = (*table.matches, *table.pairings)
    own_times = {label: str(time) for label, time in settings.own_times.items()}
    return About(
        schedule=str(settings.schedule),
        time=time_text(str(settings.time), own_times),
        began=_iso(tournament.started_at),
        ended=_iso(tournament.ended_at),
        byes={row.label: row.byes for row in table.standings if row.byes},
        bye_points={row.label: row.bye_points for row in table.standings},
        withdrawn={row.label: row.withdrawn_reason for row in table.standings if row.withdrawn_at is not None},
        matches_won=matches_won(matches) if settings.schedule.places_by_bracket else None,
        matches=matches,
    )


def _iso(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms // 1000, UTC).isoformat()
