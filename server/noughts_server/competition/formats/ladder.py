"""Ladders: endless tournaments that pair the next encounter as soon as capacity is free.

These rules hold for all results and durations of games (`tests/server/competition/test_ladder.py`):

- A bot is in at most one encounter. It waits for an opponent while it is in none.
- Of the bots that wait, the one with the fewest encounters is next; among equals, the one that waits longest. So the
  least certain ratings come first. A bot is passed over only while no waiting bot is a possible opponent.
- Its opponent has a similar rating: the nearest of those with at most `WINDOW` encounters more than the lowest number
  among its possible opponents. Opponents of its last encounters count as farther away, so that neighbours take turns.
  Among equally near ones, the bot with the fewest encounters is chosen, then the one that waits longest.
- A bot never meets the opponent of its last encounter again unless no third bot exists. If no other opponent waits but
  some still play, it waits for one of them. If nothing is played and two bots are present, a pair is made.
- A bot with over `AHEAD` encounters more than a bot that plays waits for that one. But no bot waits for one that is
  delayed in an encounter during which the others had `HELD_UP` each, on average; when that one returns, it is behind by
  no more than a newcomer.
- A newcomer counts as having had `PLACEMENT` encounters fewer than the bots that are next (none, if they had fewer). It
  plays in the next encounter that is paired, after newcomers before it, and often until it has caught up.
- The bot of a pair begins that began fewer of its encounters, compared with its opponents.

Bisection finds the next bot, its neighbours and their places, so a pairing takes about the same time among ten bots and
ten thousand. Ratings here serve only for pairing and are not stored.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, islice

from noughts_server.competition.forecast import Forecast
from noughts_server.competition.formats.tournament_format import Endless, FormatSettings
from noughts_server.competition.pairing_batch import Encounter, Played

WINDOW = 2
"""The maximal number of encounters of an opponent above the lowest number among the possible opponents."""

PLACEMENT = 8
"""After this many encounters a newcomer is paired as rarely as the others."""

AHEAD = 16
"""A bot waits for playing bots that had over this many encounters fewer."""

HELD_UP = 6
"""A bot does not wait for bots in an encounter during which all others could have had this many.

