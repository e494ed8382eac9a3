"""Ladders: endless tournaments that begin the next pairing as soon as capacity is free.

These rules hold for all results and durations of games (`tests/server/competition/test_ladder.py`):

- A bot is in at most one live pairing. While it is in none, it waits for an opponent.
- An absent bot gets no pairing. A pairing is live unless one of its bots is absent. So a bot whose opponent has left
  waits for another one, and plays the rest of the old pairing when that opponent returns. On a server, an opponent
  that does not return soon loses the rest (`runtime/inactivity.py`).
- The waiting bot with the fewest pairings is next; among equals, the one that has waited longest. So the least
  certain ratings come first. The ladder skips a bot only while no waiting bot is a possible opponent for it.
- The opponent is the bot with the nearest rating among the possible opponents with few pairings: at most `WINDOW`
  more than the lowest number among them. Opponents of the last pairings count as farther away, so that neighbours
  take turns. Among equally near bots, the one with the fewest pairings is chosen, then the one that has waited
  longest.
- A bot never meets the opponent of its last pairing again unless no third bot is present. If no other opponent waits
  but some still play, the bot waits for one of them. If no bot plays and at least two are present, two of them are
  paired.
- If a bot has over `AHEAD` pairings more than a bot that plays, it waits for the end of that bot's pairing. This
  ends if the pairing is delayed: the others have had `HELD_UP` pairings each meanwhile, on average. When the
  delayed bot returns, it is as far behind as a newcomer at most. So is a bot that was absent.
- A newcomer counts as having had `PLACEMENT` pairings fewer than the bots that are next (none, if they had fewer). It
  plays in the next new pairing (after earlier newcomers), and often until it has caught up.
- The bot that has begun fewer of its pairings begins.
- An anchor, whose rating is fixed, starts no pairing: it waits until it is the nearest opponent of another bot. So
  anchors never meet each other. A bot that would have to wait for others can always play an anchor.

Bisection finds the next bot, its neighbours and their places, so a pairing takes about the same time among ten bots and
ten thousand. Ratings here serve only for pairing and are not stored.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, islice

from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.tournament_format import Endless, FormatSettings
from noughts_server.competition.pairing_batch import Pairing, PlayedPairing
from noughts_server.core.messages import N_

WINDOW = 2
"""The largest excess of an opponent's number of pairings over the lowest number among the possible opponents."""

PLACEMENT = 8
"""After this many pairings a newcomer is paired as rarely as the others."""

AHEAD = 16
"""A bot that is more than this many pairings ahead of a playing bot waits for that bot."""

HELD_UP = 6
"""A pairing is delayed if all other bots could have had this many pairings since it began.

`HELD_UP` and `PLACEMENT` together are less than `AHEAD`, so no bot waits for one that is delayed again and again.
"""

_RECENT = 8
"""The number of a bot's last pairings whose opponents count as farther away."""
_FAMILIAR = 60.0
"""Elo by which each recent pairing with an opponent makes it seem farther away."""
_SAME_SIDE = 40.0
"""Elo by which an opponent seems farther away for each pairing that both bots began too often (or too rarely)."""
_NEIGHBOURS = 6
"""The number of neighbours to try on either side, among bots with the same number of pairings."""
_OTHERS = 64
"""The number of other bots to try, in the order of their turns, if no neighbour is possible."""


@dataclass(slots=True)
class _Bot:
    """An entry of the ladder."""

    entry: int
    turn: int
    """The number of pairings that counts for the order of turns, including its current pairing.

    A newcomer's number is not 0.
    """
    rating: float = 0.0
    pairings: int = 0
    """The number of its finished pairings."""
    opponents: set[int] = field(default_factory=set)
    """The opponents of its pairings that are not finished."""
    is_playing: bool = False
    """Whether one of these pairings is live."""
    is_absent: bool = False
    is_anchor: bool = False
    """Whether its rating is fixed, so that it only plays against bots that are not anchors."""
    balance: int = 0
    """The number of pairings that it began, minus the number that its opponents began."""
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT))
    """The opponents of its last pairings; the latest is last."""
    is_withdrawn: bool = False
    waits_since: int = 0
    """The value of `Ladder._clock` when it began to wait; 0 if it does not wait."""
    is_held_up: bool = False
    """Whether its current pairing is delayed; see `HELD_UP`."""

    @property
    def last_opponent(self) -> int | None:
        return self.recent[-1] if self.recent else None


@dataclass(slots=True)
class _WaitingGroup:
    """The waiting bots with the same turn."""

    by_rating: list[tuple[float, int]] = field(default_factory=list)
    """(rating, entry) in order."""
    queue: list[tuple[int, int]] = field(default_factory=list)
    """A heap of (waits_since, entry). It also contains items of bots that no longer wait here."""


