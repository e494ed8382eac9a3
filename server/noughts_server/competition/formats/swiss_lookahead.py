"""Whether the rounds of a small field that are left can all be paired without a rematch.

Greedy rounds may run into a graph of pairs without a perfect matching: after three rounds of six entries, two triangles
may be all that is left. So a small field takes the best pairing after which the rest can still be played.
"""

from collections.abc import Iterator, Mapping, Set

LOOKAHEAD_SEATS = 12
"""Fields of up to so many entries look ahead: more have too many pairings (10,395 of 12 seats) to try."""

# Pairings tried in one search, of all rounds together: some tenths of a second. Without withdrawals some
# tens are enough.
_BUDGET = 2_000

Pairing = tuple[tuple[int, int], ...]
"""Every seat in one pair."""


def perfect_matchings(allowed: Mapping[int, Set[int]]) -> Iterator[Pairing]:
    """All pairings of all seats, of pairs that may meet."""
    if not allowed:
        yield ()
        return
    seats = list(allowed)
    one, rest = seats[0], seats[1:]
    for other in rest:
        if other in allowed[one]:
            left = {seat: allowed[seat] for seat in rest if seat != other}
            for pairs in perfect_matchings(left):
                yield ((one, other), *pairs)


class Lookahead:
    """Searches on one budget, which remember what failed. What is not found within it counts as not there."""

    def __init__(self) -> None:
        self._budget = _BUDGET
        self._failed: set[tuple[int, frozenset[tuple[int, int]]]] = set()

    @property
    def exhausted(self) -> bool:
        """The budget is spent."""
        return self._budget <= 0

    def leaves(self, allowed: Mapping[int, Set[int]], pairs: Pairing, rounds: int) -> bool:
        """Whether so many more rounds can be paired after this pairing."""
        partners = dict(pairs) | {other: one for one, other in pairs}
        return self._playable({seat: others - {partners[seat]} for seat, others in allowed.items()}, rounds)

    def _playable(self, allowed: Mapping[int, Set[int]], rounds: int) -> bool:
        if rounds == 0:
            return True
        tightest = min(allowed, key=lambda seat: len(allowed[seat]))
        least = len(allowed[tightest])
        # A round takes one opponent of each, and cannot fail where each may meet half of the seats (Dirac).
        if least - (rounds - 1) >= len(allowed) / 2:
            return True
        if least < rounds:
            return False
        key = (rounds, frozenset((one, other) for one, others in allowed.items() for other in others if one < other))
        if key in self._failed:
            return False
        # The order of rounds is free: where the tightest seat needs all that it may meet, it meets one of them first.
        forced = min(allowed[tightest]) if least == rounds else None
        for pairs in perfect_matchings(allowed):
            if forced is not None and (min(tightest, forced), max(tightest, forced)) not in map(_ordered, pairs):
                continue
            self._budget -= 1
            if self.exhausted:
                return False
            if self.leaves(allowed, pairs, rounds - 1):
                return True
        self._failed.add(key)
        return False


def _ordered(pair: tuple[int, int]) -> tuple[int, int]:
    return min(pair), max(pair)
