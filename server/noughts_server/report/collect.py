"""Collect the content of a report in one pass over the games, in little memory."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from noughts_server.core.plain_text import printable
from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.match_games import MatchGame, MatchGames, MatchStatistics
from noughts_server.tables.about import About
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.tables.tally import Tally

MOST_FAULTS = 50
"""Limit of the games ended by a fault that the report shows in addition to the sample."""
_MOST_STEPS = 512
"""Limit of the steps of a match that are kept, apart from the last one."""


class ShownGame(NamedTuple):
    """A game that the report shows on a board."""

    number: int
    """Its position among the games, from 1."""
    game: RecordedGame


class Sample:
    """At most `most` games, evenly spread: each one whose number minus 1 is a multiple of `stride`.

    The stride is the smallest power of two that is enough. The first games that ended by a fault are added.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.stride = 1
        self._even: list[ShownGame] = []
        self._faults: list[ShownGame] = []

    def add(self, number: int, game: RecordedGame) -> None:
        if not self._most:
            return
        if game.by_fault and len(self._faults) < MOST_FAULTS:
            self._faults.append(ShownGame(number, game))
        if (number - 1) % self.stride:
            return
        self._even.append(ShownGame(number, game))
        while len(self._even) > self._most:
            self.stride *= 2
            self._even = self._even[::2]

    def games(self) -> list[ShownGame]:
        """Return the games in order, each once."""
        return [ShownGame(number, game) for number, game in sorted({**dict(self._even), **dict(self._faults)}.items())]


class MatchStep(NamedTuple):
    """The counts after a number of games."""

    games: int
    counts: tuple[int, ...]
    """The player's losses, draws, wins; or the five counts of pairs from LL to WW."""


class MatchCourse:
    """The counts of a match of two in its course, at up to some hundred steps, from the point of view of `label`.

    Two consecutive games with one opening and swapped sides are a pair. If all games are in pairs, pairs are counted,
    without repetitions (`statistics.match_games`). Otherwise single games are counted.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._is_paired = True
        """Whether all games so far are in pairs; the last one can wait for its partner."""
        self._games = 0
        self._single = [0, 0, 0]
        """The losses, draws and wins of single games."""
        self._pairs = MatchGames()
        self._single_steps = _ThinnedSteps()
        self._pair_steps = _ThinnedSteps()
        self._unpaired: RecordedGame | None = None
        """The last game, if its partner has not been played yet."""

    def add(self, game: RecordedGame) -> None:
        """Add the next game. Void games and games lost by a withdrawal do not count."""
        self._games += 1
        score = None if game.walkover else game.score
        if score is not None:
            score = score if game.first == self.label else 1 - score
            self._single[round(score * 2)] += 1
            self._single_steps.add(self._games, lambda: tuple(self._single))
        if not self._is_paired:
            return
        moves = None if game.by_fault else game.moves or None
        self._pairs.add({self._games: MatchGame(score, game.opening, moves)})
        partner = self._unpaired
        self._unpaired = None if self._games % 2 == 0 else game
        if partner is not None:
            self._is_paired = partner.first == game.second and partner.opening == game.opening
            self._pair_steps.add(self._games, lambda: tuple(self._pairs.statistics().pentanomial))

    def statistics(self) -> MatchStatistics:
        """Return the statistics of all games, as pairs or one by one."""
        if self._is_paired:
            return self._pairs.statistics()
        losses, draws, wins = self._single
        single = WinsDrawsLosses(wins, draws, losses)
        return MatchStatistics(
            pentanomial=Pentanomial(),
            single=single,
            repeats=0,
            games=sum(single),
            estimate=estimate(games=single),
            sprt=None,
        )

    @property
    def paired(self) -> bool:
        """Return whether pairs are counted: all games are in pairs, and there is one."""
        return self._is_paired and self._games > 1

    def steps(self) -> list[MatchStep]:
        """Return the steps, including the last."""
        return (self._pair_steps if self.paired else self._single_steps).steps()


class _ThinnedSteps:
    """A limited number of steps, evenly spread, and the last. Counts are computed only for steps that are kept."""

    def __init__(self) -> None:
        self._steps: list[MatchStep] = []
        self._stride = 1
        self._step_count = 0
        self._last: tuple[int, Callable[[], tuple[int, ...]]] | None = None

    def add(self, games: int, counts: Callable[[], tuple[int, ...]]) -> None:
        self._last = games, counts
        if self._step_count % self._stride == 0:
            self._steps.append(MatchStep(games, counts()))
            if len(self._steps) > _MOST_STEPS:
                self._steps = self._steps[::2]
                self._stride *= 2
        self._step_count += 1

    def steps(self) -> list[MatchStep]:
        if self._last is None or self._steps[-1].games == self._last[0]:
            return self._steps
        games, counts = self._last
        return [*self._steps, MatchStep(games, counts())]


class Collected(NamedTuple):
    """The content of a report."""

    title: str
    tally: Tally
    sample: Sample
    course: MatchCourse | None
    """None unless exactly two have played."""


def collect(title: str, games: Iterable[RecordedGame], *, most_games: int, about: About = About()) -> Collected:
    """Read the games once; `most_games` can be 0."""
    tally = Tally(about=about)
    sample = Sample(most_games)
    course: MatchCourse | None = None
    is_match = True
    for number, game in enumerate(map(_printable, games), start=1):
        course = course or MatchCourse(game.first)
        tally.add(game)
        sample.add(number, game)
        is_match = is_match and len(tally.labels) <= 2
        if is_match:
            course.add(game)
    return Collected(title, tally, sample, course if len(tally.labels) == 2 else None)


def _printable(game: RecordedGame) -> RecordedGame:
    """Return the game with texts that can be printed."""
    texts = (game.variant, game.first, game.second, game.termination, game.fault)
    if all(map(str.isprintable, texts)):
        return game
    variant, first, second, termination, fault = map(printable, texts)
    return replace(game, variant=variant, first=first, second=second, termination=termination, fault=fault)
