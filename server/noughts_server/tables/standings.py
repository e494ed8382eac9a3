"""Standings by points, head-to-head score, Sonneborn-Berger and wins. Entries that are equal on all share a rank.

- Points: 1 for a win, 1/2 for a draw, plus those of byes.
- Head to head: the points from the games among all entries with equal points. It counts only if all of them have met
  each other equally often; otherwise, and for an entry with unique points, it is None. (FIDE Handbook C.07, "direct
  encounter".)
- Sonneborn-Berger: the sum over all opponents of the points scored against each times that one's points. (C.07, the
  same for several games with one opponent.)
- Wins: games won.

Each tie-break is computed once, over all entries with equal points, and not again for those that stay equal. A knockout
goes by the round reached instead.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, permutations
from operator import attrgetter

from noughts_server.competition.score import Score
from noughts_server.natural_order import natural_key

TIE_BREAKS = "points, head-to-head score, Sonneborn-Berger, wins"

PairScores = Mapping[tuple[str, str], Score]
"""(first mover, second mover) -> the first mover's score in those games."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry's row, from a database or from a server's answer."""

    label: str
    wins: int
    draws: int
    losses: int
    rating: float | None
    """The bot's current rating; None in unrated tournaments and before its first rated game."""
    byes: int = 0
    bye_points: float = 0.0
    """Points for byes: each counts as all games of a pairing won."""
    withdrawn_at: int | None = None
    """When it withdrew after the start, in milliseconds since 1970 in UTC."""
    withdrawn_reason: str = ""
    faults: int = 0
    """Losses through its own fault."""
    bot_version: str = ""
    """`bots/NAME/versions/V`."""
    number: int = 0
    """The number by which games refer to the entry after the start; like the next two, 0 in a server's answer."""
    bot_id: int = 0
    bot_version_id: int = 0

    @property
    def points(self) -> float:
        """Return the points: 1 for a win, 1/2 for a draw, plus `bye_points`."""
        return self.wins + self.draws / 2 + self.bye_points


@dataclass(frozen=True, slots=True)
class RankedEntry:
    label: str
    rank: int
    """From 1; entries that are equal in everything share a rank, and the following ranks are skipped."""
    score: Score
    points: float
    head_to_head: float | None
    """Points among entries with equal points; None if it does not count."""
    sonneborn_berger: float

    @property
    def wins(self) -> int:
        return self.score.wins

    @property
    def order(self) -> tuple[float, float, float, int]:
        """Return the sort key: larger is better, equal for a shared rank."""
        return self.points, self.head_to_head or 0.0, self.sonneborn_berger, self.score.wins


def ranked(
    labels: Iterable[str],
    pairs: PairScores,
    byes: Mapping[str, float] | None = None,
    order: Sequence[str] | None = None,
) -> list[RankedEntry]:
    """Return the standings, best first, within a rank by name. `byes` has points without a game.

    With `order`, which has all labels, that is the order and the rank is the position in it, for a knockout. Raises
    KeyError for a pair with a label that is not in `labels`.
    """
    totals: dict[str, Score] = dict.fromkeys(labels, Score())
    against: dict[str, dict[str, Score]] = {label: {} for label in totals}
    for (first, second), score in pairs.items():
        if first == second:
            continue
        for label, opponent, own in ((first, second, score), (second, first, score.mirrored)):
            totals[label] += own
            against[label][opponent] = against[label].get(opponent, Score()) + own
    points = {label: score.points + (byes or {}).get(label, 0.0) for label, score in totals.items()}
    among: dict[str, float | None] = {}
    groups: defaultdict[float, list[str]] = defaultdict(list)
    for label, own_points in points.items():
        groups[own_points].append(label)
    for group in groups.values():
        among.update(_head_to_head(group, against))
    weighted = {
        label: sum(score.points * points[opponent] for opponent, score in met.items()) for label, met in against.items()
    }
    entries = [
        RankedEntry(label, 0, total, points[label], among[label], weighted[label]) for label, total in totals.items()
    ]
    if order is not None:
        lines = {entry.label: entry for entry in entries}
        return [replace(lines[label], rank=place) for place, label in enumerate(order, start=1)]
    entries.sort(key=lambda entry: natural_key(entry.label))
    entries.sort(key=attrgetter("order"), reverse=True)
    return list(_with_ranks(entries))


def _head_to_head(group: Sequence[str], against: Mapping[str, Mapping[str, Score]]) -> dict[str, float | None]:
    met = {score.games if (score := against[label].get(opponent)) else 0 for label, opponent in permutations(group, 2)}
    if len(met) != 1 or 0 in met:
        return dict.fromkeys(group)
    return {label: sum(against[label][opponent].points for opponent in group if opponent != label) for label in group}


def _with_ranks(entries: Sequence[RankedEntry]) -> Iterable[RankedEntry]:
    rank = 1
    for _, group in groupby(entries, key=attrgetter("order")):
        sharing = list(group)
        for entry in sharing:
            yield replace(entry, rank=rank)
        rank += len(sharing)
