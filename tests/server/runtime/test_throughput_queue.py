"""Turns of tournaments with a throughput at a real referee, whose games end when the test says so."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.referee import Referee
from noughts_referee.rules import Termination
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.runtime.supply import Progress
from noughts_server.runtime.throughput_queue import ThroughputQueue
from tests.support.games import conditions, unit
from tests.support.settings import examples


class Seats:
    """A connection of a bot that never answers."""

    def __init__(self, timed: int, untimed: int) -> None:
        self.capacity_timed, self.capacity_untimed = timed, untimed
        self.online = True

    def wake(self) -> None:
        """Nothing is sent."""


class Ground:
    """Matches of two bots each, which hand out games for as long as they get turns."""

    def __init__(self) -> None:
        self.referee = Referee(lambda games: None)
        self.queue = ThroughputQueue(self.referee)
        self.referee.on_progress = self.queue.look
        self.handed = Counter[int]()
        """Games, by tournament."""
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.base = 0
        """The opponent in all matches; 0: each has its own."""

    def match(
        self,
        key: int,
        throughput: int,
        *,
        priority: int = 0,
        seats: int = 1,
        seats_timed: int | None = None,
        time: str = "none",
        owner: int = 1,
        across_owners: bool = False,
    ) -> None:
        """Begins match `key` of the player 2 * key and an opponent."""
        pair = self.pair(key)
        for player in pair:
            self.referee.joined(player, Seats(seats if seats_timed is None else seats_timed, seats))
        playing = conditions(time=time, tournament=key, players=tuple(player.key for player in pair))
        settings = TournamentSettings(throughput=throughput, priority=priority, across_owners=across_owners)

        async def hand_out() -> None:
            progress = Progress()
            while True:
                self.queue.ask(owner, settings, playing, progress.wake)
                await progress.until(lambda: self.queue.turn_of(key) > 0)
                games = self.queue.turn_of(key)
                self.handed[key] += games
                self.referee.add(unit(playing, games))
                self.queue.end_turn(key, games)

        self.tasks[key] = asyncio.get_running_loop().create_task(hand_out())

    def block(self) -> None:
        """Tournament 9 takes a turn of the highest priority, and keeps it until it leaves."""
        playing = conditions(tournament=9, players=(18, 19))
        assert self.queue.ask(1, TournamentSettings(throughput=1, priority=9), playing, lambda: None) == 1

    def pair(self, key: int) -> tuple[ConnectedPlayer, ConnectedPlayer]:
        return self.referee.player(2 * key), self.referee.player(self.base or 2 * key + 1)

    def leave(self, *keys: int) -> None:
        """Ends matches."""
        for key in keys:
            self.tasks.pop(key).cancel()
            self.queue.leave(key)

    async def rounds(self, number: int) -> Counter[int]:
        """Ends all running games so often. Returns how many games were handed out meanwhile, by match."""
        before = self.handed.copy()
        for _ in range(number):
            await self.settled()
            for key in self.tasks:
                self.referee.forfeit(self.pair(key)[0], Termination.CRASHED)
        return self.handed - before

    async def settled(self) -> None:
        """Returns when no turn is given any more."""
        seen = -1
        while seen != self.handed.total():
            seen = self.handed.total()
            for _ in range(10):
                await asyncio.sleep(0)


def on_ground(test: Callable[[Ground], Awaitable[None]]) -> None:
    async def run() -> None:
        ground = Ground()
        try:
            await test(ground)
        finally:
            ground.leave(*ground.tasks)

    asyncio.run(run())


@examples(40)
@given(
    throughputs=st.lists(st.integers(1, 1_000), min_size=2, max_size=5),
    seats=st.sampled_from([1, 2, 7, 16, 100]),
    time=st.sampled_from(["none", "10+0.1"]),
)
def test_shares_differ_by_at_most_one_turn(throughputs: list[int], seats: int, time: str) -> None:
    async def test(ground: Ground) -> None:
        ground.block()
        for key, throughput in enumerate(throughputs, 1):
            ground.match(key, throughput, seats=seats, time=time)
        await ground.settled()
        ground.queue.leave(9)
        handed = await ground.rounds(30)
        assert handed.total() >= 30 * seats
        # A turn is a sixteenth of the running games. A match whose bots have no free seat gets it a round later.
        turn = 2 * max(1, max(seats, 64) // 16)
        passed = [handed[key] / throughput for key, throughput in enumerate(throughputs, 1)]
        for one, throughput in zip(passed, throughputs, strict=True):
            assert one - turn / throughput <= min(passed) + 1e-9

    on_ground(test)


@pytest.mark.parametrize("seats", [1, 3, 64])
def test_matches_against_one_base_share_its_seats(seats: int) -> None:
    async def test(ground: Ground) -> None:
        ground.base = 99
        for key, throughput in ((1, 50), (2, 30), (3, 20)):
            ground.match(key, throughput, seats=seats)
        handed = await ground.rounds(300)
        assert handed.total() >= 290 * seats
        for key, throughput in ((1, 50), (2, 30), (3, 20)):
            assert abs(handed[key] / handed.total() - throughput / 100) < 0.02
        ground.match(4, 1, priority=1, seats=seats)
        await ground.rounds(1)
        handed = await ground.rounds(10)
        assert set(handed) == {4}

    on_ground(test)


def test_match_with_clocks_begins_while_an_untimed_one_keeps_the_base_busy() -> None:
    async def test(ground: Ground) -> None:
        ground.base = 1
        ground.match(2, 1, seats=64, seats_timed=1)
        await ground.settled()
        ground.match(3, 1, seats=64, seats_timed=1, time="1/move")
        await ground.rounds(8)
        assert ground.handed[3] > 1

    on_ground(test)


def test_a_match_whose_bot_is_away_takes_no_seat_of_the_base() -> None:
    async def test(ground: Ground) -> None:
        ground.base = 99
        ground.match(1, 50, seats=0)
        await ground.settled()
        assert ground.referee.queued(1) == 1
        ground.match(2, 50)
        handed = await ground.rounds(20)
        assert handed[2] >= 19

    on_ground(test)


@pytest.mark.parametrize("seats", [1, 3, 64])
def test_the_highest_priority_has_all_turns_until_it_leaves(seats: int) -> None:
    async def test(ground: Ground) -> None:
        ground.match(1, 1_000, seats=seats)
        ground.match(2, 10, seats=seats)
        await ground.rounds(20)
        ground.match(3, 1, priority=1, seats=seats)
        await ground.rounds(1)
        assert set(await ground.rounds(20)) == {3}
        ground.leave(3)
        assert 3 not in await ground.rounds(20)

    on_ground(test)


def test_a_newcomer_and_one_that_returns_do_not_catch_up() -> None:
    async def test(ground: Ground) -> None:
        ground.match(1, 100, seats=10)
        ground.match(2, 100, seats=10)
        await ground.rounds(50)
        ground.match(3, 100, seats=10)
        await ground.rounds(1)
        ground.leave(2)
        await ground.rounds(50)
        ground.match(2, 100, seats=10)
        await ground.rounds(1)
        again = await ground.rounds(30)
        assert max(again.values()) - min(again.values()) <= 2

    on_ground(test)


def test_a_share_that_a_tournament_cannot_use_goes_to_the_others() -> None:
    async def test(ground: Ground) -> None:
        ground.match(1, 1_000, priority=1, seats=0)
        ground.match(2, 75, seats=8)
        ground.match(3, 25, seats=8)
        await ground.rounds(1)
        handed = await ground.rounds(50)
        assert (handed[1], ground.referee.queued(1)) == (0, 1)
        assert handed[2] + handed[3] >= 50 * 8
        assert abs(handed[2] - 3 * handed[3]) <= 4
        for player in ground.pair(1):
            ground.referee.joined(player, Seats(4, 4))
        await ground.rounds(1)
        now = await ground.rounds(20)
        # It plays as many as its bots can, and the others use the rest.
        assert now[1] >= 20 * 4
        assert now[2] + now[3] >= 20 * 3

    on_ground(test)


def test_a_bot_that_gets_seats_back_catches_up_on_a_few_turns_only() -> None:
    async def test(ground: Ground) -> None:
        ground.match(1, 50, seats=0)
        ground.match(2, 50, seats=4)
        await ground.rounds(200)
        for player in ground.pair(1):
            ground.referee.joined(player, Seats(4, 4))
        now = await ground.rounds(10)
        assert now[1] - now[2] <= 6
        assert now[2] >= 16

    on_ground(test)


def test_games_with_clocks_use_all_processors_that_the_operator_names() -> None:
    async def test(ground: Ground) -> None:
        ground.queue.seats = 3
        for key in (1, 2, 3, 4):
            ground.match(key, 100, time="10+0.1")
        await ground.settled()
        assert ground.referee.in_flight() == 3
        handed = await ground.rounds(40)
        assert max(handed.values()) - min(handed.values()) <= 2

    on_ground(test)


def test_the_turn_of_a_tournament_that_leaves_is_free_at_once() -> None:
    async def test(ground: Ground) -> None:
        ground.block()
        ground.match(1, 100)
        await ground.settled()
        assert not ground.handed
        ground.queue.leave(9)
        await ground.settled()
        assert ground.handed[1]

    on_ground(test)


def test_owners_share_equally_whatever_their_priorities_and_throughputs() -> None:
    async def test(ground: Ground) -> None:
        ground.match(1, 1_000, priority=1_000, seats=64, owner=1)
        for key in range(2, 42):
            ground.match(key, 1_000, seats=64, owner=2)
        ground.match(42, 1, seats=64, owner=3)
        await ground.rounds(5)
        handed = await ground.rounds(30)
        of_owners = [handed[1], sum(handed[key] for key in range(2, 42)), handed[42]]
        assert min(of_owners) >= 0.9 * max(of_owners)

    on_ground(test)


def test_priority_that_an_admin_chose_counts_among_all_owners() -> None:
    async def test(ground: Ground) -> None:
        ground.match(1, 100, priority=1_000, seats=4, owner=1)
        ground.match(2, 1, priority=1, seats=4, owner=2, across_owners=True)
        await ground.rounds(1)
        assert set(await ground.rounds(20)) == {2}
        ground.leave(2)
        await ground.rounds(1)
        # It owes its owner's other tests nothing.
        ground.match(3, 1, seats=4, owner=2)
        await ground.rounds(2)
        handed = await ground.rounds(20)
        assert abs(handed[1] - handed[3]) <= 4

    on_ground(test)


def test_games_that_never_end_take_no_seat_of_another_owner() -> None:
    async def test(ground: Ground) -> None:
        for key in range(2, 6):
            ground.match(key, 1_000, time="10+0.1", owner=2)
        await ground.settled()
        ground.match(1, 1, time="10+0.1", owner=1)
        await ground.settled()
        assert ground.referee.in_flight(1) == 1

    on_ground(test)
