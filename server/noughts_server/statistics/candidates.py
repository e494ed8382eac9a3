"""Test several candidates against one base: find a stronger one in few games.

All candidates play pairs against the base only. Each has an SPRT of its own, with alpha divided by their number. The
next pair belongs to the candidate with the highest LLR, and the others wait. A candidate whose test accepts
H0 is dropped. When a test accepts H1, all tests end.

A fixed number of pairs is scheduled ahead of the counted ones (`pairs_ahead`), so that many games can be concurrent.
Pairs count in the order of the schedule, and each further pair follows from the counted ones only. So neither the
schedule nor the verdict depends on the order in which games end. Pairs of a dropped candidate do not count.

Errors: A test depends on its candidate's own pairs only. A likelihood ratio is a martingale under H0, so its limits
hold at any time and in any order of pairs (J. Ville, "Etude critique de la notion de collectif", 1939; A. Wald, 1945):

- The probability to accept a candidate that is not stronger than `elo0` is at most alpha, for all candidates together.
- If a candidate is stronger by `elo1` or more, the probability to drop all candidates is at most beta.

As with one SPRT, these are the rates of many pairs. A test of one candidate that is decided after a few dozen pairs
errs slightly more often.

Games: If nothing is known about the candidates beforehand, this order reaches the first acceptance in the fewest
expected pairs (I. Dumitriu, P. Tetali and P. Winkler, "On playing golf with two balls", 2003). Successive elimination
needs more, because the difference between two candidates has twice the variance of each. If no candidate is stronger,
all must be dropped, and no order saves games: each drop takes at least (1 - a) ln((1 - a) / b) + a ln(a / (1 - b))
units of information (a = alpha, b = beta), nearly what its SPRT takes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from noughts_server.statistics.match_games import MatchGame, MatchGames
from noughts_server.statistics.sprt import Decision, Sprt

STEP = 4
"""Further pairs are scheduled whenever this number of pairs has been counted."""
# Limits of the pairs that are scheduled ahead, in multiples of `STEP`.
_FEWEST_STEPS = 2
_MOST_STEPS = 64
_USUAL_SHARES = (0.06, 0.24, 0.4, 0.24, 0.06)
"""A typical distribution of the five scores of a pair."""
_SHARE_AHEAD = 1 / 16
"""The share of one candidate's test that is scheduled ahead."""


class CandidateState(StrEnum):
    """The state of a candidate."""

    ACCEPTED = "accepted"
    DROPPED = "dropped"
    PLAYS = "plays"
    WAITS = "waits"
    STOPPED = "stopped"
    """It ended without a decision: it was withdrawn, it only repeated games, or the tournament ended."""


class Candidates:
    """Counters of the games of candidates, numbered from 0, against one base, and the schedule of their pairs."""

    def __init__(self, sprt: Sprt, number: int, most_pairs: int, scheduled: Iterable[int] = ()) -> None:
        """`most_pairs` is the limit of each candidate, `scheduled` the candidates of the pairs that are stored already.

        Raises SprtError without candidates, or if there are too many for this alpha.
        """
        own_test = sprt.of_each(number)
        self.matches = [MatchGames(own_test) for _ in range(number)]
        """Each candidate's counter, with the games that its test counts."""
        self.schedule = list(scheduled)
        """The candidate of each pair."""
        self.accepted: int | None = None
        """The candidate that is stronger than the base, if one was found."""
        self.last_out = 0
        """The candidate that was accepted or dropped last."""
        self._ahead = pairs_ahead(own_test)
        self._most_pairs = most_pairs
        self._scheduled = Counter(self.schedule)
        self._running = set(range(number))
        self._pairs = 0
        self._waiting: dict[int, MatchGame] = {}
        self._extend()

    @property
    def known(self) -> int:
        """Return the number of games in pairs without a gap from the first one on, up to the end of the test."""
        return 2 * self._pairs

    @property
    def over(self) -> bool:
        """Return whether a candidate was accepted, or none is left."""
        return self.accepted is not None or not self._running

    def state(self, candidate: int) -> CandidateState:
        """Return the state of a candidate."""
        if candidate == self.accepted:
            return CandidateState.ACCEPTED
        match = self.matches[candidate]
        if match.decided:
            return CandidateState.DROPPED
        if self.over or match.over or match.known == 2 * self._most_pairs:
            return CandidateState.STOPPED
        return CandidateState.PLAYS if candidate in self.schedule[self._pairs :] else CandidateState.WAITS

    def pairs_from(self, start: int) -> Iterator[tuple[int, int]]:
        """Yield the candidates of the scheduled pairs from this one on, with the number of its earlier pairs."""
        later = self.schedule[start:]
        before = self._scheduled - Counter(later)
        for candidate in later:
            yield candidate, before[candidate]
            before[candidate] += 1

    def add(self, games: Mapping[int, MatchGame]) -> None:
        """Add games by their slots, from 1, with the candidate's points. After the end of the test nothing changes."""
        waiting = self._waiting
        waiting.update({slot: game for slot, game in games.items() if slot > self.known})
        while not self.over and self.known + 1 in waiting and self.known + 2 in waiting:
            self._count(waiting.pop(self.known + 1), waiting.pop(self.known + 2))

    def _count(self, one: MatchGame, other: MatchGame) -> None:
        candidate = self.schedule[self._pairs]
        match = self.matches[candidate]
        self._pairs += 1
        if candidate in self._running:
            match.add({match.known + 1: one, match.known + 2: other})
            if match.over:
                self._running.discard(candidate)
                self.last_out = candidate
                if match.state is not None and match.state.decision is Decision.H1:
                    self.accepted = candidate
        if self._pairs % STEP == 0:
            self._extend()

    def _extend(self) -> None:
        while not self.over and len(self.schedule) < self._pairs + self._ahead:
            possible = [candidate for candidate in self._running if self._scheduled[candidate] < self._most_pairs]
            if not possible:
                return
            leader = min(possible, key=self._order)
            self.schedule.append(leader)
            self._scheduled[leader] += 1

    def _order(self, candidate: int) -> tuple[float, int, int]:
        state = self.matches[candidate].state
        return -state.llr if state else 0.0, self._scheduled[candidate], candidate


def pairs_ahead(sprt: Sprt) -> int:
    """Return the number of scheduled pairs that are not counted yet: a small share of a candidate's test.

    It depends on the test only, not on the machines, so that the same pairs follow everywhere.
    """
    steps = sprt.steps(_USUAL_SHARES)
    # Under both hypotheses the LLR moves by half of its variance with each pair.
    drift = sum(share * step**2 for share, step in zip(_USUAL_SHARES, steps, strict=True)) / 2
    ahead = round(-sprt.lower / drift * _SHARE_AHEAD / STEP)
    return STEP * max(_FEWEST_STEPS, min(ahead, _MOST_STEPS))
