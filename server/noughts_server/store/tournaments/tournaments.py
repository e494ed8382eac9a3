"""Tournaments: their settings, and their states from open to finished or cancelled."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from noughts_referee.rules import parse_variant
from noughts_referee.work_units import GameConditions
from noughts_server.competition.conflict_of_interest import has_conflict
from noughts_server.competition.formats.tournament_format import FixedPairings, FormatError
from noughts_server.competition.schedule import Schedule
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.competition.units import unit_games
from noughts_server.core.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    WrongState,
)
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import bot_name, tournament_name
from noughts_server.store.engine.pages import Page, contains, read_page
from noughts_server.store.engine.schema import (
    Kind,
    TournamentState,
    bots,
    entries,
    entries_with_bots,
    games,
    owners,
    tournaments,
    units,
)
from noughts_server.store.journal import forget_all
from noughts_server.store.nodes import has_referees
from noughts_server.store.pairing.pairings import StoredSchedule
from noughts_server.store.pairing.rounds import pair_next
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.ratings import rater
from noughts_server.store.ratings.rating_lists import ensure_list
from noughts_server.store.seeds import SeedKind, signed
from noughts_server.store.tournament_options import options_document, own_times_document, read_settings
from noughts_server.store.tournaments.join_window import Joining
from noughts_server.store.tournaments.reasons import shortened_reason

MOST_GAMES = 100_000_000
"""Limit of the games of a tournament."""
MOST_GAMES_PER_PAIR = 1_000_000
_DAY_MS = 86_400_000
_JOIN = "Let more bots join: `noughts tournament join {} --bot BOT`."
_JOIN_FOR_AGENTS = "Let more bots join: `join_tournament`."
_SMALL_UNIT = 8
"""Slots of a unit if pairings follow from results. Units are small, so that all games of a round can be concurrent."""


@dataclass(frozen=True, slots=True)
class NewTournament:
    """A tournament that is not stored yet, with its settings."""

    slug: str
    """The ID in `tournaments/ID`: 1 to 63 characters from a-z, 0-9 and `-`."""
    settings: TournamentSettings = field(default_factory=TournamentSettings)
    joining: Joining = field(default_factory=Joining)
    kind: Kind = Kind.ORGANISED
    seed_kind: SeedKind = SeedKind.GIVEN
    own_rated: bool = True
    """Whether games between bots of one owner are rated in a rated tournament."""
    advice: str = ""
    """Advice about a match whose openings are too few."""


@dataclass(frozen=True, slots=True)
class Tournament:
    """A stored tournament. Times are milliseconds since 1970 in UTC."""

    id: int
    slug: str
    owner_id: int
    owner: str
    state: TournamentState
    settings: TournamentSettings
    created_at: int
    started_at: int | None
    ended_at: int | None
    games_total: int
    """0 before the start."""
    games_done: int
    unit_games: int
    """Slots of a unit; 0 before the start."""
    folded: int
    """Every slot up to this ordinal has its game; in a cancelled tournament, some have none."""
    kind: Kind
    joining: Joining
    reason: str
    """Why it was cancelled or paused, if not by a caller, why its test is not decided, or why play has stopped.

    Otherwise empty.
    """
    base_entries: int | None = None
    """The entries for which its slots are computed, if some have been added since."""
    base_games_per_pair: int | None = None
    seed_kind: SeedKind = SeedKind.GIVEN
    own_rated: bool = True
    retry_at: int | None = None
    """If play has stopped: when the next attempt is due; None: when the reason is over."""
    paused_at: int | None = None
    """If it is paused: since when; None if that is unknown."""
    match_counts: Mapping[str, Any] | None = None
    """The counts that `read_statistics` takes; None unless it is a match with games or advice."""

    @property
    def name(self) -> str:
        return tournament_name(self.slug)

    @property
    def ended(self) -> bool:
        """Return whether it is finished or cancelled. Then its seed can be published."""
        return self.state in (TournamentState.FINISHED, TournamentState.CANCELLED)


def create_tournament(
    connection: Connection, new: NewTournament, *, owner_id: int, now_ms: int, limits: Limits | None = None
) -> Tournament:
    """Create a tournament that was checked, open for entries. Raises AlreadyExists, LimitReached."""
    if connection.execute(select(tournaments.c.id).where(tournaments.c.slug == new.slug)).first():
        raise AlreadyExists(tournament_name(new.slug))
    if limits is not None:
        is_unfinished = tournaments.c.state.in_((TournamentState.OPEN, TournamentState.RUNNING, TournamentState.PAUSED))
        of_owner = (tournaments.c.owner_id == owner_id, tournaments.c.kind != Kind.CHALLENGE, is_unfinished)
        so_far = connection.execute(select(func.count()).select_from(tournaments).where(*of_owner)).scalar_one()
        limits.check("tournaments", "tournaments of yours that are not over", so_far)
    row = {
        "slug": new.slug,
        "owner_id": owner_id,
        "kind": new.kind,
        "state": TournamentState.OPEN,
        "created_at": now_ms,
        **_settings_row(new),
        "seed": signed(new.settings.seed),
        "seed_kind": new.seed_kind,
        "own_rated": new.own_rated,
        "bounded": not new.own_rated,
        "games_total": 0,
        "games_done": 0,
        "unit_games": 0,
        "folded": 0,
    }
    connection.execute(insert(tournaments), row)
    return get_tournament(connection, new.slug)


def _settings_row(new: NewTournament) -> dict[str, Any]:
    """Return the columns of the settings that can change before the start."""
    settings = new.settings
    return {
        "title": settings.title,
        "variant": settings.variant,
        "move_us": settings.time.move_us,
        "bank_us": settings.time.bank_us,
        "increment_us": settings.time.increment_us,
        "own_times": own_times_document(settings),
        "schedule": settings.schedule.number,
        "games_per_pair": settings.games_per_pair,
        "concurrency": settings.concurrency,
        "options": options_document(settings),
        "rated": settings.rated,
        "entries_min": new.joining.entries_min,
        "entries_max": new.joining.entries_max,
        "join_from": new.joining.join_from,
        "join_until": new.joining.join_until,
        "start_at": new.joining.start_at,
        "match_counts": {"advice": new.advice} if new.advice else None,
    }


def update_tournament(
    connection: Connection, new: NewTournament, *, owner_id: int | None = None, keep_openings: bool = False
) -> Tournament:
    """Change the settings of an open tournament to those of `new`, which were checked. Its seed does not change.

    With `owner_id`, the tournament must belong to this owner. Raises NotFound, PermissionDenied, WrongState,
    InvalidArgument (another variant or fuel although bots have joined, fewer places than entries), ResourceExhausted.
    """
    tournament = owned_tournament(connection, new.slug, owner_id)
    require_state(tournament, TournamentState.OPEN, hint="Its settings are final. Create another tournament.")
    if tournament.kind is not Kind.ORGANISED:
        raise WrongState(tournament.name, got=tournament.kind.name.lower(), expected="an organised tournament")
    if keep_openings:
        new = replace(new, settings=replace(new.settings, openings=tournament.settings.openings))
    entered = entry_counts(connection, [tournament.id]).get(tournament.id, 0)
    before, after = tournament.settings, new.settings
    for setting, old, changed in (("variant", before.variant, after.variant), ("fuel", before.fuel, after.fuel)):
        if entered and old != changed:
            raise InvalidArgument.of(f"tournament.{setting}", changed, f"{old}, because bots have joined")
    if entered > new.joining.entries_max:
        got = new.joining.entries_max
        raise InvalidArgument.of("tournament.entries_max", got, f"at least {entered}, because so many bots have joined")
    changed_tournament = change_tournament(connection, tournament, **_settings_row(new))
    check_size(changed_tournament, entered)
    return changed_tournament


def get_tournament(connection: Connection, slug: str) -> Tournament:
    """Return the tournament `tournaments/SLUG`. Raises NotFound."""
    return _one(connection, _tournaments().where(tournaments.c.slug == slug), tournament_name(slug))


def get_tournament_by_id(connection: Connection, tournament_id: int) -> Tournament:
    """Return the tournament with this key. Raises NotFound."""
    return _one(connection, _tournaments().where(tournaments.c.id == tournament_id), f"tournament {tournament_id}")


class PlayedTournament(NamedTuple):
    """A tournament with at least one game."""

    tournament: Tournament
    highest: int
    """The largest ordinal of its games."""
    entries: int
    """The number of its entries."""


def played_tournaments(connection: Connection, tournament_ids: Sequence[int]) -> dict[int, PlayedTournament]:
    """Return the tournaments among these that have games, by key."""
    # Each maximum is one step in an index, while GROUP BY would read all games.
    highest = select(func.max(games.c.ordinal)).where(games.c.tournament_id == tournaments.c.id).scalar_subquery()
    last = select(func.max(entries.c.number)).where(entries.c.tournament_id == tournaments.c.id).scalar_subquery()
    statement = _tournaments().add_columns(highest.label("highest"), last.label("last"))
    these = statement.where(tournaments.c.id.in_(tournament_ids), tournaments.c.games_done > 0)
    return {row.id: PlayedTournament(read_row(row), row.highest, row.last + 1) for row in connection.execute(these)}


def first_tournament(connection: Connection) -> str:
    """Return the ID and the creation time of the oldest tournament, to identify the database; empty without any."""
    first = select(tournaments.c.slug, tournaments.c.created_at).order_by(tournaments.c.id).limit(1)
    return " ".join(map(str, connection.execute(first).first() or ()))


def list_tournaments(
    connection: Connection,
    *,
    size: int = 0,
    page_token: str = "",
    kind: Kind = Kind.ORGANISED,
    owner: str = "",
    search: str = "",
    state: int = 0,
    month: str = "",
) -> Page[Tournament]:
    """Return a page of the tournaments that match, newest first. Raises InvalidArgument (size, token, search, month).

    With `month`, e.g. `2026-03`, only tournaments that ended in this month in UTC match.
    """
    statement = matching_tournaments(kind, owner=owner, search=search, state=state)
    if month:
        begin, end = _month_limits(month)
        statement = statement.where(tournaments.c.ended_at >= begin, tournaments.c.ended_at < end)
    return read_page(
        connection,
        statement,
        read_row,
        "tournaments",
        (tournaments.c.id,),
        size=size,
        page_token=page_token,
        descending=True,
    )


def matching_tournaments(kind: Kind, *, owner: str, search: str, state: int) -> Select[Any]:
    """Return the query of tournaments, for `read_row`; an empty condition matches all. Raises InvalidArgument."""
    statement = _tournaments().where(tournaments.c.kind == kind)
    if owner:
        statement = statement.where(owners.c.name == owner)
    if search:
        statement = statement.where(contains(search, tournaments.c.title, tournaments.c.slug))
    return statement.where(tournaments.c.state == state) if state else statement


def months_of_ends(connection: Connection, kind: Kind, *, owner: str, search: str, state: int) -> dict[str, int]:
    """Return how many of the tournaments that match ended in each month in UTC, e.g. `2026-03`; newest month first."""
    day = tournaments.c.ended_at // _DAY_MS
    statement = matching_tournaments(kind, owner=owner, search=search, state=state)
    days = statement.with_only_columns(day, func.count()).where(tournaments.c.ended_at.is_not(None)).group_by(day)
    months: Counter[str] = Counter()
    for number, count in connection.execute(days):
        months[f"{datetime.fromtimestamp(int(number) * _DAY_MS // 1000, UTC):%Y-%m}"] += count
    return dict(sorted(months.items(), reverse=True))


def _month_limits(month: str) -> tuple[int, int]:
    """Return the first millisecond of the month and of the next one, in UTC. Raises InvalidArgument."""
    if not re.fullmatch(r"(19[7-9]|[2-9]\d\d)\d-(0[1-9]|1[0-2])", month, re.ASCII) or month == "9999-12":
        raise InvalidArgument.of("month", month, "a year and a month, e.g. 2026-03")
    year, number = map(int, month.split("-"))
    begin, end = (datetime(year, number, 1, tzinfo=UTC), datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC))
    return round(begin.timestamp() * 1000), round(end.timestamp() * 1000)


def entry_counts(connection: Connection, tournament_ids: Sequence[int]) -> dict[int, int]:
    """Return the number of entries of each tournament that has some, by key."""
    statement = select(entries.c.tournament_id, func.count().label("entries")).group_by(entries.c.tournament_id)
    rows = connection.execute(statement.where(entries.c.tournament_id.in_(tournament_ids)))
    return {row.tournament_id: row.entries for row in rows}


def running_tournaments(connection: Connection) -> list[Tournament]:
    """Return the tournaments to resume after a restart, oldest first."""
    statement = _tournaments().where(tournaments.c.state == TournamentState.RUNNING).order_by(tournaments.c.id)
    return [read_row(row) for row in connection.execute(statement)]


def _check_open_to_tests(connection: Connection, tournament: Tournament) -> None:
    """Raise WrongState if a bot of another owner in this test is closed to tests."""
    closed = select(bots.c.name).select_from(entries_with_bots).where(entries.c.tournament_id == tournament.id)
    closed = closed.where(bots.c.owner_id != tournament.owner_id, bots.c.open_to_tests.is_(False))
    name = connection.scalar(closed.limit(1))
    if name is not None:
        hint = "Its owner has closed it since the test began. Test against another bot."
        raise WrongState(bot_name(name), got="closed to tests of others", expected="open to them", hint=hint)


def start_tournament(connection: Connection, slug: str, *, now_ms: int, owner_id: int | None = None) -> Tournament:
    """Start a tournament and make its entries final, or resume a paused one.

    `start_or_finish` also finishes a tournament without games to play.

    With `owner_id`, the tournament must belong to this owner. Raises NotFound, PermissionDenied, WrongState (also with
    too few entries, before its scheduled start or the end of its join window, and for a test against a bot of another
    owner that was closed to tests).
    """
    tournament = owned_tournament(connection, slug, owner_id)
    if tournament.state is TournamentState.RUNNING:
        return tournament
    if tournament.state is TournamentState.PAUSED:
        if tournament.kind is Kind.TEST and owner_id is not None:
            _check_open_to_tests(connection, tournament)
        # Units that lost too many referees are tried again.
        connection.execute(update(units).where(units.c.tournament_id == tournament.id).values(lost=None))
        if tournament.settings.schedule.follows_results and tournament.games_done == tournament.games_total:
            pair_next(connection, tournament.id)
            tournament = get_tournament_by_id(connection, tournament.id)
        return change_tournament(connection, tournament, state=TournamentState.RUNNING, reason=None)
    require_state(tournament, TournamentState.OPEN, TournamentState.PAUSED)
    unmet_start_condition = tournament.joining.unmet_start_condition(now_ms)
    if unmet_start_condition:
        hint = "Cancel it and create another to begin earlier."
        raise WrongState(tournament.name, got="open", expected=unmet_start_condition, hint=hint)
    count = _number_entries(connection, tournament.id)
    if count < tournament.joining.entries_min:
        expected = f"at least {tournament.joining.entries_min}"
        got = f"open with {count} entries"
        raise WrongState(
            tournament.name, got=got, expected=expected, hint=_JOIN.format(slug), agent_hint=_JOIN_FOR_AGENTS
        )
    if tournament.settings.rated:
        ensure_list(connection, tournament.settings.variant, tournament.settings.time.time_class)
    tournament_format = tournament.settings.schedule
    try:
        tournament_format.check_entries(count, tournament.settings)
    except FormatError as error:
        got = f"open with {count} entries"
        raise WrongState(
            tournament.name, got=got, expected=str(error), hint=_JOIN.format(slug), agent_hint=_JOIN_FOR_AGENTS
        ) from error
    if isinstance(tournament_format, FixedPairings):
        total = tournament_format.schedule(count, tournament.settings.games_per_pair).total
        unit = unit_games(total, shared=has_referees(connection))
    else:
        # An endless tournament adds one pairing at a time, so each pairing is a unit.
        unit = tournament.settings.games_per_pair if tournament_format.endless else _SMALL_UNIT
        total = 0
    running = {"state": TournamentState.RUNNING, "started_at": now_ms, "games_total": total, "unit_games": unit}
    change_tournament(connection, tournament, **running)
    if tournament_format.follows_results:
        pair_next(connection, tournament.id)
    report_event(connection, "tournament.started", tournament.id, now_ms)
    return get_tournament_by_id(connection, tournament.id)


def pause_tournament(
    connection: Connection, slug: str, *, now_ms: int, owner_id: int | None = None, reason: str = ""
) -> Tournament:
    """Stop claims of units; results of games in progress are still stored. Repeating it has no effect.

    `reason` says why, if the server does it by itself. Raises NotFound, PermissionDenied, WrongState (also for a
    challenge).
    """
    tournament = owned_tournament(connection, slug, owner_id)
    if tournament.kind is Kind.CHALLENGE:
        # Paused challenges would bypass the limits on open challenges.
        hint = "Cancel it: a challenge cannot be paused."
        raise WrongState(tournament.name, got="a challenge", expected="an organised tournament", hint=hint)
    if tournament.state is TournamentState.PAUSED:
        return tournament
    is_open = tournament.state is TournamentState.OPEN
    hint = f"Only a running tournament can be paused: run `noughts tournament start {slug}` first." if is_open else ""
    agent_hint = "Only a running tournament can be paused: call `start_tournament` first." if is_open else ""
    require_state(tournament, TournamentState.RUNNING, hint=hint, agent_hint=agent_hint)
    return change_tournament(
        connection,
        tournament,
        state=TournamentState.PAUSED,
        paused_at=now_ms,
        reason=shortened_reason(reason) or None,
        retry_at=None,
    )


def cancel_tournament(
    connection: Connection, slug: str, *, now_ms: int, owner_id: int | None = None, reason: str = ""
) -> Tournament:
    """Cancel a tournament: stored games are kept and rated, later results are dropped. Repeating it has no effect.

    `reason` says why, if the server does it by itself. Raises NotFound, PermissionDenied, WrongState (finished).
    """
    tournament = owned_tournament(connection, slug, owner_id)
    if tournament.state is TournamentState.CANCELLED:
        return tournament
    require_state(tournament, TournamentState.OPEN, TournamentState.RUNNING, TournamentState.PAUSED)
    rater.fold_rest(connection, tournament.id, now_ms=now_ms)
    forget_all(connection, tournament.id)
    cancelled = change_tournament(
        connection,
        tournament,
        state=TournamentState.CANCELLED,
        ended_at=now_ms,
        retry_at=None,
        reason=shortened_reason(reason) or None,
    )
    report_event(connection, "tournament.finished", tournament.id, now_ms, winners=[])
    return cancelled


def require_state(tournament: Tournament, *states: TournamentState, hint: str = "", agent_hint: str = "") -> None:
    """Raise WrongState, with these hints, unless the tournament is in one of these states."""
    if tournament.state not in states:
        expected = " or ".join(map(str, states))
        got = str(tournament.state)
        raise WrongState(tournament.name, got=got, expected=expected, hint=hint, agent_hint=agent_hint)


def check_size(tournament: Tournament, count: int) -> None:
    """Raise ResourceExhausted if `count` entries would make too many games."""
    settings = tournament.settings
    total = settings.schedule.most_games(settings, count)
    if total > MOST_GAMES:
        hint = "Use fewer entries, or fewer games per pair."
        raise ResourceExhausted(f"{tournament.name} games", got=total, limit=MOST_GAMES, hint=hint)


def schedule_of(connection: Connection, tournament: Tournament, count: int | None = None) -> Schedule:
    """Return the slots of a started tournament with `count` entries (None: the stored number)."""
    base = base_schedule(connection, tournament, count)
    if base is not None and base.total == tournament.games_total:
        return base
    if count is None:
        count = count_entries(connection, tournament)
    return StoredSchedule(connection, tournament.id, count, tournament.games_total, base)


def base_schedule(connection: Connection, tournament: Tournament, count: int | None = None) -> Schedule | None:
    """Return the slots that follow from their ordinals; None if pairings follow from results.

    `count` is the number of entries (None: the stored number).
    """
    tournament_format = tournament.settings.schedule
    if not isinstance(tournament_format, FixedPairings):
        return None
    if tournament.base_entries is not None:
        count = tournament.base_entries
    if count is None:
        count = count_entries(connection, tournament)
    return tournament_format.schedule(count, tournament.base_games_per_pair or tournament.settings.games_per_pair)


def count_entries(connection: Connection, tournament: Tournament) -> int:
    """Return the number of entries of a started tournament."""
    # Entries are numbered from 0 without gaps, so the highest number is enough.
    of_tournament = entries.c.tournament_id == tournament.id
    last: int = connection.execute(select(func.max(entries.c.number)).where(of_tournament)).scalar_one()
    return last + 1


def conditions(connection: Connection, tournament_id: int) -> GameConditions:
    """Return the conditions of a tournament's games for the referee. Raises NotFound."""
    tournament = get_tournament_by_id(connection, tournament_id)
    of_tournament = entries.c.tournament_id == tournament_id
    statement = select(entries, bots.c.owner_id).select_from(entries_with_bots).where(of_tournament)
    rows = connection.execute(statement.order_by(entries.c.number)).all()
    guest_test = tournament.kind is Kind.TEST and any(row.owner_id != tournament.owner_id for row in rows)
    settings = tournament.settings
    return GameConditions(
        tournament=tournament.id,
        name=tournament.name,
        variant=parse_variant(settings.variant),
        players=tuple(row.bot_version_id for row in rows),
        labels=tuple(row.label for row in rows),
        concurrency=settings.most_concurrent,
        guest=(tournament.kind is Kind.CHALLENGE and not settings.rated) or guest_test,
        guest_test=guest_test,
        withdrawn={row.number: row.withdrawn_reason or "" for row in rows if row.withdrawn_at is not None},
        time=settings.time,
        own_times=settings.own_times,
        seed=settings.seed,
        endless=settings.schedule.endless,
        scale_time=settings.scale_time,
        live_scores=settings.live_scores,
        keep_scores=settings.keep_scores,
        adjudication=settings.adjudication,
        fuel=settings.fuel,
        margin_ms=settings.margin_ms,
    )


