"""The order of standings: by points, head-to-head score, Sonneborn-Berger and wins. Everything that ranks uses it.

- Points: 1 for a win, 1/2 for a draw, plus those of byes.
- Head to head: the points from the games among all entries with equal points. It counts only if all of them have met
  each other equally often; otherwise, and for an entry with unique points, it is None. (FIDE Handbook C.07, "direct
  encounter".)
- Sonneborn-Berger: the sum over all opponents of the points scored against each times that one's points. (C.07, the
  same for several games with one opponent.)
- Wins: games won.

Entries that are equal on all share a rank, in the natural order of their labels. Each tie-break is computed once, over
all entries with equal points, and not again for those that stay equal. In a knockout, the number of matches won comes
before the points.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

from noughts_server.competition.score import Score
from noughts_server.core.natural_order import natural_key

TIE_BREAKS = "head-to-head score, Sonneborn-Berger, wins"
RANKED_BY = "points"
BRACKET_RANKED_BY = "the round reached, then by points"
_MOST_NOTES = 8
_MOST_LABELS = 6

Key = TypeVar("Key", bound=Hashable)
PairScores = Mapping[tuple[str, str], Score]
"""(first mover, second mover) -> the first mover's score in those games."""


class TieBreak(StrEnum):
    """The tie-break that decided between tied entries, in the order in which they decide."""

    POINTS = "points"
    """Only in a knockout: both reached the same round."""
    HEAD_TO_HEAD = "head-to-head score"
    SONNEBORN_BERGER = "Sonneborn-Berger"
    WINS = "wins"
    SHARED = "shared rank"
    """Nothing: they are equal on all."""


class TiedGames(NamedTuple):
    """The games of an entry with the entries that have as many points."""

    points: float
    opponents: int
    """The number of them that it has met."""
    fewest: int
    most: int
    """The fewest and most games with one of those that it has met."""


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
    rank: int = 0
    """As in `RankedEntry`, like the next three; 0 before the start."""
    head_to_head: float | None = None
    sonneborn_berger: float = 0.0
    tie_break: TieBreak | None = None

    @property
    def points(self) -> float:
        """Return the points: 1 for a win, 1/2 for a draw, plus `bye_points`."""
        return self.wins + self.draws / 2 + self.bye_points

    def with_place(self, entry: "RankedEntry") -> "Standing":
        """Return the row with its place in the standings."""
        return replace(
            self,
            rank=entry.rank,
            head_to_head=entry.head_to_head,
            sonneborn_berger=entry.sonneborn_berger,
            tie_break=entry.tie_break,
        )

    @property
    def entry(self) -> "RankedEntry":
        """Return its place in the standings."""
        return RankedEntry(
            label=self.label,
            score=Score(self.wins, self.draws, self.losses),
            points=self.points,
            head_to_head=self.head_to_head,
            sonneborn_berger=self.sonneborn_berger,
            rank=self.rank,
            tie_break=self.tie_break,
        )


@dataclass(frozen=True, slots=True)
class RankedEntry:
    label: str
    score: Score
    points: float
    head_to_head: float | None
    """Points among entries with equal points; None if it does not count."""
    sonneborn_berger: float
    matches_won: int = 0
    """In a knockout, with byes."""
    rank: int = 0
    """From 1; entries that are equal in everything share a rank, and the following ranks are skipped."""
    tie_break: TieBreak | None = None
    """The reason of its place below the previous entry; None if points (in a knockout: rounds) decided."""

    @property
    def wins(self) -> int:
        return self.score.wins

    @property
    def order(self) -> tuple[int, float, float, float, int]:
        """Return the sort key: larger is better, equal for a shared rank."""
        return self.matches_won, self.points, self.head_to_head or 0.0, self.sonneborn_berger, self.score.wins


def rank_entries(entries: Iterable[RankedEntry], *, bracket: bool = False) -> list[RankedEntry]:
    """Return the entries with their ranks, best first: the order of every table of standings.

    In a `bracket`, entries that reached the same round are tied, otherwise those with equal points.
    """
    ordered = sorted(sorted(entries, key=lambda entry: natural_key(entry.label)), key=_order, reverse=True)
    best = replace(ordered[0], rank=1) if ordered else None
    ranked = [best] if best else []
    for place, (above, entry) in enumerate(pairwise(ordered), start=2):
        tie_break = _tie_break(above, entry, bracket=bracket)
        rank = ranked[-1].rank if tie_break is TieBreak.SHARED else place
        ranked.append(replace(entry, rank=rank, tie_break=tie_break))
    return ranked


def first_places(table: Iterable[Standing]) -> list[str]:
    """Return the labels of all entries with rank 1 in these standings; several if they share it."""
    return [row.label for row in table if row.rank == 1]


def _order(entry: RankedEntry) -> tuple[int, float, float, float, int]:
    return entry.order


