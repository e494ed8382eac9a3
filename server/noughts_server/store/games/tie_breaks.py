"""The tie-breaks of a tournament, summed by the database over all pairs of entries that have played each other.

A sum over a million pairs takes about 2 s. Therefore sums are cached until a game changes them, and the sums of a large
tournament can be some seconds old while it runs.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import CTE, Connection, Engine, Select, case, func, literal, select, union_all

from noughts_server.store.engine.schema import byes, entry_scores, pair_scores
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.standings import TiedGames, head_to_heads

_AT_ONCE_SECONDS = 0.05
"""Sums that took at most this long are computed for each request."""
_SHARE = 20
"""Sums that took longer than `_AT_ONCE_SECONDS` are computed again only after this many times their duration."""
_MOST_KEPT = 256


class TieBreakSums(NamedTuple):
    head_to_head: float | None = None
    sonneborn_berger: float = 0.0
    buchholz: float | None = None
    """Only in formats with rounds for points; see `Standing`."""


@dataclass(slots=True)
class _Cached:
    """The tie-breaks of one tournament, and the points from which they follow."""

    lock: Lock = field(default_factory=Lock)
    points: Mapping[int, float] = field(default_factory=dict)
    sums: Mapping[int, TieBreakSums] = field(default_factory=dict)
    recompute_at: float = 0.0
    """The time by the monotonic clock at which the sums can be computed again."""


_cache: WeakKeyDictionary[Engine, dict[int, _Cached]] = WeakKeyDictionary()


def tie_breaks(
    connection: Connection, tournament: Tournament, points: Mapping[int, float]
) -> Mapping[int, TieBreakSums]:
    """Return the tie-breaks by the number of the entry; `points` has the points of all entries.

    They are exact, except for a running tournament with a very large crosstable: new entries can be missing there.
    """
    of_engine = _cache.setdefault(connection.engine, {})
    cached = of_engine.setdefault(tournament.id, _Cached())
    with cached.lock:
        if cached.points == points or (not tournament.ended and time.monotonic() < cached.recompute_at):
            return cached.sums
        began = time.monotonic()
        cached.sums = _sums(connection, tournament, points)
        cached.points = dict(points)
        seconds = time.monotonic() - began
        cached.recompute_at = began + _SHARE * seconds if seconds > _AT_ONCE_SECONDS else 0.0
    while len(of_engine) > _MOST_KEPT:
        of_engine.pop(next(iter(of_engine)), None)
    return cached.sums


def _sums(connection: Connection, tournament: Tournament, points: Mapping[int, float]) -> dict[int, TieBreakSums]:
    doubled = _doubled_points(tournament)
    met = {
        row.entry: TiedGames(int(row.doubled) / 2, row.opponents, row.fewest, row.most)
        for row in connection.execute(_met(tournament, doubled))
    }
    weighted = connection.execute(_weighted(tournament, doubled))
    sonneborn_berger = {row.entry: int(row.quadrupled) / 4 for row in weighted}
    head_to_head = head_to_heads(points, met)
    buchholz = _buchholz(connection, tournament, doubled, points) if tournament.settings.schedule.by_points else {}
    return {
        entry: TieBreakSums(
            head_to_head=head_to_head[entry],
            sonneborn_berger=sonneborn_berger.get(entry, 0.0),
            buchholz=buchholz.get(entry),
        )
        for entry in points
    }


def _buchholz(
    connection: Connection, tournament: Tournament, doubled: CTE, points: Mapping[int, float]
) -> dict[int, float]:
    """Return the Buchholz score of each entry: a bye counts as an opponent with the entry's own points.

    An opponent counts once for each pairing, and as a share of one while the pairing is played.
    """
    sums = dict.fromkeys(points, 0.0)
    for row in connection.execute(_games_by_points(tournament, doubled)):
        sums[row.entry] += int(row.weighted) / (2 * tournament.settings.games_per_pair)
    had_byes = select(byes.c.entry, func.count()).where(byes.c.tournament_id == tournament.id).group_by(byes.c.entry)
    for entry, count in connection.execute(had_byes):
        sums[entry] += count * points[entry]
    return sums


def _games_by_points(tournament: Tournament, doubled: CTE) -> Select[Any]:
    """Select the sum over all games of each entry of twice the points of its opponent, for both colours apart."""
    pair = pair_scores.c
    opponent = doubled.alias("opponent")
    weighted = func.sum((pair.wins + pair.draws + pair.losses) * opponent.c.doubled).label("weighted")
    sides = [
        select(entry.label("entry"), weighted)
        .join(opponent, opponent.c.entry == other)
        .where(pair.tournament_id == tournament.id)
        .group_by(entry)
        for entry, other in ((pair.first_entry, pair.second_entry), (pair.second_entry, pair.first_entry))
    ]
    return select(union_all(*sides).subquery())


def _doubled_points(tournament: Tournament) -> CTE:
    """Return twice the points of each entry that has played, with those of byes."""
    score, settings = entry_scores.c, tournament.settings
    bye_count = select(func.count()).where(byes.c.tournament_id == tournament.id, byes.c.entry == score.entry)
    of_byes = 2 * settings.games_per_pair * bye_count.scalar_subquery() if settings.schedule.by_points else literal(0)
    points = (2 * score.wins + score.draws + of_byes).label("doubled")
    return select(score.entry, points).where(score.tournament_id == tournament.id).cte("points")


def _met(tournament: Tournament, doubled: CTE) -> Select[Any]:
    """Select the games of each entry against entries with the same number of points."""
    pair = pair_scores.c
    first = doubled.alias("first")
    second = doubled.alias("second")
    forwards = pair.first_entry < pair.second_entry
    of_pair = (
        select(
            case((forwards, pair.first_entry), else_=pair.second_entry).label("one"),
            case((forwards, pair.second_entry), else_=pair.first_entry).label("other"),
            func.sum(case((forwards, 2 * pair.wins), else_=2 * pair.losses) + pair.draws).label("doubled"),
            func.sum(pair.wins + pair.draws + pair.losses).label("games"),
        )
        .join(first, first.c.entry == pair.first_entry)
        .join(second, second.c.entry == pair.second_entry)
        .where(pair.tournament_id == tournament.id, first.c.doubled == second.c.doubled)
        .group_by("one", "other")
        .cte("of_pair")
    )
    each = of_pair.c
    sides = union_all(
        select(each.one.label("entry"), each.doubled, each.games),
        select(each.other, 2 * each.games - each.doubled, each.games),
    ).subquery()
    side = sides.c
    return select(
        side.entry,
        func.sum(side.doubled).label("doubled"),
        func.count().label("opponents"),
        func.min(side.games).label("fewest"),
        func.max(side.games).label("most"),
    ).group_by(side.entry)


def _weighted(tournament: Tournament, doubled: CTE) -> Select[Any]:
    """Select four times the Sonneborn-Berger score of each entry that has played."""
    pair = pair_scores.c
    opponent = doubled.alias("opponent")
    as_first = (
        select(
            pair.first_entry.label("entry"),
            func.sum((2 * pair.wins + pair.draws) * opponent.c.doubled).label("quadrupled"),
        )
        .join(opponent, opponent.c.entry == pair.second_entry)
        .where(pair.tournament_id == tournament.id)
        .group_by(pair.first_entry)
    )
    as_second = (
        select(pair.second_entry, func.sum((2 * pair.losses + pair.draws) * opponent.c.doubled))
        .join(opponent, opponent.c.entry == pair.first_entry)
        .where(pair.tournament_id == tournament.id)
        .group_by(pair.second_entry)
    )
    sides = union_all(as_first, as_second).subquery()
    return select(sides.c.entry, func.sum(sides.c.quadrupled).label("quadrupled")).group_by(sides.c.entry)