class Ladder:
    """The state of a ladder, which pairs its waiting bots. Entries are numbers. A withdrawn entry never returns."""

    def __init__(self) -> None:
        self._bots: dict[int, _Bot] = {}
        self._present_bots = 0
        """The number of bots that are neither withdrawn nor absent, without anchors."""
        self._pairing_count = 0
        """The number of pairings so far."""
        self._unfinished: dict[tuple[int, int], int] = {}
        """The number of pairings when an unfinished one became live the last time, by its entries."""
        self._oldest: deque[tuple[int, int, int]] = deque()
        """(number, first, second), oldest first. `_least_playing` removes delayed and finished pairings."""
        self._playing: list[tuple[int, int]] = []
        """A heap of (turn, entry) of bots that play. `_least_playing` removes those that wait, and delayed ones."""
        self._level = 0
        """The largest turn with which a bot was paired; of the two bots of a pairing, the lower turn counts."""
        self._clock = 0
        """The number of times that any bot began to wait."""
        self._groups: dict[int, _WaitingGroup] = {}
        self._turns: list[int] = []
        """The turns of all groups in ascending order."""
        self._waiting_anchors: list[tuple[float, int]] = []
        """(rating, entry) in order. Anchors are in no group."""

    @classmethod
    def rebuild(
        cls,
        entries: Iterable[int],
        withdrawn: Iterable[int],
        history: Iterable[PlayedPairing | Pairing],
        anchors: Mapping[int, float] | None = None,
    ) -> "Ladder":
        """Return the ladder after a restart, from all pairings in the order of pairing.

        Finished pairings have results. Entries join as newcomers before their first pairing, or at the end. `anchors`
        are as for `add`, by entry.
        """
        ladder = cls()
        withdrawn_entries = frozenset(withdrawn)

        def add_if_new(entry: int) -> None:
            if entry not in ladder._bots:
                ladder.add(entry, (anchors or {}).get(entry))
                if entry in withdrawn_entries:
                    ladder.withdraw(entry)

        for pairing in history:
            first, second = pairing.first, pairing.second
            add_if_new(first)
            add_if_new(second)
            ladder.record_pairing(first, second)
            if isinstance(pairing, PlayedPairing):
                ladder.record_result(first, second, pairing.first_points, pairing.second_points)
        for entry in sorted(entries):
            add_if_new(entry)
        return ladder

    def add(self, entry: int, anchor: float | None = None) -> None:
        """Add a newcomer, or an anchor with its fixed rating. The first rating of a newcomer is 0."""
        bot = self._bots[entry] = _Bot(entry, max(0, self._level - PLACEMENT))
        if anchor is not None:
            bot.is_anchor = True
            bot.rating = anchor
        self._count_present(bot, 1)
        self._start_waiting(bot)

    def _count_present(self, bot: _Bot, change: int) -> None:
        if not bot.is_anchor:
            self._present_bots += change

    def withdraw(self, entry: int) -> None:
        """Withdraw an entry: it is not paired again. `record_result` can still report its current pairing."""
        bot = self._bots[entry]
        if not bot.is_withdrawn:
            self.record_return(entry)  # its remaining games are lost soon, so its opponents need not wait
            self._stop_waiting(bot)
            bot.is_withdrawn = True
            self._count_present(bot, -1)

    def record_absence(self, entry: int) -> None:
        """Record that a bot is absent. Repeating it has no effect."""
        bot = self._bots[entry]
        if not bot.is_absent and not bot.is_withdrawn:
            bot.is_absent = True
            self._count_present(bot, -1)
            for each in (entry, *bot.opponents):
                self._wait_or_play(self._bots[each])

    def record_return(self, entry: int) -> None:
        """Record that a bot is no longer absent. Repeating it has no effect."""
        bot = self._bots[entry]
        if bot.is_absent:
            bot.is_absent = False
            self._count_present(bot, 1)
            bot.turn = max(bot.turn, self._level - PLACEMENT)
            for opponent in bot.opponents:
                if not self._bots[opponent].is_absent:
                    self._note_live(*self._unfinished_pair(entry, opponent))
            for each in (entry, *bot.opponents):
                self._wait_or_play(self._bots[each])

    @property
    def live_pairings(self) -> int:
        """The number of unfinished pairings without an absent bot."""
        return sum(not self._has_absent(*pair) for pair in self._unfinished)

    def record_pairing(self, first: int, second: int) -> None:
        """Record that these two bots are paired; `first` begins."""
        one, other = self._bots[first], self._bots[second]
        self._level = max(self._level, min(bot.turn for bot in (one, other) if not bot.is_anchor))
        one.balance += 1
        other.balance -= 1
        for bot, opponent in ((one, other), (other, one)):
            self._stop_waiting(bot)
            bot.turn += 1
            bot.is_playing = True
            bot.opponents.add(opponent.entry)
            bot.recent.append(opponent.entry)
            self._note_playing(bot)
        self._pairing_count += 1
        self._note_live(first, second)

    def record_result(self, first: int, second: int, first_points: float, second_points: float) -> None:
        """Record the points of a pairing that is over. A void game counts as a draw."""
        one, other = self._bots[first], self._bots[second]
        for bot in (one, other):
            self._stop_waiting(bot)  # the places of waiting bots depend on their ratings and turns
        total = first_points + second_points
        if total > 0:
            surprise = first_points / total - 1 / (1 + 10 ** ((other.rating - one.rating) / 400))
            if not one.is_anchor:
                one.rating += _step(one) * surprise
            if not other.is_anchor:
                other.rating -= _step(other) * surprise
        del self._unfinished[first, second]
        for bot, opponent in ((one, other), (other, one)):
            bot.pairings += 1
            bot.opponents.discard(opponent.entry)
            if bot.is_held_up:
                bot.is_held_up = False
                bot.turn = max(bot.turn, self._level - PLACEMENT)
            self._wait_or_play(bot)

    def pair(self, count: int) -> list[Pairing]:
        """Begin up to `count` pairings, and return them. There are fewer if the other bots must wait."""
        pairings: list[Pairing] = []
        while len(pairings) < count and (pair := self._next_pair()) is not None:
            one, other = self._sides(pair)
            self.record_pairing(one.entry, other.entry)
            pairings.append(Pairing(one.entry, other.entry))
        return pairings

    def _sides(self, pair: tuple[_Bot, _Bot]) -> tuple[_Bot, _Bot]:
        """Return the bots of a pair; the first one begins."""
        one, other = pair
        if one.balance == other.balance:
            return (one, other) if (one.turn + other.turn) % 2 else (other, one)
        return (one, other) if one.balance < other.balance else (other, one)

    def _next_pair(self) -> tuple[_Bot, _Bot] | None:
        """Return the next bot and its opponent; None if all waiting bots must wait."""
        least = self._least_playing()
        if least is not None:
            ceiling = least + AHEAD
        else:
            ceiling = self._turns[-1] if self._turns else AHEAD
        for bot in self._by_turn():
            # A bot that must wait for others can play an anchor.
            opponent = self._opponent_of(bot, ceiling) if bot.turn <= ceiling else None
            opponent = self._nearer_anchor(bot, opponent) or opponent
            if opponent is not None:
                return bot, opponent
            if bot.turn > ceiling:
                return None
        return None

    def _nearer_anchor(self, bot: _Bot, opponent: _Bot | None) -> _Bot | None:
        """Return the waiting anchor that is nearest to a bot; None if there is none, or if the opponent is nearer."""
        place = bisect_left(self._waiting_anchors, (bot.rating, bot.entry))
        near = self._waiting_anchors[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS]
        anchors = [self._bots[entry] for _, entry in near]
        if not anchors:
            return None
        anchor = min(anchors, key=lambda other: (self._distance(bot, other), other.waits_since))
        is_nearer = opponent is None or self._distance(bot, anchor) < self._distance(bot, opponent)
        return anchor if is_nearer else None

    def _least_playing(self) -> int | None:
        """Mark delayed bots. Return the lowest turn of the bots that play and are not delayed; None without any."""
        pairings_until_delay = HELD_UP * self._present_bots // 2
        while self._oldest:
            number, first, second = self._oldest[0]
            if self._unfinished.get((first, second)) == number and not self._has_absent(first, second):
                if self._pairing_count - number < pairings_until_delay:
                    break
                self._bots[first].is_held_up = True
                self._bots[second].is_held_up = True
            self._oldest.popleft()
        while self._playing:
            turn, entry = self._playing[0]
            bot = self._bots[entry]
            if bot.is_playing and not bot.is_withdrawn and not bot.is_held_up and bot.turn == turn:
                return turn
            heappop(self._playing)
        return None

    def _opponent_of(self, bot: _Bot, ceiling: int) -> _Bot | None:
        """Return the best opponent among waiting bots with a turn up to `ceiling`; None if none is possible."""
        near: list[_Bot] = []
        for turn in self._turns:
            if turn > ceiling:
                break
            neighbours = list(self._neighbours(bot, self._groups[turn]))
            if neighbours and not near:
                ceiling = min(ceiling, turn + WINDOW)
            near += neighbours
        if near:
            return min(near, key=lambda other: (self._distance(bot, other), other.turn, other.waits_since))
        others = islice(self._by_turn(), _OTHERS)
        return next((other for other in others if other.turn <= ceiling and self._may_meet(bot, other)), None)

    def _neighbours(self, bot: _Bot, group: _WaitingGroup) -> Iterator[_Bot]:
        """Yield the possible opponents among the bots with the nearest ratings."""
        place = bisect_left(group.by_rating, (bot.rating, bot.entry))
        below = range(place - 1, max(place - 1 - _NEIGHBOURS, -1), -1)
        above = range(place, min(place + _NEIGHBOURS, len(group.by_rating)))
        for index in chain(below, above):
            _, entry = group.by_rating[index]
            other = self._bots[entry]
            if self._may_meet(bot, other):
                yield other

    def _may_meet(self, one: _Bot, other: _Bot) -> bool:
        if one is other:
            return False
        if self._present_bots == 2:
            return True
        return one.last_opponent != other.entry and other.last_opponent != one.entry

    def _distance(self, one: _Bot, other: _Bot) -> float:
        """Return the difference of the ratings, plus Elo for recent pairings and for equal needs of a side."""
        recent_pairings = one.recent.count(other.entry) + other.recent.count(one.entry)
        need_same_side = one.balance * other.balance > 0
        same_side = min(abs(one.balance), abs(other.balance)) if need_same_side else 0
        return abs(one.rating - other.rating) + _FAMILIAR * recent_pairings + _SAME_SIDE * same_side

    def _by_turn(self) -> Iterator[_Bot]:
        """Yield all waiting bots, by turn and waiting time. The ladder must not change meanwhile."""
        for turn in self._turns:
            group = self._groups[turn]
            yielded: list[tuple[int, int]] = []
            try:
                while group.queue:
                    since, entry = heappop(group.queue)
                    bot = self._bots[entry]
                    # Items of bots that have left the group, and possibly returned with a new item, are dropped here.
                    if (bot.waits_since, bot.turn) == (since, turn):
                        yielded.append((since, entry))
                        yield bot
            finally:
                for item in yielded:
                    heappush(group.queue, item)

    def _unfinished_pair(self, one: int, other: int) -> tuple[int, int]:
        """Return the key of the unfinished pairing of these two entries."""
        return (one, other) if (one, other) in self._unfinished else (other, one)

    def _has_absent(self, first: int, second: int) -> bool:
        return self._bots[first].is_absent or self._bots[second].is_absent

    def _note_live(self, first: int, second: int) -> None:
        """Note that an unfinished pairing is live from now on."""
        self._unfinished[first, second] = self._pairing_count
        self._oldest.append((self._pairing_count, first, second))

    def _wait_or_play(self, bot: _Bot) -> None:
        """Let a bot wait unless it is withdrawn, absent or in a live pairing."""
        self._stop_waiting(bot)
        bot.is_playing = not bot.is_absent and not all(self._bots[each].is_absent for each in bot.opponents)
        if bot.is_playing:
            self._note_playing(bot)
        elif not bot.is_absent and not bot.is_withdrawn:
            self._start_waiting(bot)

    def _note_playing(self, bot: _Bot) -> None:
        # Other bots do not wait for an anchor.
        if not bot.is_anchor:
            heappush(self._playing, (bot.turn, bot.entry))

    def _start_waiting(self, bot: _Bot) -> None:
        self._clock += 1
        bot.waits_since = self._clock
        if bot.is_anchor:
            insort(self._waiting_anchors, (bot.rating, bot.entry))
            return
        group = self._groups.get(bot.turn)
        if group is None:
            group = self._groups[bot.turn] = _WaitingGroup()
            insort(self._turns, bot.turn)
        insort(group.by_rating, (bot.rating, bot.entry))
        heappush(group.queue, (bot.waits_since, bot.entry))

    def _stop_waiting(self, bot: _Bot) -> None:
        if not bot.waits_since:
            return
        bot.waits_since = 0
        if bot.is_anchor:
            self._waiting_anchors.remove((bot.rating, bot.entry))
            return
        group = self._groups[bot.turn]
        del group.by_rating[bisect_left(group.by_rating, (bot.rating, bot.entry))]
        if not group.by_rating:
            del self._groups[bot.turn]
            del self._turns[bisect_left(self._turns, bot.turn)]


def _step(bot: _Bot) -> float:
    """Return the K factor of the bot's rating, in Elo: large at first, 24 in the long run."""
    return max(24.0, 320.0 / (bot.pairings + 2))


class LadderFormat(Endless):
    """Bots with similar ratings meet until the tournament is stopped."""

    number = 5
    title = N_("Ladder")
    summary = N_("bots with similar ratings meet until it is stopped")

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        one_round = entries // 2 * settings.games_per_pair
        return Forecast(entries=entries, rounds=None, least=None, most=None, waves=(Wave(one_round, entries // 2),))


LADDER = LadderFormat()