def _tie_break(above: RankedEntry, entry: RankedEntry, *, bracket: bool) -> TieBreak | None:
    if above.order[: 1 if bracket else 2] != entry.order[: 1 if bracket else 2]:
        return None
    decided = (pair[0] != pair[1] for pair in zip(above.order[1:], entry.order[1:], strict=True))
    return next((each for each, differs in zip(TieBreak, decided, strict=False) if differs), TieBreak.SHARED)


def compute_standings(
    labels: Iterable[str],
    pairs: PairScores,
    byes: Mapping[str, float] | None = None,
    matches_won: Mapping[str, int] | None = None,
) -> list[RankedEntry]:
    """Return the standings, best first. `byes` has points without a game; `matches_won` is that of a knockout.

    Raises KeyError for a pair with a label that is not in `labels`.
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
    among = head_to_heads(points, {label: _met(label, against[label], points) for label in totals})
    entries = (
        RankedEntry(
            label=label,
            score=total,
            points=points[label],
            head_to_head=among[label],
            sonneborn_berger=sum(score.points * points[opponent] for opponent, score in against[label].items()),
            matches_won=(matches_won or {}).get(label, 0),
        )
        for label, total in totals.items()
    )
    return rank_entries(entries, bracket=matches_won is not None)


def _met(label: str, against: Mapping[str, Score], points: Mapping[str, float]) -> TiedGames:
    tied = [score for opponent, score in against.items() if score.games and points[opponent] == points[label]]
    games = [score.games for score in tied]
    return TiedGames(sum(score.points for score in tied), len(tied), min(games, default=0), max(games, default=0))


def head_to_heads(points: Mapping[Key, float], met: Mapping[Key, TiedGames]) -> dict[Key, float | None]:
    """Return the head-to-head score of each entry of `points`; `met` can lack those that met no tied entry."""
    groups: defaultdict[float, list[Key]] = defaultdict(list)
    for entry, own in points.items():
        groups[own].append(entry)
    points_among: dict[Key, float | None] = dict.fromkeys(points)
    for group in groups.values():
        known = [met[entry] for entry in group if entry in met]
        all_met = len(known) == len(group) and all(each.opponents == len(group) - 1 for each in known)
        if len(group) > 1 and all_met and len({times for each in known for times in (each.fewest, each.most)}) == 1:
            points_among.update((entry, met[entry].points) for entry in group)
    return points_among


def lead(first: Sequence[str]) -> str:
    """Return e.g. `a leads` or `a and b lead`, for the labels of the entries that share the first rank."""
    return f"{_enumerated(first)} {'leads' if len(first) == 1 else 'lead'}"


def tie_notes(rows: Iterable[RankedEntry]) -> list[str]:
    """Return a sentence for each group of tied entries that says what put them in this order, of very many the first.

    E.g. `3 points: a before b by head-to-head score (1 to 0), b before c by wins (3 to 2).`
    """
    groups = list(_tied(rows))
    notes = [_tie_note(group) for group in groups[:_MOST_NOTES]]
    left = len(groups) - len(notes)
    return [*notes, f"{left:,} more {'tie' if left == 1 else 'ties'} were broken in the same way."] if left else notes


def _tied(rows: Iterable[RankedEntry]) -> Iterator[list[RankedEntry]]:
    """Yield the groups of tied entries of which a tie-break put at least two in order."""
    group: list[RankedEntry] = []
    for row in (*rows, None):
        if row is not None and row.tie_break is not None:
            group.append(row)
            continue
        if any(each.tie_break is not TieBreak.SHARED for each in group[1:]):
            yield group
        group = [] if row is None else [row]


def _tie_note(group: Sequence[RankedEntry]) -> str:
    places = [list(sharing) for _, sharing in groupby(group, key=lambda row: row.rank)]
    steps = []
    for above, below in pairwise(places):
        assert below[0].tie_break is not None
        by = below[0].tie_break
        values = [_value(place[0], by) for place in (above, below)]
        steps.append(f"{_labels(above)} before {_labels(below)} by {by} ({values[0]:g} to {values[1]:g})")
    more = f", and {len(steps) - _MOST_LABELS:,} more" if len(steps) > _MOST_LABELS else ""
    equal = (
        ""
        if any(row.tie_break is TieBreak.POINTS for row in group[1:])
        else f"{group[0].points:g} {'point' if group[0].points == 1 else 'points'}: "
    )
    return f"{equal}{', '.join(steps[:_MOST_LABELS])}{more}."


def _enumerated(labels: Sequence[str]) -> str:
    """Return e.g. `a, b and c`, of very many the first."""
    named = list(labels[:_MOST_LABELS])
    if len(labels) > len(named):
        named.append(f"{len(labels) - len(named):,} more")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _labels(sharing: Sequence[RankedEntry]) -> str:
    return _enumerated([row.label for row in sharing])


def _value(row: RankedEntry, by: TieBreak) -> float:
    values = {
        TieBreak.POINTS: row.points,
        TieBreak.HEAD_TO_HEAD: row.head_to_head or 0.0,
        TieBreak.SONNEBORN_BERGER: row.sonneborn_berger,
        TieBreak.WINS: row.wins,
    }
    return values[by]
