"""Ladders: tournaments without an end, in which each encounter is paired when there is room for one.

What holds, whatever the results are and however long games take (`tests/server/competition/test_ladder.py`):

- A bot is in `busy` encounters at most. It waits for an opponent while it is in fewer.
- The turn is that of the bot that had the fewest encounters among those that wait; of equals, the one that waits
  longest. So the ratings that are least certain come first. It is passed over only while it may meet nobody who waits.
- It meets a bot of about its own rating: the nearest of those that had `WINDOW` encounters more at most than the least
  of those whom it may meet. Opponents of its last encounters count as farther away, so that neighbours take turns.
- Nobody meets the opponent of its last encounter, unless no third bot is there at all. Where no other opponent waits
  but some still play, it waits for one of them. While nothing is played and two bots are there, somebody is paired.
- Nobody is paired who had over `AHEAD` encounters more than a bot that plays: it waits for that one. But nobody waits
  for a bot that is held up in an encounter during which the others had `HELD_UP` each, on average; when it comes
  back, it is behind by no more than a newcomer.
- A newcomer counts as having had `PLACEMENT` encounters less than those whose turn it is (none, if they had fewer): it
  plays in the next encounter that is paired, after newcomers before it, and soon again until it has caught up.
- The one of a pair who began fewer encounters so far, less those of the opponents, begins.

The bot whose turn it is, its neighbours and their places are found by bisection: a pairing takes the same time, about,
among ten bots and ten thousand. Ratings here are for pairing only and kept nowhere: a fit or the rated list say who is
stronger.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, islice
from typing import NamedTuple

from noughts_server.competition.forecast import Forecast
from noughts_server.competition.formats.tournament_format import Endless, FormatSettings
from noughts_server.competition.pairing_batch import Encounter, Played

WINDOW = 2
"""An opponent had so many encounters more, at most, than the least of those whom one may meet."""

PLACEMENT = 8
"""A newcomer plays so many encounters before its turn comes as seldom as that of the others."""

AHEAD = 16
"""One waits for those who play and had over so many encounters less."""

HELD_UP = 6
"""One does not wait for those in whose encounter everybody else could have had so many.