def own_entries(connection: Connection, tournament_id: int) -> list[int]:
    """Return the numbers of the organiser's own entries."""
    return [number for number, is_own in _entries_of_organiser(connection, tournament_id).items() if is_own]


def organiser_has_conflict(connection: Connection, tournament: Tournament) -> bool:
    """Return whether the organiser has a conflict of interest: see `competition.conflict_of_interest`."""
    return has_conflict(
        rated=tournament.settings.rated,
        has_begun=tournament.state in (TournamentState.RUNNING, TournamentState.PAUSED),
        own_bots=_entries_of_organiser(connection, tournament.id).values(),
    )


def _entries_of_organiser(connection: Connection, tournament_id: int) -> dict[int, bool]:
    """Return of each entry, by number, whether its bot belongs to the organiser."""
    organiser = select(tournaments.c.owner_id).where(tournaments.c.id == tournament_id).scalar_subquery()
    statement = select(entries.c.number, (bots.c.owner_id == organiser).label("is_own")).select_from(entries_with_bots)
    rows = connection.execute(statement.where(entries.c.tournament_id == tournament_id))
    return {row.number: bool(row.is_own) for row in rows}


def _number_entries(connection: Connection, tournament_id: int) -> int:
    """Close the gaps that withdrawals left, so that numbers count from 0 in order of joining."""
    of_tournament = entries.c.tournament_id == tournament_id
    numbers = connection.scalars(select(entries.c.number).where(of_tournament).order_by(entries.c.number)).all()
    for number, old in enumerate(numbers):
        # The new number is free, because numbers ascend and only decrease.
        if number != old:
            connection.execute(update(entries).where(of_tournament, entries.c.number == old).values(number=number))
    return len(numbers)