With `PLACEMENT` it is less than `AHEAD`: no bot waits for one that is repeatedly delayed.
"""

_RECENT = 8
# Elo by which each of the last encounters with an opponent makes it seem farther away.
_FAMILIAR = 60.0
# Elo by which an opponent seems farther away that began too many (or too few) encounters, as this bot did.
_SAME_SIDE = 40.0
# Number of neighbours to try on either side, among those with the same number of encounters.
_NEIGHBOURS = 6
# Number of others to try, in order of their turns, if no neighbour is possible.
_OTHERS = 64


@dataclass(slots=True)
class _Bot:
    entry: int
    turn: int
    """The number of encounters that it counts as having had, including current ones."""
    rating: float = 0.0
    encounters: int = 0
    """Finished ones."""
    open: bool = False
    """Whether it is in an encounter."""
    balance: int = 0
    """Encounters that it began, minus those that opponents began."""
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT))
    """Opponents of the last encounters, latest last."""
    active: bool = True
    since: int = 0
    """When it began to wait, as an increasing number. 0: it does not wait."""
    held_up: bool = False

    @property
    def last(self) -> int | None:
        return self.recent[-1] if self.recent else None


@dataclass(slots=True)
class _Crowd:
    """Waiting bots with the same turn."""

    by_rating: list[tuple[float, int]] = field(default_factory=list)
    queue: list[tuple[int, int]] = field(default_factory=list)
    """A heap of (since, entry). It still has bots that left."""


class Ladder:
    """The waiting bots and their best opponents. Entries are numbers that never change, and none returns."""

    def __init__(self) -> None:
        self._bots: dict[int, _Bot] = {}
        self._active = 0
        self._began = 0
        self._open: dict[tuple[int, int], int] = {}
        """The numbers of open encounters by their entries."""
        self._oldest: deque[tuple[int, int, int]] = deque()
        """(number, first, second) of encounters that can still be open and are not delayed too long, oldest first."""
        self._playing: list[tuple[int, int]] = []
        """A heap of (turn, entry) of bots that play. It can still have bots that finished or are delayed too long."""
        self._level = 0
        """The most encounters that a bot had when its turn came."""
        self._clock = 0
        self._crowds: dict[int, _Crowd] = {}
        self._turns: list[int] = []
        """The turns of all crowds, in order."""

    @classmethod
    def rebuilt(
        cls, entries: Iterable[int], withdrawn: Iterable[int], history: Iterable[Played | Encounter]
    ) -> "Ladder":
        """Return the ladder after a restart, from all encounters in the order of pairing, with results if finished.

        Entries join as newcomers before their first encounter, or last.
        """
        ladder = cls()
        gone = frozenset(withdrawn)

        def come(entry: int) -> None:
            if entry not in ladder._bots:
                ladder.add(entry)
                if entry in gone:
                    ladder.withdraw(entry)

        for encounter in history:
            first, second = encounter.first, encounter.second
            come(first)
            come(second)
            ladder.began(first, second)
            if isinstance(encounter, Played):
                ladder.played(first, second, encounter.first_points, encounter.second_points)
        for entry in sorted(entries):
            come(entry)
        return ladder

    def add(self, entry: int) -> None:
        """Add a newcomer."""
        bot = self._bots[entry] = _Bot(entry, max(0, self._level - PLACEMENT))
        self._active += 1
        self._enter(bot)

    def withdraw(self, entry: int) -> None:
        """Withdraw an entry: it is not paired again. `played` can still report its current encounters."""
        bot = self._bots[entry]
        if bot.active:
            self._leave(bot)
            bot.active = False
            self._active -= 1

    def began(self, first: int, second: int) -> None:
        """Record that these two are paired; `first` begins."""
        one, other = self._bots[first], self._bots[second]
        self._level = max(self._level, min(one.turn, other.turn))
        for bot, opponent, side in ((one, other, 1), (other, one, -1)):
            self._leave(bot)
            bot.turn += 1
            bot.open = True
            bot.balance += side
            bot.recent.append(opponent.entry)
            heappush(self._playing, (bot.turn, bot.entry))
        self._began += 1
        self._open[first, second] = self._began
        self._oldest.append((self._began, first, second))

    def played(self, first: int, second: int, first_points: float, second_points: float) -> None:
        """Record that their encounter is over. Void games give no points."""
        one, other = self._bots[first], self._bots[second]
        total = first_points + second_points
        if total > 0:
            surprise = first_points / total - 1 / (1 + 10 ** ((other.rating - one.rating) / 400))
            one.rating += _step(one) * surprise
            other.rating -= _step(other) * surprise
        del self._open[first, second]
        for bot in (one, other):
            bot.encounters += 1
            bot.open = False
            if bot.held_up:
                bot.held_up = False
                bot.turn = max(bot.turn, self._level - PLACEMENT)
            self._enter(bot)

    def pair(self, count: int) -> list[Encounter]:
        """Begin up to `count` encounters, and return them; fewer if no more can begin until another one is over."""
        encounters: list[Encounter] = []
        while len(encounters) < count and (pair := self._next_pair()) is not None:
            one, other = self._sides(pair)
            self.began(one.entry, other.entry)
            encounters.append(Encounter(one.entry, other.entry))
        return encounters

    def _sides(self, pair: tuple[_Bot, _Bot]) -> tuple[_Bot, _Bot]:
        one, other = pair
        if one.balance == other.balance:
            return (one, other) if (one.turn + other.turn) % 2 else (other, one)
        return (one, other) if one.balance < other.balance else (other, one)

    def _next_pair(self) -> tuple[_Bot, _Bot] | None:
        least = self._least_playing()
        ceiling = self._turns[-1] if least is None and self._turns else (least or 0) + AHEAD
        for bot in self._by_turn():
            if bot.turn > ceiling:
                return None
            opponent = self._opponent_of(bot, ceiling)
            if opponent is not None:
                return bot, opponent
        return None

    def _least_playing(self) -> int | None:
        """Return the lowest turn of the bots that play and are not delayed too long."""
        patience = HELD_UP * self._active // 2
        while self._oldest:
            number, first, second = self._oldest[0]
            if self._open.get((first, second)) == number:
                if self._began - number < patience:
                    break
                self._bots[first].held_up = self._bots[second].held_up = True
            self._oldest.popleft()
        while self._playing:
            turn, entry = self._playing[0]
            bot = self._bots[entry]
            if bot.open and bot.active and not bot.held_up and bot.turn == turn:
                return turn
            heappop(self._playing)
        return None

    def _opponent_of(self, bot: _Bot, ceiling: int) -> _Bot | None:
        near: list[_Bot] = []
        for turn in self._turns:
            if turn > ceiling:
                break
            neighbours = list(self._neighbours(bot, self._crowds[turn]))
            if neighbours and not near:
                ceiling = min(ceiling, turn + WINDOW)
            near += neighbours
        if near:
            return min(near, key=lambda other: (self._distance(bot, other), other.turn, other.since))
        others = islice(self._by_turn(), _OTHERS)
        return next((other for other in others if other.turn <= ceiling and self._may_meet(bot, other)), None)

    def _neighbours(self, bot: _Bot, crowd: _Crowd) -> Iterator[_Bot]:
        place = bisect_left(crowd.by_rating, (bot.rating, bot.entry))
        below = range(place - 1, max(place - 1 - _NEIGHBOURS, -1), -1)
        above = range(place, min(place + _NEIGHBOURS, len(crowd.by_rating)))
        for index in chain(below, above):
            other = self._bots[crowd.by_rating[index][1]]
            if self._may_meet(bot, other):
                yield other

    def _may_meet(self, one: _Bot, other: _Bot) -> bool:
        if one is other:
            return False
        return self._active == 2 or (one.last != other.entry and other.last != one.entry)

    def _distance(self, one: _Bot, other: _Bot) -> float:
        familiar = one.recent.count(other.entry) + other.recent.count(one.entry)
        same_side = min(abs(one.balance), abs(other.balance)) if one.balance * other.balance > 0 else 0
        return abs(one.rating - other.rating) + _FAMILIAR * familiar + _SAME_SIDE * same_side

    def _by_turn(self) -> Iterator[_Bot]:
        """Yield all waiting bots, by turn and waiting time. The ladder must not change meanwhile."""
        for turn in self._turns:
            crowd = self._crowds[turn]
            seen: list[tuple[int, int]] = []
            try:
                while crowd.queue:
                    since, entry = heappop(crowd.queue)
                    bot = self._bots[entry]
                    # The other items left; some have returned since.
                    if (bot.since, bot.turn) == (since, turn):
                        seen.append((since, entry))
                        yield bot
            finally:
                for item in seen:
                    heappush(crowd.queue, item)

    def _enter(self, bot: _Bot) -> None:
        if not bot.active or bot.open:
            return
        self._clock += 1
        bot.since = self._clock
        crowd = self._crowds.get(bot.turn)
        if crowd is None:
            crowd = self._crowds[bot.turn] = _Crowd()
            insort(self._turns, bot.turn)
        insort(crowd.by_rating, (bot.rating, bot.entry))
        heappush(crowd.queue, (bot.since, bot.entry))

    def _leave(self, bot: _Bot) -> None:
        if not bot.since:
            return
        bot.since = 0
        crowd = self._crowds[bot.turn]
        del crowd.by_rating[bisect_left(crowd.by_rating, (bot.rating, bot.entry))]
        if not crowd.by_rating:
            del self._crowds[bot.turn]
            del self._turns[bisect_left(self._turns, bot.turn)]


def _step(bot: _Bot) -> float:
    """Return the Elo for each point of surprise in a score: large at first, then that of a settled rating."""
    return max(24.0, 320.0 / (bot.encounters + 2))


class LadderFormat(Endless):
    """Bots with similar ratings meet until the tournament is stopped."""

    number = 5
    title = "Ladder"
    summary = "bots with similar ratings meet until it is stopped"

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        return Forecast(entries, None, None, None, (entries // 2 * settings.games_per_pair,))


LADDER = LadderFormat()
