"""The places of a bot in finished tournaments."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, func, select

from noughts_server.store.engine.schema import Kind, TournamentState, entries, entry_scores, tournaments
from noughts_server.store.games.standings import standings
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id

_LAST_PLACE = 3
_FEWEST_ENTRIES = 3
"""A tournament of two bots is a match, which has no podium."""
_NEWEST = 60
"""Finished tournaments of a bot whose places are computed, so that a page of a bot stays fast."""
_NEWEST_ENTRIES = 500
"""Entries of a bot among which these tournaments are: matches and challenges count, too."""
_MOST_KEPT = 4_096
"""Limit of the podiums in the cache of a database."""


class Trophy(NamedTuple):
    """A place from 1 to 3."""

    tournament: Tournament
    place: int
    entries: int
    """The number of entries in the tournament."""


class _Podium(NamedTuple):
    """The podium of a tournament, with its end and its games at that time, which show whether it is still correct."""

    ended_at: int | None
    games_done: int
    places: dict[int, int]
    """The best place of each bot on the podium, by its key."""
    entries: int


_cache: WeakKeyDictionary[Engine, dict[int, _Podium]] = WeakKeyDictionary()


def trophies_of(connection: Connection, bot_id: int) -> list[Trophy]:
    """Return the bot's places on the podiums of its newest finished tournaments with three or more entries.

    Tournaments before its newest 500 entries do not count.

    The first places come first, the newest first among equals.
    """
    entered = (
        select(entries.c.tournament_id)
        .where(entries.c.bot_id == bot_id)
        .order_by(entries.c.tournament_id.desc())
        .limit(_NEWEST_ENTRIES)
    )
    newest = (
        select(tournaments.c.id)
        .where(
            tournaments.c.id.in_(entered),
            tournaments.c.state == TournamentState.FINISHED,
            tournaments.c.kind == Kind.ORGANISED,
            tournaments.c.games_done > 0,
        )
        .order_by(tournaments.c.id.desc())
        .limit(_NEWEST)
    )
    won: list[Trophy] = []
    for key in connection.scalars(newest).all():
        tournament = get_tournament_by_id(connection, key)
        if tournament.settings.schedule.endless or tournament.settings.schedule.base is not None:
            continue
        if not _can_be_on_podium(connection, tournament, bot_id):
            continue
        podium = _podium(connection, tournament)
        if (place := podium.places.get(bot_id)) is not None:
            won.append(Trophy(tournament, place, podium.entries))
    return sorted(won, key=lambda trophy: trophy.place)


def _can_be_on_podium(connection: Connection, tournament: Tournament, bot_id: int) -> bool:
    """Return whether the bot can be among the first three, from sums only: tie-breaks of large tournaments are slow."""
    if tournament.settings.schedule.places_by_bracket:
        return True
    own = (entries.c.tournament_id == tournament.id) & (entries.c.bot_id == bot_id)
    score = entry_scores.c
    doubled = 2 * score.wins + score.draws
    of_bot = select(func.max(doubled)).where(
        score.tournament_id == tournament.id, score.entry.in_(select(entries.c.number).where(own))
    )
    best = connection.execute(of_bot).scalar() or 0
    # The points of byes, which are those of won pairings, are in no sum. Two bots differ by at most one bye.
    bye = 2 * tournament.settings.games_per_pair if tournament.settings.schedule.by_points else 0
    ahead = select(score.entry).where(score.tournament_id == tournament.id, doubled > best + bye).limit(_LAST_PLACE)
    return len(connection.execute(ahead).all()) < _LAST_PLACE


def _podium(connection: Connection, tournament: Tournament) -> _Podium:
    """Return the podium of a finished tournament from the cache, or compute it."""
    of_engine = _cache.setdefault(connection.engine, {})
    kept = of_engine.get(tournament.id)
    if kept is not None and (kept.ended_at, kept.games_done) == (tournament.ended_at, tournament.games_done):
        return kept
    table = standings(connection, tournament)
    places: dict[int, int] = {}
    if len(table) >= _FEWEST_ENTRIES:
        for row in table:
            if row.rank <= _LAST_PLACE:
                places.setdefault(row.bot_id, row.rank)
    podium = of_engine[tournament.id] = _Podium(tournament.ended_at, tournament.games_done, places, len(table))
    while len(of_engine) > _MOST_KEPT:
        of_engine.pop(next(iter(of_engine)), None)
    return podium
