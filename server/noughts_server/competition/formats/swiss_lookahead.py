"""Decide whether all remaining rounds of a small field can be paired without a rematch.

Greedy rounds can end in a graph of pairs without a perfect matching: after three rounds of six entries, two triangles
can be left. So a small field takes the best pairing after which the rest can still be played.
"""

from collections.abc import Iterator, Mapping, Set

LOOKAHEAD_SEATS = 12
"""Larger fields do not look ahead: 12 seats already have 10,395 pairings."""

# Limit of the pairings tried in one search (some tenths of a second). Without withdrawals, a few tens are enough.
_BUDGET = 2_000

Pairing = tuple[tuple[int, int], ...]
"""Every seat is in one pair."""


def perfect_matchings(allowed: Mapping[int, Set[int]]) -> Iterator[Pairing]:
    """Yield all pairings of all seats, from allowed pairs."""
    if not allowed:
        yield ()
        return
    seats = list(allowed)
    one = seats[0]
    rest = seats[1:]
    for other in rest:
        if other in allowed[one]:
            left = {seat: allowed[seat] for seat in rest if seat != other}
            for pairs in perfect_matchings(left):
                yield ((one, other), *pairs)


class Lookahead:
    """Searches that share one budget and remember failures. What is not found within the budget counts as missing."""

    def __init__(self) -> None:
        self._budget = _BUDGET
        self._failed: set[tuple[int, frozenset[tuple[int, int]]]] = set()

    @property
    def exhausted(self) -> bool:
        return self._budget <= 0

    def leaves(self, allowed: Mapping[int, Set[int]], pairs: Pairing, rounds: int) -> bool:
        """Return whether so many more rounds can be paired after this pairing."""
        partners = dict(pairs) | {other: one for one, other in pairs}
        return self._playable({seat: others - {partners[seat]} for seat, others in allowed.items()}, rounds)

    def _playable(self, allowed: Mapping[int, Set[int]], rounds: int) -> bool:
        if rounds == 0:
            return True
        tightest = min(allowed, key=lambda seat: len(allowed[seat]))
        least = len(allowed[tightest])
        # A round uses one partner of each seat, and cannot fail if each has half of the seats as partners (Dirac).
        if least - (rounds - 1) >= len(allowed) / 2:
            return True
        if least < rounds:
            return False
        key = (rounds, frozenset((one, other) for one, others in allowed.items() for other in others if one < other))
        if key in self._failed:
            return False
        # The order of rounds is free: if the tightest seat needs all its partners, it can meet any of them first.
        forced = min(allowed[tightest]) if least == rounds else None
        for pairs in perfect_matchings(allowed):
            if forced is not None and {tightest, forced} not in map(set, pairs):
                continue
            self._budget -= 1
            if self.exhausted:
                return False
            if self.leaves(allowed, pairs, rounds - 1):
                return True
        self._failed.add(key)
        return False
