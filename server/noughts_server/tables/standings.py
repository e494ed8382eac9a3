"""The order of all standings: by points, then head-to-head score, then Sonneborn-Berger, then wins.

- Points: 1 for a win, 1/2 for a draw, plus the points of byes.
- Head to head: the points from the games among the entries with equal points. It counts only if all of them have met
  each other equally often; otherwise, and for an entry without others with equal points, it is None. (FIDE Handbook
  C.07, "direct encounter".)
- Sonneborn-Berger: for each opponent, the points scored against it times its own points, summed over all opponents.
  (C.07, the same for several games with one opponent.)
- Wins: games won.

FIDE recommends Buchholz, the sum of the points of the opponents, as a tie-break of Swiss tournaments (C.07). Here it is
shown for information only: one order serves all formats, and Sonneborn-Berger also rewards points against strong
opponents.

Entries that are equal in everything share a rank, and are listed in the natural order of their labels, those without a
result last. Tables show no rank of an entry before its first result. Each tie-break is computed once, over all entries
with equal points; it is not computed again for those that remain tied. In a knockout, the number of matches won comes
before the points.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

from noughts_server.competition.score import Score
from noughts_server.core.messages import N_, _, ngettext, number_text, pgettext
from noughts_server.core.natural_order import natural_key

TIE_BREAKS = "head-to-head score, Sonneborn-Berger, wins"
RANKED_BY = "points"
BRACKET_RANKED_BY = "the round reached, then by points"
ON_REQUEST = "on request"
"""The reason of a withdrawal that the owner or the organiser requested."""
_MOST_NOTES = 8
_MOST_LABELS = 6
"""Labels that a note names."""

Key = TypeVar("Key", bound=Hashable)
PairScores = Mapping[tuple[str, str], Score]
"""By (first mover, second mover): the first mover's score in these games."""


class TieBreak(StrEnum):
    """The tie-breaks in the order in which they decide between tied entries."""

    POINTS = N_("points")
    """A tie-break only in a knockout, between entries that reached the same round."""
    HEAD_TO_HEAD = N_("head-to-head score")
    SONNEBORN_BERGER = N_("Sonneborn-Berger")
    WINS = N_("wins")
    SHARED = N_("shared rank")
    """No tie-break decided: the entries are equal in everything."""


class TiedGames(NamedTuple):
    """The games of an entry against the entries with equal points."""

    points: float
    opponents: int
    """The number of these entries that it has met."""
    fewest: int
    """The smallest number of games with one of these opponents."""
    most: int
    """The largest number of games with one of these opponents."""


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
    """Points for byes. A bye counts as winning all games of a pairing."""
    withdrawn_at: int | None = None
    """The time of its withdrawal after the start, in milliseconds since 1970 in UTC."""
    withdrawn_reason: str = ""
    faults: int = 0
    """Losses through its own fault."""
    bot_version: str = ""
    """`bots/NAME/versions/V`."""
    number: int = 0
    """The number by which games refer to the entry after the start; 0 in a server's answer."""
    bot_id: int = 0
    """The bot's ID in the database; 0 in a server's answer."""
    bot_version_id: int = 0
    """The version's ID in the database; 0 in a server's answer."""
    rank: int = 0
    """The rank as in `RankedEntry`, which also documents the next three fields; 0 before the start."""
    head_to_head: float | None = None
    sonneborn_berger: float = 0.0
    tie_break: TieBreak | None = None
    buchholz: float | None = None
    """The sum of the points of its opponents in a Swiss or Danish tournament; None in others. It breaks no ties."""

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
        """Return the entry's place in the standings."""
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
    """An entry with the values that determine its place in the standings, and its rank."""

    label: str
    score: Score
    points: float
    head_to_head: float | None
    """The points from games among entries with equal points; None if they do not count."""
    sonneborn_berger: float
    matches_won: int = 0
    """The number of matches won in a knockout, including byes."""
    rank: int = 0
    """The rank from 1. Entries that are equal in everything share a rank, and the ranks after it are skipped."""
    tie_break: TieBreak | None = None
    """The tie-break that put it below the previous entry; None if points (in a knockout: rounds) decided."""

    @property
    def wins(self) -> int:
        return self.score.wins

    @property
    def has_result(self) -> bool:
        """Return whether a game of it is over, or a bye won points."""
        return self.score.games > 0 or self.points > 0

    @property
    def order(self) -> tuple[int, float, float, float, int]:
        """Return the sort key: larger is better, equal for a shared rank."""
        return self.matches_won, self.points, self.head_to_head or 0.0, self.sonneborn_berger, self.score.wins


