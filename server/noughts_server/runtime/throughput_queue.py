"""The queue that decides which tournament with a throughput gives the next games to this process's referee.

Stride scheduling: C. A. Waldspurger and W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource
Management", MIT/LCS/TM-528, 1995. Owners share equally: the owner with the smallest pass, the number of games of all
its tournaments, is next. A tournament's pass is the number of its games divided by its throughput. Of the owner's
tournaments with the highest priority, the one with the smallest pass is next. Only a priority that an admin chose
counts among the tournaments of all owners.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.runtime.pace import Pace

_TURNS = 16
"""The referee has enough games for this many turns: few for large frames, many for small differences between shares."""
_FULL = 64
"""The number of games without clocks that fill a frame. If only one tournament has games, this many games can wait."""
_TURNS_OWED = 4
"""The number of turns that a tournament can catch up on after its bots had no capacity."""


@dataclass(eq=False, slots=True)
class _Owner:
    """An owner of tournaments with a throughput."""

    passed: float
    """The owner's pass (see the module): about the number of games that the owner's tournaments have begun."""
    last_pass: float = 0.0
    """The pass of the tournament that had the owner's last turn. New tournaments begin with it."""


@dataclass(eq=False, slots=True)
class _Share:
    """A tournament with a throughput."""

    key: int
    owner: int
    passed: float
    """The tournament's pass; see the module's docstring."""
    priority: int
    urgency: int
    """The priority among the tournaments of all owners."""
    throughput: int
    on_turn: Callable[[], None]
    guest: bool = False
    """Whether its games take the capacity for guests (see `GameConditions.guest`)."""
    timed: bool = False
    bots: tuple[int, ...] = ()
    """The two bot versions, if the same two play all games; else empty."""
    seats: int = 0
    """The number of games that its bots can play at once."""
    wants_turn: bool = False
    """Whether it has further games, or can claim some."""
    games_handed_out: int = 0
    """The number of games that it has given to the referee."""
    pace: Pace | None = None
    """The pace of its bots, if that decides how many games run at once."""


class _TurnLimits(NamedTuple):
    """Two limits of the games of a tournament's turn; the smaller one counts."""

    size: int
    """The largest number of games of a turn."""
    space: int
    """How many more games the tournament can have."""


