"""What a report is made of, gathered in one pass over the games: little is kept of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from noughts_referee.rules import FAULTS
from noughts_server.tables.game_record import GameRecord
from noughts_server.tables.tally import Tally

MOST_FAULTS = 50
"""Games that ended by a fault which are shown whatever their number."""
_FAULTS = frozenset(str(fault) for fault in FAULTS)
_POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
_MOST_STEPS = 512


class ShownGame(NamedTuple):
    """A game that is in the page."""

    number: int
    """Its place among the games, from 1."""
    game: GameRecord


class Sample:
    """At most so many games, evenly spread over however many come: each one whose number minus 1 divides by `stride`.

    The stride is the smallest power of two that leaves few enough. Besides, the first games that ended by a fault.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.stride = 1
        self._even: list[ShownGame] = []
        self._faults: list[ShownGame] = []

    def add(self, number: int, game: GameRecord) -> None:
        """Keeps the game or not."""
        if not self._most:
            return
        if game.termination in _FAULTS and len(self._faults) < MOST_FAULTS:
            self._faults.append(ShownGame(number, game))
        if (number - 1) % self.stride:
            return
        self._even.append(ShownGame(number, game))
        while len(self._even) > self._most:
            self.stride *= 2
            self._even = self._even[::2]

    def games(self) -> list[ShownGame]:
        """In their order, each once."""
        return [ShownGame(number, game) for number, game in sorted({**dict(self._even), **dict(self._faults)}.items())]


class MatchStep(NamedTuple):
    """How a match of two stood after some games."""

    games: int
    counts: tuple[int, ...]
    """Of the player in question: losses, draws, wins; or the five counts of pairs from LL to WW."""


class MatchCourse:
    """How a match of two went, at no more than some hundred moments, from the point of view of `label`.

    Two games that follow each other and have one opening and swapped sides are a pair. If all the games are (the last
    one may be alone), pairs are counted, else games.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.paired = True
        self._three, self._five = [0, 0, 0], [0, 0, 0, 0, 0]
        self._trinomial: _Thinned = _Thinned()
        self._pentanomial: _Thinned = _Thinned()
        self._games = 0
        self._waiting: tuple[str, tuple[int, ...], float] | None = None

    def add(self, game: GameRecord) -> None:
        """The next game. Void ones count nowhere, but leave their partner without a pair."""
        self._games += 1
        score = _POINTS.get(game.result)
        if score is None:
            self.paired = False
            return
        own = score if game.first == self.label else 1 - score
        self._three[round(own * 2)] += 1
        self._trinomial.add(MatchStep(self._games, tuple(self._three)))
        opening = tuple(game.opening)
        if self._waiting is None:
            self._waiting = (game.first, opening, own)
            return
        first, same, before = self._waiting
        self._waiting = None
        if first == game.first or opening != same:
            self.paired = False
            return
        self._five[round((own + before) * 2)] += 1
        self._pentanomial.add(MatchStep(self._games, tuple(self._five)))

    @property
    def alone(self) -> tuple[int, int, int]:
        """Losses, draws and wins of the games that belong to no pair: all where pairs are not counted."""
        if not self.paired:
            return self._three[0], self._three[1], self._three[2]
        left = [0, 0, 0]
        if self._waiting is not None:
            left[round(self._waiting[2] * 2)] = 1
        return left[0], left[1], left[2]

    @property
    def pairs(self) -> tuple[int, ...]:
        """The counts of pairs from LL to WW; none where pairs are not counted."""
        return tuple(self._five) if self.paired else (0,) * 5

    def steps(self) -> list[MatchStep]:
        """The moments, the last one among them."""
        return (self._pentanomial if self.paired else self._trinomial).steps()


class _Thinned:
    """At most so many steps, evenly spread, and the last."""

    def __init__(self) -> None:
        self._steps: list[MatchStep] = []
        self._stride, self._seen = 1, 0
        self._last: MatchStep | None = None

    def add(self, step: MatchStep) -> None:
        self._last = step
        if self._seen % self._stride == 0:
            self._steps.append(step)
            if len(self._steps) > _MOST_STEPS:
                self._steps = self._steps[::2]
                self._stride *= 2
        self._seen += 1

    def steps(self) -> list[MatchStep]:
        if self._last is None or self._steps[-1] == self._last:
            return self._steps
        return [*self._steps, self._last]


class Collected(NamedTuple):
    """Everything that a report shows."""

    title: str
    tally: Tally
    sample: Sample
    course: MatchCourse | None
    """None unless exactly two have played."""


def collect(
    title: str,
    games: Iterable[GameRecord],
    *,
    most_games: int,
    byes: Mapping[str, float] | None = None,
    order: Sequence[str] | None = None,
) -> Collected:
    """Reads the games once. `byes` and `order` are those of `ranked`; `most_games` may be 0."""
    tally, sample = Tally(byes=byes, order=order), Sample(most_games)
    course: MatchCourse | None = None
    for number, game in enumerate(map(_printable, games), start=1):
        course = course or MatchCourse(game.first)
        tally.add(game)
        sample.add(number, game)
        if len(tally.labels) <= 2:
            course.add(game)
    return Collected(title, tally, sample, course if len(tally.labels) == 2 else None)


def printable(text: str) -> str:
    """Without control characters and lone surrogates, which no page may hold."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _printable(game: GameRecord) -> GameRecord:
    texts = (game.variant, game.first, game.second, game.termination, game.fault)
    if all(map(str.isprintable, texts)):
        return game
    variant, first, second, termination, fault = map(printable, texts)
    return game._replace(variant=variant, first=first, second=second, termination=termination, fault=fault)


def faults_of(shown: Iterable[ShownGame]) -> Iterator[ShownGame]:
    """Those that ended by a fault."""
    return (each for each in shown if each.game.termination in _FAULTS)