def rank_entries(entries: Iterable[RankedEntry], *, bracket: bool = False) -> list[RankedEntry]:
    """Return the entries with their ranks, best first: the order of every table of standings.

    In a `bracket`, entries that reached the same round are tied, otherwise those with equal points.
    """
    by_label = sorted(entries, key=lambda entry: natural_key(entry.label))
    with_results_first = sorted(by_label, key=_has_result, reverse=True)
    best_first = sorted(with_results_first, key=_order, reverse=True)
    ranked_entries = [replace(entry, rank=1) for entry in best_first[:1]]
    for place, (above, entry) in enumerate(pairwise(best_first), start=2):
        tie_break = _tie_break(above, entry, bracket=bracket)
        rank = ranked_entries[-1].rank if tie_break is TieBreak.SHARED else place
        ranked_entries.append(replace(entry, rank=rank, tie_break=tie_break))
    return ranked_entries


def displayed_place(entry: RankedEntry, position: int) -> int | None:
    """Return the place that tables show: the rank, None before the first result, or the position before the start."""
    if not entry.rank:
        return position
    return entry.rank if entry.has_result else None


def first_places(table: Iterable[Standing]) -> list[str]:
    """Return the labels of all entries with rank 1 in these standings; several if they share it."""
    return [row.label for row in table if row.rank == 1]


def _has_result(entry: RankedEntry) -> bool:
    return entry.has_result


def _order(entry: RankedEntry) -> tuple[int, float, float, float, int]:
    return entry.order


def _tie_break(above: RankedEntry, entry: RankedEntry, *, bracket: bool) -> TieBreak | None:
    """Return the first tie-break that differs between two neighbours; None if they are not tied."""
    # The sort key begins with the matches won and the points.
    tied_values = 1 if bracket else 2
    if above.order[:tied_values] != entry.order[:tied_values]:
        return None
    # The values after the matches won are in the order of the tie-breaks. SHARED has no value.
    for tie_break, value_above, value in zip(TieBreak, above.order[1:], entry.order[1:], strict=False):
        if value_above != value:
            return tie_break
    return TieBreak.SHARED


