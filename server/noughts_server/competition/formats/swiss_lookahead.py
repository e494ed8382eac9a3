"""Lookahead of Swiss tournaments: decides whether all remaining rounds of a small field are possible without a rematch.

If each round takes the best pairing, the remaining pairs can contain no perfect matching: after three rounds of six
entries, the remaining pairs can form two triangles. So a small field takes the best pairing after which the other
rounds are still possible.
"""

from collections.abc import Iterator, Mapping, Set

LOOKAHEAD_SEATS = 12
"""Larger fields do not look ahead: 12 seats already have 10,395 pairings."""

_BUDGET = 2_000
"""Limit of the pairings that one search tries, in some tenths of a second. Without withdrawals, a few tens suffice."""

Matching = tuple[tuple[int, int], ...]
"""Pairs of seats. Every seat is in one pair."""


def perfect_matchings(allowed: Mapping[int, Set[int]]) -> Iterator[Matching]:
    """Yield all pairings of all seats. `allowed` has the possible partners of each seat."""
    if not allowed:
        yield ()
        return
    seats = list(allowed)
    one = seats[0]
    rest = seats[1:]
    for other in rest:
        if other in allowed[one]:
            remaining = {seat: allowed[seat] for seat in rest if seat != other}
            for pairs in perfect_matchings(remaining):
                yield ((one, other), *pairs)


class Lookahead:
    """Searches that share one budget and remember failures. A search without a result within the budget has failed."""

    def __init__(self) -> None:
        self._budget = _BUDGET
        self._failed: set[tuple[int, frozenset[tuple[int, int]]]] = set()

    @property
    def is_exhausted(self) -> bool:
        return self._budget <= 0

    def can_follow(self, allowed: Mapping[int, Set[int]], pairs: Matching, rounds: int) -> bool:
        """Return whether `rounds` more rounds are possible after this pairing."""
        partners = dict(pairs) | {other: one for one, other in pairs}
        return self._are_possible({seat: others - {partners[seat]} for seat, others in allowed.items()}, rounds)

    def _are_possible(self, allowed: Mapping[int, Set[int]], rounds: int) -> bool:
        """Return whether this number of rounds is possible with the allowed partners of each seat."""
        if rounds == 0:
            return True
        scarcest = min(allowed, key=lambda seat: len(allowed[seat]))
        least = len(allowed[scarcest])
        # A round takes one partner from each seat. By Dirac's theorem, a round is possible if each seat has at least
        # half of all seats as possible partners.
        if least - (rounds - 1) >= len(allowed) / 2:
            return True
        if least < rounds:
            return False
        key = (rounds, frozenset((one, other) for one, others in allowed.items() for other in others if one < other))
        if key in self._failed:
            return False
        # The order of the rounds does not matter. If the seat with the fewest partners must meet all of them, try only
        # one first.
        forced = min(allowed[scarcest]) if least == rounds else None
        for pairs in perfect_matchings(allowed):
            if forced is not None and {scarcest, forced} not in map(set, pairs):
                continue
            self._budget -= 1
            if self.is_exhausted:
                return False
            if self.can_follow(allowed, pairs, rounds - 1):
                return True
        self._failed.add(key)
        return False
