"""Test several candidates against one base: find a stronger one in few games.

All candidates play pairs against the base only. Each has an SPRT of its own, with alpha divided by their number. The
next pair belongs to the candidate with the highest LLR, so that candidates behind wait. A candidate whose test accepts
H0 is dropped. The first candidate whose test accepts H1 ends all.

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

from collections.abc import Mapping, Sequence
from dataclasses import replace

from noughts_server.statistics.match_games import MatchGame, MatchGames
from noughts_server.statistics.sprt import Decision, Sprt, SprtError


class Candidates:
    """Counters of the games of candidates, numbered from 0, against one base."""

    def __init__(self, sprt: Sprt, number: int) -> None:
        """Raises SprtError without candidates, or if there are too many for this alpha."""
        if number < 1:
            raise SprtError(f"{number} candidates", "1 or more")
        each = replace(sprt, alpha=sprt.alpha / number)
        self._matches = [MatchGames(each) for _ in range(number)]
        self._waiting: list[dict[int, MatchGame]] = [{} for _ in range(number)]

    @property
    def matches(self) -> Sequence[MatchGames]:
        """Return each candidate's counter, with the games that the test counts."""
        return self._matches

    @property
    def accepted(self) -> int | None:
        """Return the candidate that is stronger than the base, if one was found."""
        found = (number for number, match in enumerate(self._matches) if _decision(match) is Decision.H1)
        return next(found, None)

    @property
    def order(self) -> list[int]:
        """Return the undecided candidates; empty at the end of the test.

        The next pair in the schedule belongs to the first of them. A server that plays games ahead of the schedule
        starts with the front ones.
        """
        if self.accepted is not None:
            return []
        going = [number for number, match in enumerate(self._matches) if not match.over]
        return sorted(going, key=lambda number: (-_llr(self._matches[number]), self._matches[number].known))

    def add(self, candidate: int, games: Mapping[int, MatchGame]) -> None:
        """Add a candidate's games by their slots, from 1. After the end of the test nothing changes.

        Games arrive in any order. They count pair by pair in the order of the schedule, so the result does not depend
        on which games end first.
        """
        self._waiting[candidate].update(games)
        while order := self.order:
            match, waiting = self._matches[order[0]], self._waiting[order[0]]
            pair = match.known + 1, match.known + 2
            if not all(slot in waiting for slot in pair):
                return
            match.add({slot: waiting.pop(slot) for slot in pair})


def _decision(match: MatchGames) -> Decision | None:
    return match.state and match.state.decision


def _llr(match: MatchGames) -> float:
    return match.state.llr if match.state else 0.0