def compute_standings(
    labels: Iterable[str],
    pairs: PairScores,
    byes: Mapping[str, float] | None = None,
    matches_won: Mapping[str, int] | None = None,
) -> list[RankedEntry]:
    """Return the standings, best first. Raises KeyError for a pair with a label that is not in `labels`.

    Args:
        labels: the entries.
        pairs: the scores of their games.
        byes: points for byes, by label.
        matches_won: the matches that each entry of a knockout won, by label; None for other formats.
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
    head_to_head = head_to_heads(points, {label: _tied_games(label, against[label], points) for label in totals})
    entries = (
        RankedEntry(
            label=label,
            score=total,
            points=points[label],
            head_to_head=head_to_head[label],
            sonneborn_berger=sum(score.points * points[opponent] for opponent, score in against[label].items()),
            matches_won=(matches_won or {}).get(label, 0),
        )
        for label, total in totals.items()
    )
    return rank_entries(entries, bracket=matches_won is not None)


def _tied_games(label: str, against: Mapping[str, Score], points: Mapping[str, float]) -> TiedGames:
    """Return the games of the entry against entries with equal points; `against` has its scores by opponent."""
    scores = [score for opponent, score in against.items() if score.games and points[opponent] == points[label]]
    games = [score.games for score in scores]
    return TiedGames(
        points=sum(score.points for score in scores),
        opponents=len(scores),
        fewest=min(games, default=0),
        most=max(games, default=0),
    )


def head_to_heads(points: Mapping[Key, float], tied_games: Mapping[Key, TiedGames]) -> dict[Key, float | None]:
    """Return the head-to-head score of each entry; None if it does not count.

    `points` has all entries. `tied_games` can lack entries that have met no entry with equal points.
    """
    groups: defaultdict[float, list[Key]] = defaultdict(list)
    for entry, points_of_entry in points.items():
        groups[points_of_entry].append(entry)
    head_to_head: dict[Key, float | None] = dict.fromkeys(points)
    for group in groups.values():
        games = [tied_games[entry] for entry in group if entry in tied_games]
        if len(group) == 1 or len(games) < len(group):
            continue
        all_have_met = all(entry_games.opponents == len(group) - 1 for entry_games in games)
        counts = {entry_games.fewest for entry_games in games} | {entry_games.most for entry_games in games}
        if all_have_met and len(counts) == 1:
            for entry in group:
                head_to_head[entry] = tied_games[entry].points
    return head_to_head


def lead(first: Sequence[str]) -> str:
    """Return e.g. `a leads` or `a and b lead`; `first` has the labels of the entries with rank 1."""
    names = _enumerated(first)
    return _("%(name)s leads", name=names) if len(first) == 1 else _("%(names)s lead", names=names)


def tie_notes(rows: Iterable[RankedEntry]) -> list[str]:
    """Return a sentence for each group of tied entries with the tie-breaks that put them in this order.

    E.g. `3 points: a before b by head-to-head score (1 to 0), b before c by wins (3 to 2).` If there are very many
    groups, the last sentence counts those that are omitted.
    """
    groups = [group for group in _tied_groups(rows) if _has_decided_tie(group)]
    notes = [_tie_note(group) for group in groups[:_MOST_NOTES]]
    omitted = len(groups) - len(notes)
    if omitted:
        notes.append(
            ngettext(
                "%(num)s more tie was broken in the same way.",
                "%(num)s more ties were broken in the same way.",
                omitted,
            )
        )
    return notes


def _tied_groups(rows: Iterable[RankedEntry]) -> list[list[RankedEntry]]:
    """Return the rows in groups of entries with equal points that are tied with each other.

    A row without a tie-break begins a group, and so does one that its points put behind others of the same round.
    """
    groups: list[list[RankedEntry]] = []
    for row in rows:
        if row.tie_break in (None, TieBreak.POINTS) or not groups:
            groups.append([])
        groups[-1].append(row)
    return groups


def _has_decided_tie(group: Sequence[RankedEntry]) -> bool:
    return any(row.tie_break is not TieBreak.SHARED for row in group[1:])


def _tie_note(group: Sequence[RankedEntry]) -> str:
    """Return the sentence for a group of tied entries."""
    places = [list(sharing) for _rank, sharing in groupby(group, key=lambda row: row.rank)]
    steps = []
    for above, below in pairwise(places):
        tie_break = below[0].tie_break
        assert tie_break is not None
        steps.append(
            _(
                "%(above)s before %(below)s by %(tie_break)s (%(value_above)s to %(value_below)s)",
                above=_labels(above),
                below=_labels(below),
                tie_break=_(tie_break),
                value_above=number_text(_value(above[0], tie_break), "g"),
                value_below=number_text(_value(below[0], tie_break), "g"),
            )
        )
    text = ", ".join(steps[:_MOST_LABELS])
    if len(steps) > _MOST_LABELS:
        text = _("%(list)s, and %(count)s more", list=text, count=number_text(len(steps) - _MOST_LABELS))
    points, shown = group[0].points, number_text(group[0].points, "g")
    if points != int(points):
        return pgettext("a fraction", "%(points)s points: %(text)s.", points=shown, text=text)
    return ngettext("%(points)s point: %(text)s.", "%(points)s points: %(text)s.", int(points), points=shown, text=text)


def _enumerated(labels: Sequence[str]) -> str:
    """Return e.g. `a, b and c`; if there are very many labels, the first ones and the number of the others."""
    parts = list(labels[:_MOST_LABELS])
    if len(labels) > len(parts):
        parts.append(_("%(count)s more", count=number_text(len(labels) - len(parts))))
    if len(parts) == 1:
        return parts[0]
    return _("%(names)s and %(last)s", names=", ".join(parts[:-1]), last=parts[-1])


def _labels(sharing: Sequence[RankedEntry]) -> str:
    return _enumerated([row.label for row in sharing])


def _value(row: RankedEntry, tie_break: TieBreak) -> float:
    values = {
        TieBreak.POINTS: row.points,
        TieBreak.HEAD_TO_HEAD: row.head_to_head or 0.0,
        TieBreak.SONNEBORN_BERGER: row.sonneborn_berger,
        TieBreak.WINS: row.wins,
    }
    return values[tie_break]