With `PLACEMENT` it is less than `AHEAD`: nobody waits for a bot that is held up time and again.
"""

_RECENT = 8
# Elo by which each of the last encounters with an opponent makes it seem farther away.
_FAMILIAR = 60.0
# Elo by which an opponent seems farther away who began too many encounters, or too few, like oneself.
_SAME_SIDE = 40.0
# Neighbours looked at on either side, among those with the same number of encounters.
_NEIGHBOURS = 6
# If none of them may be met, others are looked at in order of their turns.
_OTHERS = 64


@dataclass(slots=True)
class _Bot:
    entry: int
    turn: int
    """How many encounters it counts as having had; those that are played included."""
    rating: float = 0.0
    encounters: int = 0
    """Those that are over."""
    open: int = 0
    balance: int = 0
    """Encounters that it began, less those that opponents did."""
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT))
    """Opponents of the last encounters; the latest last."""
    active: bool = True
    since: int = 0
    """When it began to wait, in numbers that only grow. 0: it does not wait."""
    held_up: bool = False

    @property
    def last(self) -> int | None:
        return self.recent[-1] if self.recent else None


class _Crowd:
    """Those who wait and have the same turn."""

    __slots__ = ("by_rating", "queue")

    def __init__(self) -> None:
        self.by_rating: list[tuple[float, int]] = []
        self.queue: list[tuple[int, int]] = []
        """A heap of (since, entry). Those who left are still in it."""


class _Before(NamedTuple):
    """What an encounter changes in a bot, as it was."""

    turn: int
    balance: int
    recent: tuple[int, ...]
    since: int


class Ladder:
    """Who waits, and who should meet whom. Entries are numbers that never change; who asks keeps the encounters.

    `pairs` proposes and changes nothing; `began` says that an encounter was stored, `played` that it is over.
    """

    def __init__(self, *, busy: int = 1) -> None:
        if busy < 1:
            raise ValueError(f"a bot can be in 1 encounter or more at once, got {busy}")
        self._busy = busy
        self._bots: dict[int, _Bot] = {}
        self._active = 0
        self._began = 0
        """The number of the last encounter that began."""
        self._open: dict[tuple[int, int], deque[int]] = {}
        """The numbers of those that are open, by who plays; the oldest first."""
        self._oldest: deque[tuple[int, int, int]] = deque()
        """(number, first, second) of those that may be open and are not held up, the oldest first."""
        self._playing: list[tuple[int, int]] = []
        """A heap of (turn, entry) of those that play. Those who came back or are held up may still be in it."""
        self._level = 0
        """The most encounters that a bot had when its turn came."""
        self._clock = 0
        self._crowds: dict[int, _Crowd] = {}
        self._turns: list[int] = []
        """The turns of all crowds, in order."""

    @classmethod
    def rebuilt(
        cls,
        entries: Iterable[int],
        withdrawn: Iterable[int],
        history: Iterable[Played | Encounter],
        *,
        starters: int = 0,
        busy: int = 1,
    ) -> "Ladder":
        """The ladder after a restart: of every encounter in the order of pairing, what came of it or that it is open.

        Entries below `starters` were there from the beginning, others come as newcomers before their first encounter,
        or last.
        """
        ladder, gone, members = cls(busy=busy), frozenset(withdrawn), sorted(entries)

        def come(entry: int) -> None:
            if entry not in ladder._bots:
                ladder.add(entry)
                if entry in gone:
                    ladder.withdraw(entry)

        for entry in members:
            if entry < starters:
                come(entry)
        for encounter in history:
            first, second = (encounter.first, encounter.second)
            come(first)
            come(second)
            ladder.began(first, second)
            if isinstance(encounter, Played):
                ladder.played(first, second, encounter.first_points, encounter.second_points)
        for entry in members:
            come(entry)
        return ladder

    @property
    def open(self) -> int:
        """Encounters that began and are not over."""
        return sum(map(len, self._open.values()))

    def add(self, entry: int) -> None:
        """A newcomer, or one that was withdrawn and comes back. Raises ValueError if it is there."""
        bot = self._bots.get(entry)
        turn = max(0, self._level - PLACEMENT)
        if bot is None:
            bot = self._bots[entry] = _Bot(entry, turn)
        elif bot.active:
            raise ValueError(f"entry {entry} is on the ladder already")
        else:
            bot.turn = max(bot.turn, turn)
            bot.active = True
        self._active += 1
        self._enter(bot)

    def withdraw(self, entry: int) -> None:
        """It is not paired again. What it plays now may still be told of by `played`."""
        bot = self._bots[entry]
        if bot.active:
            self._leave(bot)
            bot.active = False
            self._active -= 1

    def began(self, first: int, second: int) -> None:
        """These two are paired; `first` begins."""
        one, other = self._bots[first], self._bots[second]
        self._level = max(self._level, min(one.turn, other.turn))
        self._begin(one, other)
        self._began += 1
        self._open.setdefault((first, second), deque()).append(self._began)
        self._oldest.append((self._began, first, second))
        for bot in (one, other):
            heappush(self._playing, (bot.turn, bot.entry))

    def played(self, first: int, second: int, first_points: float, second_points: float) -> None:
        """Their encounter is over. Points of void games are nobody's."""
        one, other = self._bots[first], self._bots[second]
        for bot in (one, other):
            self._leave(bot)
        total = first_points + second_points
        if total > 0:
            surprise = first_points / total - 1 / (1 + 10 ** ((other.rating - one.rating) / 400))
            one.rating += _step(one) * surprise
            other.rating -= _step(other) * surprise
        numbers = self._open[first, second]
        numbers.popleft()
        if not numbers:
            del self._open[first, second]
        for bot in (one, other):
            bot.encounters += 1
            bot.open -= 1
            if bot.held_up:
                bot.held_up = False
                bot.turn = max(bot.turn, self._level - PLACEMENT)
            self._enter(bot)

    def pairs(self, count: int) -> list[Encounter]:
        """So many encounters that can begin now, or fewer: then nothing more can until another one is over."""
        found: list[Encounter] = []
        taken: list[tuple[_Bot, _Before]] = []
        while len(found) < count and (pair := self._next_pair()) is not None:
            one, other = self._sides(*pair)
            taken += [(bot, _Before(bot.turn, bot.balance, tuple(bot.recent), bot.since)) for bot in (one, other)]
            self._begin(one, other)
            found.append(Encounter(one.entry, other.entry))
        for bot, before in reversed(taken):
            self._leave(bot)
            bot.turn, bot.balance = before.turn, before.balance
            bot.recent.clear()
            bot.recent.extend(before.recent)
            bot.open -= 1
            self._enter(bot, before.since)
        return found

    def _begin(self, one: _Bot, other: _Bot) -> None:
        for bot, opponent, side in ((one, other, 1), (other, one, -1)):
            self._leave(bot)
            bot.turn += 1
            bot.open += 1
            bot.balance += side
            bot.recent.append(opponent.entry)
            self._enter(bot)

    def _sides(self, one: _Bot, other: _Bot) -> tuple[_Bot, _Bot]:
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
        """The least turn of those who play and are not held up."""
        patience = HELD_UP * self._active // 2
        while self._oldest:
            number, first, second = self._oldest[0]
            numbers = self._open.get((first, second), ())
            if number in numbers:
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
            return min(near, key=lambda other: (self._distance(bot, other), other.since))
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
        """All who wait, by turn and how long they have waited. Nobody may come or go meanwhile."""
        for turn in self._turns:
            crowd = self._crowds[turn]
            seen: list[tuple[int, int]] = []
            try:
                while crowd.queue:
                    since, entry = heappop(crowd.queue)
                    bot = self._bots[entry]
                    # Others left, and may have come again since.
                    if (bot.since, bot.turn) == (since, turn):
                        seen.append((since, entry))
                        yield bot
            finally:
                for item in seen:
                    heappush(crowd.queue, item)

    def _enter(self, bot: _Bot, since: int = 0) -> None:
        if not bot.active or bot.open >= self._busy:
            return
        self._clock += 1
        bot.since = since or self._clock
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
    """Elo for each point of surprise in an encounter's score: large at first, then that of a settled rating."""
    return max(24.0, 320.0 / (bot.encounters + 2))


class LadderFormat(Endless):
    """Bots with similar ratings meet until the tournament is stopped."""

    number = 5
    title = "Ladder"
    summary = "bots with similar ratings meet until it is stopped"

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        """See `TournamentFormat`."""
        return Forecast(entries, None, None, None, (entries // 2 * settings.games_per_pair,))


LADDER = LadderFormat()
