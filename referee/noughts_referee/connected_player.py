"""A player with its connection and its seats (the number of games that it can play at the same time)."""

from bisect import insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Protocol

from noughts_referee.game import Game, Player
from noughts_referee.work_units import ScheduledGame, Unit

WaitingGame = tuple[int, ScheduledGame, Unit]
"""A slot that has not started: its arrival number, the slot, and its unit."""


class PlayerConnection(Protocol):
    """A connection that carries frames to one player and its answers back."""

    @property
    def capacity_timed(self) -> int:
        """Return the number of concurrent timed games of the player; 0 while it is away."""

    @property
    def capacity_untimed(self) -> int:
        """Return the number of concurrent untimed games of the player; 0 while it is away."""

    @property
    def online(self) -> bool:
        """Return whether the player is connected."""

    def wake(self) -> None:
        """Send the player's outbox."""


class Seats(NamedTuple):
    """The number of games that a player can play at the same time."""

    timed: int
    untimed: int
    """Number of all games, timed ones included."""


@dataclass(slots=True, eq=False)
class SeatPool:
    """The capacity of a player, or of a tournament, for concurrent games.

    Between calls of `_settle`, a slot waits in a pool only if the pool is full. Code that frees a seat, or does not use
    an offered one, must therefore offer it to the next waiting slot.
    """

    taken: int = field(default=0, init=False)
    """Running games."""
    timed_taken: int = field(default=0, init=False)
    """Running games with clocks."""
    # Slots that wait for a seat here, in order of arrival. There are two queues, because a player can have seats for
    # untimed games but none for timed ones.
    timed: deque[WaitingGame] = field(default_factory=deque, init=False)
    untimed: deque[WaitingGame] = field(default_factory=deque, init=False)

    def waiting(self, timed: bool) -> deque[WaitingGame]:
        """Return the slots of timed games, or of untimed games, that wait for a seat."""
        return self.timed if timed else self.untimed

    def full(self, seats: Seats, timed: bool) -> bool:
        """Return whether it has no seat for another game. Only timed games use the seats for timed games."""
        if timed:
            return self.timed_taken >= seats.timed or self.taken >= max(seats)
        return self.taken >= seats.untimed

    def take(self, games: int, timed: bool) -> None:
        """Count games that begin, or with a negative number games that have ended."""
        self.taken += games
        if timed:
            self.timed_taken += games

    def wait(self, timed: bool, slot: WaitingGame) -> None:
        """Insert a slot among those that wait, in order of arrival."""
        waiting = self.waiting(timed)
        if not waiting or waiting[-1] < slot:
            waiting.append(slot)
        else:
            insort(waiting, slot)


@dataclass(slots=True, eq=False, repr=False)
class ConnectedPlayer(Player):
    """A player with its capacity, and with one connection or several `members` that have one each."""

    pool: SeatPool = field(default_factory=SeatPool)
    guests: SeatPool = field(default_factory=SeatPool)
    """Separate capacity of the same size for guests (see `GameConditions.guest`). It does not reduce the pool."""
    wire: PlayerConnection | None = field(default=None, init=False)
    members: "tuple[ConnectedPlayer, ...]" = field(default=(), init=False)
    """The processes of one bot that share its capacity and play for it. If empty, the player plays itself."""

    @property
    def connections(self) -> "tuple[ConnectedPlayer, ...]":
        """Return the players that get the games: the members, or the player itself."""
        return self.members or (self,)

    def enlist(self, members: int) -> "tuple[ConnectedPlayer, ...]":
        """Create this many members (at least one), each with its own connection, before the first game."""
        self.members = tuple(ConnectedPlayer(self.key, self.margin_us, self.pool, self.guests) for _ in range(members))
        return self.members

    def seats(self, timed: bool) -> int:
        """Return how many timed games, or games of any kind, the player can play at the same time."""
        if self.members:
            return sum(member.seats(timed) for member in self.members)
        wire = self.wire
        if wire is None:
            return 0
        return wire.capacity_timed if timed else wire.capacity_untimed

    def tournament_seats(self) -> Seats:
        """Return the seats for games of tournaments."""
        return Seats(self.seats(True), self.seats(False))

    def guest_seats(self, *, test: bool) -> Seats:
        """Return the seats for games of guests.

        There are none during a tournament's timed games, and for a `test` none during any game of a tournament.
        """
        pool = self.pool
        busy = pool.timed or pool.timed_taken or (test and (pool.untimed or pool.taken))
        return Seats(0, 0) if busy else self.tournament_seats()

    def guest_games(self) -> Iterator[Game]:
        """Return the running games of challenges and guests' tests."""
        games = chain.from_iterable(each.games.values() for each in self.connections)
        return (game for game in games if game.conditions.guest)

    def freest(self, timed: bool) -> "ConnectedPlayer":
        """Return the member for the next game: the one with the fewest games that has a free seat."""
        free = [member for member in self.members if member.games_of(timed) < member.seats(timed)]
        return min(free, default=self.members[0], key=lambda member: len(member.games))

    def games_of(self, timed: bool) -> int:
        """Return the number of running games that take seats of timed games, or of all games."""
        return sum(game.conditions.timed for game in self.games.values()) if timed else len(self.games)
