"""The games of a match as its statistics count them: pairs in slot order, and what was only a repetition.

Sides alternate, so games 2j - 1 and 2j are a pair: one opening, the sides swapped. Games come in any order; what is
counted is the longest row of pairs from the first on without a gap. A test that looked at games as they end would see
short ones first, which may be one player's wins.

Two deterministic players play one game whenever they begin alike: playing it again tells nothing, so it counts once.
Where chance is at work the same start leads to several games. Then each is a sample of its own, also one that happens
to equal another, so a pair is a repetition only where all pairs from its opening were the same so far.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from noughts_server.statistics.estimate import Estimate, Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.sprt import Decision, Sprt, SprtState

_IDLE_PAIRS = 50
"""So many pairs in a row, at least, that only repeat others say that all will."""


class MatchGame(NamedTuple):
    """A game as it counts."""

    points: float | None
    """Those of the match's first player: 1, 0.5 or 0; None for a void game."""
    opening: Hashable = ""
    """What it began with."""
    moves: Hashable | None = None
    """What would be the same if it were played again; None where a repetition could not be told, as of a crash."""


class _Played(NamedTuple):
    """Pairs from one opening that were all the same so far."""

    moves: Hashable
    points: float
    times: int


_NEVER = _Played((), 0.0, 0)
"""What was played from an opening that had no pair yet."""


@dataclass(frozen=True, slots=True)
class MatchStatistics:
    """What the games of a match say."""

    pentanomial: Pentanomial
    single: WinsDrawsLosses
    """Games that are in no pair."""
    repeats: int
    """Games that only repeated others; they are counted nowhere here."""
    games: int
    """All games with a result that were looked at, `repeats` included."""
    estimate: Estimate
    sprt: SprtState | None
    """How the test stands, if there is one; after a decision as it was decided."""


class MatchGames:
    """Takes the games of a match one by one, and judges by `sprt` after each pair, if there is a test."""

    def __init__(self, sprt: Sprt | None = None) -> None:
        self.sprt = sprt
        self._state: SprtState | None = None
        if sprt is not None:
            sprt.judge((1,) * 5)  # loads SciPy now: not between two moves
            self._state = sprt.judge((0,) * 5)
        self._waiting: dict[int, MatchGame] = {}
        self._next = 1
        self._counts = [0] * 5
        self._single = [0, 0, 0]
        self._repeats = 0
        self._idle = 0
        """Pairs since the last that was no repetition."""
        self._games = 0
        # By opening: what all pairs from there were, or None where they differ.
        self._same: dict[Hashable, _Played | None] = {}

    @property
    def state(self) -> SprtState | None:
        """How the test stands; after a decision as it was decided."""
        return self._state

    @property
    def decided(self) -> bool:
        """Whether the test has accepted one of its hypotheses."""
        return self._state is not None and self._state.decision is not Decision.CONTINUE

    @property
    def over(self) -> bool:
        """Whether a test has ended the match."""
        return self.decided or self.exhausted

    @property
    def known(self) -> int:
        """How many games were taken from the first on without a gap; after the end of a test those until then."""
        return self._next - 1 + (not self.over and self._next in self._waiting)

    @property
    def exhausted(self) -> bool:
        """Whether a test will never be decided: for twice as many pairs as there were openings, all only repeat.

        Those of a book in random order have all been met by then, nearly for certain.
        """
        return self.sprt is not None and not self.decided and self._idle >= max(_IDLE_PAIRS, 2 * len(self._same))

    def add(self, ordinal: int, game: MatchGame) -> None:
        """Takes the game of this slot, from 1. After a test has ended nothing changes."""
        if ordinal < self._next or self.over:
            return
        waiting = self._waiting
        waiting[ordinal] = game
        if not self._next <= ordinal <= self._next + 1:
            return
        while self._next in waiting and self._next + 1 in waiting and not self.over:
            one, other = waiting.pop(self._next), waiting.pop(self._next + 1)
            self._next += 2
            if self._take(one, other) and self.sprt is not None:
                self._state = self.sprt.judge(self._counts)

    def statistics(self) -> MatchStatistics:
        """What all games say that were taken; with a test that has ended, those until then."""
        single, repeats, games = list(self._single), self._repeats, self._games
        if not self.over:
            for ordinal in sorted(self._waiting):
                game = self._waiting[ordinal]
                games += game.points is not None
                if self._repeated(ordinal, game):
                    repeats += 1
                else:
                    _count_single(single, game)
        pairs, alone = Pentanomial(*self._counts), WinsDrawsLosses(*single)
        return MatchStatistics(pairs, alone, repeats, games, estimate(pairs, alone), self._state)

    def _take(self, one: MatchGame, other: MatchGame) -> bool:
        """Counts a pair; returns whether the counts of pairs have changed."""
        self._games += (one.points is not None) + (other.points is not None)
        if one.points is None or other.points is None:
            _count_single(self._single, one)
            _count_single(self._single, other)
            return False
        points = one.points + other.points
        if one.moves is None or other.moves is None:
            self._count(points)
            return True
        before = self._same.get(one.opening, _NEVER)
        if before is _NEVER:
            self._same[one.opening] = _Played((one.moves, other.moves), points, 1)
        elif before is not None:
            moves = one.moves, other.moves
            if before.moves == moves:
                self._same[one.opening] = before._replace(times=before.times + 1)
                self._repeats += 2
                self._idle += 1
                return False
            # Chance is at work: what seemed to be repetitions were samples as well.
            self._same[one.opening] = None
            self._repeats -= 2 * (before.times - 1)
            self._count(before.points, before.times - 1)
        self._count(points)
        return True

    def _count(self, points: float, times: int = 1) -> None:
        self._counts[round(points * 2)] += times
        self._idle = 0

    def _repeated(self, ordinal: int, game: MatchGame) -> bool:
        """Whether a game without its partner repeats that half of the pairs from its opening."""
        played = self._same.get(game.opening)
        if played is None or game.moves is None or not isinstance(played.moves, tuple):
            return False
        return bool(played.moves[(ordinal - 1) % 2] == game.moves)


def _count_single(single: list[int], game: MatchGame) -> None:
    if game.points is not None:
        single[round((1 - game.points) * 2)] += 1
