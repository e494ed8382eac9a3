"""The games of a match as its statistics count them: pairs in slot order, without repetitions.

Sides alternate, so games 2j - 1 and 2j are a pair: one opening, the sides swapped. Games arrive in any order; the
statistics count the longest run of pairs without a gap from the first one on. A test that counted games as they end
would count short ones first, which can be one player's wins.

Two deterministic players play the same game whenever they start alike. A repetition contains no information, so such a
game counts once. With randomness, the same start leads to several games. Then each is a separate sample, even if it
happens to equal another. So a pair is a repetition only if all pairs from its opening were the same so far.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from noughts_referee.rules import FAULTS, Result, Termination, parse_variant
from noughts_referee.work_units import FinishedGame, bytes_of_a_move
from noughts_server.statistics.estimate import Estimate, Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.sprt import Decision, Sprt, SprtState

_MOST_POINTS = 256
"""Limit of the points of the chart. With more, every second one is removed."""
_IDLE_PAIRS = 50
"""After at least this many consecutive repetitions, all further pairs are expected to be repetitions."""

_MANY_REPEATS = 20
"""From this number of repeated games on, and a quarter of all, a match counts as repeating."""


class MatchGame(NamedTuple):
    """The part of a game that the statistics of a match use."""

    points: float | None
    """The points of the match's first player: 1, 0.5 or 0; None for a void game."""
    opening: Hashable = ""
    moves: Hashable | None = None
    """The part that a repetition has in common; None if it cannot be recognised, e.g. after a crash."""


WALKOVER = MatchGame(None, "walkover")
"""A game that was lost because a player is withdrawn. It says nothing about strength."""

# By result: the points of the side that moved first, and of the other.
_POINTS: dict[int, tuple[float | None, float | None]] = {
    Result.FIRST_WINS: (1.0, 0.0),
    Result.DRAW: (0.5, 0.5),
    Result.SECOND_WINS: (0.0, 1.0),
    Result.VOID: (None, None),
}


def match_game(
    result: int, termination: int, side: int, moves: bytes, opening: bytes, fault: str | None = None
) -> MatchGame:
    """Return a stored game as it counts for the player on a side, 0 or 1; `opening` has the first of the moves.

    An adjudicated game with a fault was lost by a withdrawal; one without was ended by a rule, and counts. A game that
    ended by a fault is never a repetition, because a crash or a late move would not happen again alike.
    """
    if termination == Termination.ADJUDICATED and (fault or not moves):
        return WALKOVER
    return MatchGame(_POINTS[result][side], opening, None if termination in FAULTS else moves)


def counted_game(game: FinishedGame, variant: str, base: int | None) -> MatchGame:
    """Return a stored game as it counts for the opponent of the entry `base`."""
    opening = opening_of(game, variant)
    return match_game(game.result, game.termination, game.first == base, game.moves, opening, game.fault)


def opening_of(game: FinishedGame, variant: str) -> bytes:
    """Return the moves that were given when the game began; stones by agreement are the bots' own."""
    if not game.opening_plies:
        return b""
    rules = parse_variant(variant)
    return game.moves[: rules.given_plies(game.opening_plies) * bytes_of_a_move(rules.cells)]


class _SameGames(NamedTuple):
    """Pairs from one opening that were all the same so far."""

    moves: Hashable
    points: float
    times: int


_NEVER = _SameGames((), 0.0, 0)
"""The value for an opening without a pair."""


@dataclass(frozen=True, slots=True)
class MatchStatistics:
    """The counts of a match and what follows from them."""

    pentanomial: Pentanomial
    single: WinsDrawsLosses
    """Games outside pairs."""
    repeats: int
    """Games that only repeated others, which no other count includes."""
    games: int
    """All games with a result, including `repeats`."""
    estimate: Estimate
    sprt: SprtState | None
    """The state of the test, if there is one; after its decision, the state at that time."""