class ThroughputQueue:
    """Gives turns to tournaments while few games are running.

    With more running games, the capacity of the bots would decide the shares, not the turns.
    """

    def __init__(self, referee: Referee, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self.seats = os.cpu_count() or 1
        """The number of games with clocks that this machine plays at once, unless a tournament's bots can play more."""
        self._referee = referee
        self._clock = clock
        self._shares: dict[int, _Share] = {}
        self._owners: dict[int, _Owner] = {}
        """The owners that have tournaments here, by key."""
        self._turn: tuple[_Share | None, int] = (None, 0)
        """The share that has the turn, and the number of games of this turn."""
        self._passed = 0.0
        """The pass of the owner that had the last turn. New owners begin with it."""

    def ask(
        self, owner: int, settings: TournamentSettings, playing: GameConditions, on_turn: Callable[[], None]
    ) -> int:
        """Request turns until one ends without games. Return the games of the current turn; 0 if others have it.

        The queue calls `on_turn` for each later turn.
        """
        key = playing.tournament
        if key not in self._shares:
            self._shares[key] = _Share(
                key=key,
                owner=owner,
                passed=self._owners.setdefault(owner, _Owner(self._passed)).last_pass,
                priority=settings.priority,
                urgency=settings.priority if settings.across_owners else 0,
                throughput=settings.throughput,
                on_turn=on_turn,
                guest=playing.guest,
            )
        share = self._shares[key]
        share.bots = playing.players if len(playing.players) == 2 else ()
        seats = [self._referee.player(version).seats(playing.timed) for version in playing.players]
        share.seats = min(playing.concurrency, sum(seats) // 2, sum(seats) - max(seats))
        share.timed = playing.timed
        share.wants_turn = True
        # In games with clocks, the bots report how many they can play at once.
        if share.pace is None and settings.is_paced and not playing.timed:
            share.pace = Pace(self._clock())
        self.give_next_turn()
        return self.turn_of(key)

    def turn_of(self, key: int) -> int:
        """Return the number of games that the tournament can give to the referee now."""
        share, games = self._turn
        return games if share is not None and share.key == key else 0

    def wants_turn(self, key: int) -> bool:
        """Return whether the tournament has, or can claim, games for a later turn."""
        share = self._shares.get(key)
        return share is not None and share.wants_turn

    def end_turn(self, key: int, games: int) -> None:
        """Count the games that the tournament has handed out. After 0 games it gets no turn until it asks again."""
        share = self._shares.get(key)
        if share is not None:
            share.passed += games / share.throughput
            if not share.urgency:
                self._owners[share.owner].passed += games
            share.games_handed_out += games
            share.wants_turn = games > 0
            self._free_turn(share)

    def leave(self, key: int) -> None:
        """Forget a tournament that is not played any more; the others get its share."""
        share = self._shares.pop(key, None)
        if share is not None:
            if all(other.owner != share.owner for other in self._shares.values()):
                del self._owners[share.owner]
            self._free_turn(share)

    def give_next_turn(self) -> None:
        """Give the next turn if games can begin. Call it after each change of games, requests or tournaments."""
        self._update_paces()
        if self._turn[0] is not None or not self._shares:
            return
        limits = self._limits_of_turns()
        ready = [self._shares[key] for key, each in limits.items() if self._referee.count_queued(key) < min(each)]
        if ready:
            share = min(ready, key=self._rank)
            owner = self._owners[share.owner]
            size, space = limits[share.key]
            if not share.urgency:
                owner.passed = max(owner.passed, self._passed - _TURNS_OWED * size)
                self._passed = max(self._passed, owner.passed)
            share.passed = max(share.passed, owner.last_pass - _TURNS_OWED * size / share.throughput)
            owner.last_pass = max(owner.last_pass, share.passed)
            self._turn = share, min(size, space)
            share.on_turn()

    def _update_paces(self) -> None:
        for share in self._shares.values():
            if share.pace is not None:
                running = self._referee.count_running(share.key)
                finished = share.games_handed_out - running - self._referee.count_queued(share.key)
                share.pace.update(self._clock(), finished, running)

    def _limits_of_turns(self) -> dict[int, _TurnLimits]:
        """Return the limits for each tournament that wants a turn, by its key."""
        free_seats = self._free_seats()
        of_kinds: dict[tuple[bool, int, int], _TurnLimits] = {}
        limits: dict[int, _TurnLimits] = {}
        for share in self._shares.values():
            if not share.wants_turn:
                continue
            kind = share.timed, share.owner, share.urgency
            if kind not in of_kinds:
                of_kinds[kind] = self._turn_limits(share)
            size, space = of_kinds[kind]
            if share.pace is not None:
                begun = self._referee.count_running(share.key) + self._referee.count_queued(share.key)
                space = min(space, share.pace.games - begun)
            limits[share.key] = _TurnLimits(size, min([space, *free_seats.get(share.key, ())]))
        return limits

    def _free_seats(self) -> dict[int, list[int]]:
        """Return the free capacity of the bots of each tournament that shares a bot with another one, by its key."""
        # The number of games that use each bot's capacity. Timed games also use the capacity for untimed games.
        seats_taken = {(timed, guest): Counter[int]() for timed in (False, True) for guest in (False, True)}
        users = Counter((share.guest, bot) for share in self._shares.values() for bot in set(share.bots))

        def seats_of(share: _Share) -> list[int]:
            return [self._referee.player(bot).seats(share.timed) for bot in share.bots]

        for share in self._shares.values():
            # Games that wait for an absent bot take no capacity of the other one.
            waiting = self._referee.count_queued(share.key) if all(seats_of(share)) else 0
            games = dict.fromkeys(share.bots, self._referee.count_running(share.key) + waiting)
            for timed in {False, share.timed}:
                seats_taken[timed, share.guest].update(games)
        return {
            share.key: [
                max(1, seats) - seats_taken[share.timed, share.guest][bot]
                for bot, seats in zip(share.bots, seats_of(share), strict=True)
            ]
            for share in self._shares.values()
            if any(users[share.guest, bot] > 1 for bot in share.bots)
        }

    def _rank(self, share: _Share) -> tuple[float, float, float, float]:
        """Return the sort key of turns: the smallest is next."""
        return -share.urgency, self._owners[share.owner].passed, -share.priority, share.passed

    def _free_turn(self, share: _Share) -> None:
        if self._turn[0] is share:
            self._turn = None, 0
        self.give_next_turn()

    def _turn_limits(self, asking: _Share) -> _TurnLimits:
        """Return the limits for this tournament and all others with the same owner, urgency and kind of games (timed).

        If there is only one tournament, the space includes games that can wait. Each owner can always have an equal
        part of the running games, however long the games of others last. An exception is an admin's tournament that
        comes first.
        """
        timed = asking.timed
        rivals = [share for share in self._shares.values() if share.timed is timed]
        running = sum(self._referee.count_running(share.key) for share in rivals)
        owner_games = sum(self._referee.count_running(share.key) for share in rivals if share.owner == asking.owner)
        ready_rivals = [share for share in rivals if share.seats]
        limit = max((share.seats for share in ready_rivals), default=1)
        if len(rivals) == 1:
            waiting = min(_FULL, limit // 4)
            return _TurnLimits(max(1, waiting), limit + waiting - running)
        if ready_rivals:
            # With this many running games, each owner can have its share. With more games, one owner's bots could have
            # no capacity left.
            total = sum(share.throughput for share in ready_rivals)
            fair = min(share.seats * total // share.throughput for share in ready_rivals)
            limit = max(limit, min(fair, self.seats if timed else _FULL))
        part = max(1, limit // len({share.owner for share in rivals}))
        if any(share.urgency > asking.urgency for share in ready_rivals if share.wants_turn):
            part = 0
        return _TurnLimits(max(1, limit // _TURNS), max(limit - running, part - owner_games))
