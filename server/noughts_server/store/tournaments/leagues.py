"""Leagues: tournaments that repeat. Each season is a tournament with the same settings and entries and a new seed.

The settings are those of the first season, also the games or rounds by which it was extended.
After the end of a season, the next season is opened with a scheduled start. Bots can join and withdraw until then. At
most one season runs at a time, so a season that is extended delays the next one.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Row, Select, and_, func, insert, select, update

from noughts_server.competition.tournament_settings import LONGEST_TITLE
from noughts_server.core.errors import NotFound
from noughts_server.core.resource_names import tournament_name
from noughts_server.store.engine.pages import Page, read_page
from noughts_server.store.engine.schema import (
    TournamentState,
    bot_versions,
    bots,
    entries,
    leagues,
    seasons,
    tournaments,
)
from noughts_server.store.people.bots import get_version
from noughts_server.store.seeds import SeedKind
from noughts_server.store.tournaments.join_window import Joining
from noughts_server.store.tournaments.tournaments import (
    NewTournament,
    Tournament,
    cancel_tournament,
    change_tournament,
    create_tournament,
    get_tournament,
    get_tournament_by_id,
    owned_tournament,
)
from noughts_server.tables.standings import ON_REQUEST

WEEK_MS = 7 * 24 * 3600 * 1000
MOST_EMPTY = 4
"""A league stops after this many cancelled seasons in a row."""
_LONGEST_SLUG = 63
_NEWEST = select(seasons.c.league_id, func.max(seasons.c.number).label("number")).group_by(seasons.c.league_id)


@dataclass(frozen=True, slots=True)
class League:
    """A tournament that repeats, and one of its seasons."""

    id: int
    slug: str
    """The ID of its first season."""
    owner_id: int
    interval_ms: int
    stopped_at: int | None
    stop_reason: str
    """The reason why it stopped, unless its owner stopped it."""
    season: int
    """The number of the season, from 1."""


def create_league(connection: Connection, tournament: Tournament, interval_ms: int, *, now_ms: int) -> None:
    """Make a new tournament the first season of a league."""
    row = {
        "slug": tournament.slug,
        "owner_id": tournament.owner_id,
        "interval_ms": interval_ms,
        "created_at": now_ms,
    }
    connection.execute(insert(leagues), row)
    league = connection.execute(select(leagues.c.id).where(leagues.c.slug == tournament.slug)).scalar_one()
    _add_season(connection, league, 1, tournament.id)


def league_of(connection: Connection, tournament_id: int) -> League | None:
    """Return the league of which a tournament is a season; None if it does not repeat."""
    row = connection.execute(_leagues().where(seasons.c.tournament_id == tournament_id)).one_or_none()
    return None if row is None else _league(row)


def get_league(connection: Connection, slug: str) -> League:
    """Return the league of any of its seasons. Raises NotFound."""
    league = league_of(connection, get_tournament(connection, slug).id)
    if league is None:
        hint = "Create one that does: noughts tournament create NAME --repeat weekly"
        agent_hint = "Create one that does: `create_tournament` with `repeat`"
        raise NotFound(f"{tournament_name(slug)}/seasons", hint=hint, agent_hint=agent_hint)
    return league


def list_seasons(
    connection: Connection, league: League | None, *, size: int = 0, page_token: str = ""
) -> Page[tuple[int, Tournament]]:
    """Return a page of a league's seasons with their numbers, the newest first; an empty page without a league.

    Raises InvalidArgument.
    """
    key = None if league is None else league.id
    statement = select(seasons.c.number, seasons.c.tournament_id).where(seasons.c.league_id == key)

    def read(row: Row[int, int]) -> tuple[int, Tournament]:
        return row.number, get_tournament_by_id(connection, row.tournament_id)

    method = f"leagues/{key}/seasons"
    order = (seasons.c.number,)
    return read_page(connection, statement, read, method, order, size=size, page_token=page_token, descending=True)


def ended_leagues(connection: Connection) -> Sequence[int]:
    """Return the keys of leagues whose next season is due: not stopped ones whose newest season has ended."""
    newest = _NEWEST.subquery()
    is_newest = and_(newest.c.league_id == seasons.c.league_id, newest.c.number == seasons.c.number)
    statement = select(leagues.c.id).select_from(leagues).join(seasons).join(newest, is_newest).join(tournaments)
    ended = tournaments.c.state.in_((TournamentState.FINISHED, TournamentState.CANCELLED))
    return list(connection.scalars(statement.where(leagues.c.stopped_at.is_(None), ended).order_by(leagues.c.id)))


def open_next_season(connection: Connection, league_id: int, *, now_ms: int) -> Tournament | None:
    """Open the next season of a league whose newest one has ended. Writes.

    Return None if another server has opened it, or if the league stops because its last seasons were all cancelled.
    """
    if league_id not in ended_leagues(connection):
        return None
    of_league = select(seasons).where(seasons.c.league_id == league_id).order_by(seasons.c.number.desc())
    rows = connection.execute(of_league.limit(MOST_EMPTY)).all()
    last = [get_tournament_by_id(connection, row.tournament_id) for row in rows]
    if len(last) == MOST_EMPTY and all(season.state is TournamentState.CANCELLED for season in last):
        _stop(connection, league_id, now_ms, f"its last {MOST_EMPTY} seasons were cancelled")
        return None
    league = _league(connection.execute(_leagues().where(seasons.c.tournament_id == last[0].id)).one())
    first = get_tournament(connection, league.slug)
    newest = last[0]
    number = league.season + 1
    previous = newest.joining.start_at or newest.started_at or newest.created_at
    missed = max(0, now_ms - previous) // league.interval_ms
    start_at = previous + (missed + 1) * league.interval_ms
    title = f"{first.settings.title[: LONGEST_TITLE - 20]}, season {number}" if first.settings.title else ""
    new = NewTournament(
        slug=_free_slug(connection, league.slug, number),
        settings=replace(first.settings, seed=secrets.randbits(64), title=title),
        joining=Joining(first.joining.entries_min, first.joining.entries_max, None, None, start_at),
        seed_kind=SeedKind.DRAWN,
        own_rated=newest.own_rated,
    )
    season = create_tournament(connection, new, owner_id=league.owner_id, now_ms=now_ms)
    _add_season(connection, league_id, number, season.id)
    _enter_again(connection, newest, season)
    return season


def before_start(connection: Connection, tournament: Tournament) -> bool:
    """Prepare the start of a tournament; return False if it is delayed, because another season of its league runs.

    The entries of a season play in the newest versions of their bots.
    """
    league = league_of(connection, tournament.id)
    if league is None:
        return True
    others = select(tournaments.c.id).join(seasons).where(seasons.c.league_id == league.id)
    is_unfinished = tournaments.c.state.in_((TournamentState.RUNNING, TournamentState.PAUSED))
    if connection.execute(others.where(is_unfinished)).first() is not None:
        start_at = (tournament.joining.start_at or 0) + league.interval_ms
        change_tournament(connection, tournament, start_at=start_at)
        return False
    if league.season > 1:
        _use_newest_versions(connection, tournament.id)
    return True


def stop_league(connection: Connection, slug: str, *, now_ms: int, owner_id: int | None = None) -> Tournament:
    """Stop the league of a season: no season follows, and a season that has not started is cancelled. Writes.

    Return the newest season. Repeating the call has no effect. Raises NotFound, PermissionDenied.
    """
    owned_tournament(connection, slug, owner_id)
    league = get_league(connection, slug)
    if league.stopped_at is None:
        _stop(connection, league.id, now_ms, None)
    newest = select(seasons.c.tournament_id).where(seasons.c.league_id == league.id)
    key = connection.execute(newest.order_by(seasons.c.number.desc()).limit(1)).scalar_one()
    season = get_tournament_by_id(connection, key)
    if season.state is TournamentState.OPEN:
        return cancel_tournament(connection, season.slug, now_ms=now_ms, reason="its league was stopped")
    return season


def _leagues() -> Select[tuple[object, ...]]:
    return select(leagues, seasons.c.number.label("season")).select_from(leagues).join(seasons)


def _league(row: Row[tuple[object, ...]]) -> League:
    return League(
        id=row.id,
        slug=row.slug,
        owner_id=row.owner_id,
        interval_ms=row.interval_ms,
        stopped_at=row.stopped_at,
        stop_reason=row.stop_reason or "",
        season=row.season,
    )


def _add_season(connection: Connection, league_id: int, number: int, tournament_id: int) -> None:
    row = {"league_id": league_id, "number": number, "tournament_id": tournament_id}
    connection.execute(insert(seasons), row)


def _stop(connection: Connection, league_id: int, now_ms: int, reason: str | None) -> None:
    stopped = update(leagues).where(leagues.c.id == league_id).values(stopped_at=now_ms, stop_reason=reason)
    connection.execute(stopped)


def _free_slug(connection: Connection, slug: str, number: int) -> str:
    """Return `SLUG-NUMBER`, with a further number if it is taken."""
    suffix = f"-{number}"
    copy = 1
    while True:
        name = f"{slug[: _LONGEST_SLUG - len(suffix)].rstrip('-')}{suffix}"
        if connection.execute(select(tournaments.c.id).where(tournaments.c.slug == name)).first() is None:
            return name
        copy += 1
        suffix = f"-{number}-{copy}"


def _enter_again(connection: Connection, last: Tournament, new: Tournament) -> None:
    """Enter the bots of the last season under their labels, except retired bots and those withdrawn on request."""
    of_last = select(entries, bots.c.retired_at).select_from(entries).join(bot_versions).join(bots)
    rows = connection.execute(of_last.where(entries.c.tournament_id == last.id).order_by(entries.c.number)).all()
    remaining = [
        row
        for row in rows
        if row.retired_at is None and (row.withdrawn_at is None or (row.withdrawn_reason or ON_REQUEST) != ON_REQUEST)
    ]
    values = [
        {
            "tournament_id": new.id,
            "number": number,
            "bot_version_id": row.bot_version_id,
            "bot_id": row.bot_id,
            "label": row.label,
        }
        for number, row in enumerate(remaining)
    ]
    if values:
        connection.execute(insert(entries), values)


def _use_newest_versions(connection: Connection, tournament_id: int) -> None:
    """Pin entries to the newest versions of their bots, except bots that have entered several versions."""
    of_tournament = entries.c.tournament_id == tournament_id
    single = select(entries.c.bot_id).where(of_tournament).group_by(entries.c.bot_id).having(func.count() == 1)
    statement = select(entries.c.number, bots.c.name).join(bots, bots.c.id == entries.c.bot_id)
    for number, name in connection.execute(statement.where(of_tournament, entries.c.bot_id.in_(single))).all():
        newest = get_version(connection, name, "").id
        this = of_tournament & (entries.c.number == number)
        connection.execute(update(entries).where(this).values(bot_version_id=newest))