def change_settings(connection: Connection, tournament: Tournament, **changes: Any) -> Tournament:
    """Change settings of a started tournament that concern only future games."""
    settings = replace(tournament.settings, **changes)
    values = {"games_per_pair": settings.games_per_pair, "options": options_document(settings)}
    return change_tournament(connection, tournament, **values)


def owned_tournament(connection: Connection, slug: str, owner_id: int | None) -> Tournament:
    """Return the tournament; with `owner_id`, it must belong to this owner. Raises NotFound, PermissionDenied."""
    tournament = get_tournament(connection, slug)
    if owner_id not in (None, tournament.owner_id):
        raise PermissionDenied(tournament.name)
    return tournament


def change_tournament(connection: Connection, tournament: Tournament, **values: Any) -> Tournament:
    """Change columns of a tournament's row, and return the tournament."""
    connection.execute(update(tournaments).where(tournaments.c.id == tournament.id).values(**values))
    return get_tournament_by_id(connection, tournament.id)


def _tournaments() -> Select[Any]:
    return select(tournaments, owners.c.name.label("owner")).join(owners)


def _one(connection: Connection, statement: Select[Any], name: str) -> Tournament:
    row = connection.execute(statement).one_or_none()
    if row is None:
        hint = "`noughts tournament list` shows the tournaments."
        raise NotFound(name, hint=hint, agent_hint="`list_tournaments` shows the tournaments.")
    return read_row(row)


def read_row(row: Row[Any]) -> Tournament:
    """Return the tournament in a row of `matching_tournaments`."""
    return Tournament(
        id=row.id,
        slug=row.slug,
        owner_id=row.owner_id,
        owner=row.owner,
        state=TournamentState(row.state),
        settings=read_settings(row),
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        games_total=row.games_total,
        games_done=row.games_done,
        unit_games=row.unit_games,
        folded=row.folded,
        kind=Kind(row.kind),
        joining=Joining(
            entries_min=row.entries_min,
            entries_max=row.entries_max,
            join_from=row.join_from,
            join_until=row.join_until,
            start_at=row.start_at,
        ),
        reason=row.reason or "",
        base_entries=row.base_entries,
        base_games_per_pair=row.base_games_per_pair,
        seed_kind=SeedKind(row.seed_kind),
        own_rated=row.own_rated,
        retry_at=row.retry_at,
        paused_at=row.paused_at if row.state == TournamentState.PAUSED else None,
        match_counts=row.match_counts,
    )