class MatchGames:
    """A counter of the games of a match, which judges by `sprt`, if given, after each pair."""

    def __init__(self, sprt: Sprt | None = None) -> None:
        self.sprt = sprt
        self._state: SprtState | None = None
        if sprt is not None:
            sprt.judge((1,) * 5)  # loads SciPy now and not between two moves
            self._state = sprt.judge((0,) * 5)
        self.course: list[tuple[int, float]] = []
        """The LLR after numbers of pairs at equal distances, which double whenever there are too many points."""
        self._step = 1
        self._waiting: dict[int, MatchGame] = {}
        self._next = 1
        self._counts = [0] * 5
        self._single = [0, 0, 0]
        self._repeats = 0
        self._repeats_in_a_row = 0
        """Consecutive repetitions up to the last pair."""
        self._games = 0
        self.walked_over = False
        """Whether a game counted for a player because the other one was withdrawn."""
        # By opening: the content of all pairs from it, or None if they differ.
        self._same: dict[Hashable, _SameGames | None] = {}

    @property
    def state(self) -> SprtState | None:
        """Return the state of the test; after its decision, the state at that time."""
        return self._state

    @property
    def decided(self) -> bool:
        """Return whether the test has accepted one of its hypotheses."""
        return self._state is not None and self._state.decision is not Decision.CONTINUE

    @property
    def over(self) -> bool:
        """Return whether the test has ended the match."""
        return self.sprt is not None and (self.decided or self.exhausted)

    @property
    def known(self) -> int:
        """Return the number of games without a gap from the first one on, up to the end of the test."""
        return self._next - 1 + (not self.over and self._next in self._waiting)

    @property
    def exhausted(self) -> bool:
        """Return whether the test cannot be decided: after a walkover, or if further pairs only repeat others."""
        return self.sprt is not None and not self.decided and (self.walked_over or self.out_of_games)

    @property
    def out_of_games(self) -> bool:
        """Return whether twice as many pairs were repeated as there are openings.

        By then a random order has almost certainly used all openings of a book.
        """
        return self._repeats_in_a_row >= max(_IDLE_PAIRS, 2 * len(self._same))

    @property
    def repeating(self) -> bool:
        """Return whether enough games are repetitions to tell the user."""
        return self._repeats >= max(_MANY_REPEATS, self._games // 4)

    def add(self, games: Mapping[int, MatchGame]) -> None:
        """Add games by their slots, from 1. After the end of the test nothing changes."""
        waiting = self._waiting
        for ordinal, game in games.items():
            if ordinal >= self._next:
                waiting[ordinal] = game
        while self._next in waiting and self._next + 1 in waiting and not self.over:
            one, other = waiting.pop(self._next), waiting.pop(self._next + 1)
            self._next += 2
            if self._count_pair(one, other) and self.sprt is not None:
                self._state = self.sprt.judge(self._counts)
                self._add_to_course(self._state.llr)

    def statistics(self) -> MatchStatistics:
        """Return the statistics of all added games, up to the end of the test."""
        single = list(self._single)
        repeats = self._repeats
        games = self._games
        if not self.over:
            for ordinal in sorted(self._waiting):
                game = self._waiting[ordinal]
                if game.points is not None:
                    games += 1
                if self._is_repetition(ordinal, game):
                    repeats += 1
                else:
                    _count_single(single, game)
        pairs = Pentanomial(*self._counts)
        single_games = WinsDrawsLosses(*single)
        return MatchStatistics(
            pentanomial=pairs,
            single=single_games,
            repeats=repeats,
            games=games,
            estimate=estimate(pairs, single_games),
            sprt=self._state,
        )

    def _count_pair(self, one: MatchGame, other: MatchGame) -> bool:
        """Count a pair; return whether the counts of pairs have changed."""
        for game in (one, other):
            if game.points is not None:
                self._games += 1
        if one.points is None or other.points is None:
            if WALKOVER in (one, other):
                self.walked_over = True
            _count_single(self._single, one)
            _count_single(self._single, other)
            return False
        points = one.points + other.points
        if one.moves is None or other.moves is None:
            self._count(points)
            return True
        earlier = self._same.get(one.opening, _NEVER)
        if earlier is _NEVER:
            self._same[one.opening] = _SameGames((one.moves, other.moves), points, 1)
        elif earlier is not None:
            moves = one.moves, other.moves
            if earlier.moves == moves:
                self._same[one.opening] = earlier._replace(times=earlier.times + 1)
                self._repeats += 2
                self._repeats_in_a_row += 1
                return False
            # The games are random, so apparent repetitions were samples as well.
            self._same[one.opening] = None
            self._repeats -= 2 * (earlier.times - 1)
            self._count(earlier.points, earlier.times - 1)
        self._count(points)
        return True

    def _add_to_course(self, llr: float) -> None:
        """Add the LLR after the last pair to the course, if the pair is far enough from the last point."""
        pairs = sum(self._counts)
        if pairs >= self._step + (self.course[-1][0] if self.course else 0):
            self.course.append((pairs, round(llr, 3)))
            if len(self.course) > _MOST_POINTS:
                self.course = self.course[1::2]
                self._step = 2 * self._step

    def _count(self, points: float, times: int = 1) -> None:
        """Count pairs with these points of the first player, 0 to 2."""
        self._counts[round(points * 2)] += times
        self._repeats_in_a_row = 0

    def _is_repetition(self, ordinal: int, game: MatchGame) -> bool:
        """Return whether a game without its partner repeats that half of the pairs from its opening."""
        same_pairs = self._same.get(game.opening)
        if same_pairs is None or game.moves is None or not isinstance(same_pairs.moves, tuple):
            return False
        return bool(same_pairs.moves[(ordinal - 1) % 2] == game.moves)


def _count_single(single: list[int], game: MatchGame) -> None:
    if game.points is not None:
        single[round((1 - game.points) * 2)] += 1
