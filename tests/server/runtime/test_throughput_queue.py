"""Turns of tournaments with a throughput, at a real referee whose games end only when a test ends them."""

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


class SilentConnection:
    """A connection of a bot that never answers."""

    def __init__(self, timed: int, untimed: int) -> None:
        self.capacity_timed, self.capacity_untimed = timed, untimed
        self.online = True

    def wake(self) -> None:
        """Nothing is sent."""


class Matches:
    """Matches of two bots each, which start games whenever the queue gives them turns."""

    def __init__(self) -> None:
        self.referee = Referee(lambda games: None)
        self.queue = ThroughputQueue(self.referee)
        self.referee.on_progress = self.queue.give_next_turn
        self.started = Counter[int]()
        """Numbers of started games, by tournament."""
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.base = 0
        """The key of the opponent in all matches; 0: each match has an opponent of its own."""

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
        """Start match `key` of the player with the key 2 * key and an opponent, both with `seats` concurrent games."""
        pair = self.pair(key)
        for player in pair:
            self.referee.connect(player, SilentConnection(seats if seats_timed is None else seats_timed, seats))
        playing = conditions(time=time, tournament=key, players=tuple(player.key for player in pair))
        settings = TournamentSettings(throughput=throughput, priority=priority, across_owners=across_owners)

        async def start_games() -> None:
            progress = Progress()
            while True:
                self.queue.ask(owner, settings, playing, progress.wake)
                await progress.until(lambda: self.queue.turn_of(key) > 0)
                games = self.queue.turn_of(key)
                self.started[key] += games
                self.referee.add(unit(playing, games))
                self.queue.end_turn(key, games)

        self.tasks[key] = asyncio.get_running_loop().create_task(start_games())

    def block(self) -> None:
        """Give tournament 9 a turn of the highest priority, which it keeps until it leaves the queue."""
        playing = conditions(tournament=9, players=(18, 19))
        assert self.queue.ask(1, TournamentSettings(throughput=1, priority=9), playing, lambda: None) == 1

    def pair(self, key: int) -> tuple[ConnectedPlayer, ConnectedPlayer]:
        return self.referee.player(2 * key), self.referee.player(self.base or 2 * key + 1)

    def leave(self, *keys: int) -> None:
        """End these matches."""
        for key in keys:
            self.tasks.pop(key).cancel()
            self.queue.leave(key)

    async def rounds(self, number: int) -> Counter[int]:
        """End all running games `number` times, and return how many games each match started meanwhile."""
        before = self.started.copy()
        for _ in range(number):
            await self.settled()
            for key in self.tasks:
                self.referee.forfeit(self.pair(key)[0], Termination.CRASHED)
        return self.started - before

    async def settled(self) -> None:
        """Return once the queue gives no more turns."""
        games_before = -1
        while games_before != self.started.total():
            games_before = self.started.total()
            for _ in range(10):
                await asyncio.sleep(0)


def run_with_matches(test: Callable[[Matches], Awaitable[None]]) -> None:
    async def run() -> None:
        matches = Matches()
        try:
            await test(matches)
        finally:
            matches.leave(*matches.tasks)

    asyncio.run(run())


@examples(40)
@given(
    throughputs=st.lists(st.integers(1, 1_000), min_size=2, max_size=5),
    seats=st.sampled_from([1, 2, 7, 16, 100]),
    time=st.sampled_from(["none", "10+0.1"]),
)
def test_shares_differ_by_at_most_one_turn(throughputs: list[int], seats: int, time: str) -> None:
    async def test(matches: Matches) -> None:
        matches.block()
        for key, throughput in enumerate(throughputs, 1):
            matches.match(key, throughput, seats=seats, time=time)
        await matches.settled()
        matches.queue.leave(9)
        started = await matches.rounds(30)
        assert started.total() >= 30 * seats
        # A turn is a sixteenth of the running games. A match whose bots have no capacity left gets it a round later.
        turn = 2 * max(1, max(seats, 64) // 16)
        rounds_passed = [started[key] / throughput for key, throughput in enumerate(throughputs, 1)]
        for one, throughput in zip(rounds_passed, throughputs, strict=True):
            assert one - turn / throughput <= min(rounds_passed) + 1e-9

    run_with_matches(test)


@pytest.mark.parametrize("seats", [1, 3, 64])
def test_matches_against_one_base_share_its_seats(seats: int) -> None:
    async def test(matches: Matches) -> None:
        matches.base = 99
        for key, throughput in ((1, 50), (2, 30), (3, 20)):
            matches.match(key, throughput, seats=seats)
        started = await matches.rounds(300)
        assert started.total() >= 290 * seats
        for key, throughput in ((1, 50), (2, 30), (3, 20)):
            assert abs(started[key] / started.total() - throughput / 100) < 0.02
        matches.match(4, 1, priority=1, seats=seats)
        await matches.rounds(1)
        started = await matches.rounds(10)
        assert set(started) == {4}

    run_with_matches(test)


def test_match_with_clocks_begins_while_an_untimed_one_keeps_the_base_busy() -> None:
    async def test(matches: Matches) -> None:
        matches.base = 1
        matches.match(2, 1, seats=64, seats_timed=1)
        await matches.settled()
        matches.match(3, 1, seats=64, seats_timed=1, time="1/move")
        await matches.rounds(8)
        assert matches.started[3] > 1

    run_with_matches(test)


def test_a_match_whose_bot_is_away_takes_no_seat_of_the_base() -> None:
    async def test(matches: Matches) -> None:
        matches.base = 99
        matches.match(1, 50, seats=0)
        await matches.settled()
        assert matches.referee.count_queued(1) == 1
        matches.match(2, 50)
        started = await matches.rounds(20)
        assert started[2] >= 19

    run_with_matches(test)


@pytest.mark.parametrize("seats", [1, 3, 64])
def test_the_highest_priority_has_all_turns_until_it_leaves(seats: int) -> None:
    async def test(matches: Matches) -> None:
        matches.match(1, 1_000, seats=seats)
        matches.match(2, 10, seats=seats)
        await matches.rounds(20)
        matches.match(3, 1, priority=1, seats=seats)
        await matches.rounds(1)
        assert set(await matches.rounds(20)) == {3}
        matches.leave(3)
        assert 3 not in await matches.rounds(20)

    run_with_matches(test)


def test_new_and_returning_matches_do_not_catch_up() -> None:
    async def test(matches: Matches) -> None:
        matches.match(1, 100, seats=10)
        matches.match(2, 100, seats=10)
        await matches.rounds(50)
        matches.match(3, 100, seats=10)
        await matches.rounds(1)
        matches.leave(2)
        await matches.rounds(50)
        matches.match(2, 100, seats=10)
        await matches.rounds(1)
        started = await matches.rounds(30)
        assert max(started.values()) - min(started.values()) <= 2

    run_with_matches(test)


def test_a_share_that_a_tournament_cannot_use_goes_to_the_others() -> None:
    async def test(matches: Matches) -> None:
        matches.match(1, 1_000, priority=1, seats=0)
        matches.match(2, 75, seats=8)
        matches.match(3, 25, seats=8)
        await matches.rounds(1)
        started = await matches.rounds(50)
        assert (started[1], matches.referee.count_queued(1)) == (0, 1)
        assert started[2] + started[3] >= 50 * 8
        assert abs(started[2] - 3 * started[3]) <= 4
        for player in matches.pair(1):
            matches.referee.connect(player, SilentConnection(4, 4))
        await matches.rounds(1)
        started_later = await matches.rounds(20)
        # The match with priority plays as many games as its bots can, and the others use the rest.
        assert started_later[1] >= 20 * 4
        assert started_later[2] + started_later[3] >= 20 * 3

    run_with_matches(test)


def test_a_bot_that_returns_catches_up_on_only_a_few_turns() -> None:
    async def test(matches: Matches) -> None:
        matches.match(1, 50, seats=0)
        matches.match(2, 50, seats=4)
        await matches.rounds(200)
        for player in matches.pair(1):
            matches.referee.connect(player, SilentConnection(4, 4))
        started = await matches.rounds(10)
        assert started[1] - started[2] <= 6
        assert started[2] >= 16

    run_with_matches(test)


def test_games_with_clocks_use_all_configured_processors() -> None:
    async def test(matches: Matches) -> None:
        matches.queue.seats = 3
        for key in (1, 2, 3, 4):
            matches.match(key, 100, time="10+0.1")
        await matches.settled()
        assert matches.referee.count_running() == 3
        started = await matches.rounds(40)
        assert max(started.values()) - min(started.values()) <= 2

    run_with_matches(test)


def test_the_turn_of_a_tournament_that_leaves_is_free_at_once() -> None:
    async def test(matches: Matches) -> None:
        matches.block()
        matches.match(1, 100)
        await matches.settled()
        assert not matches.started
        matches.queue.leave(9)
        await matches.settled()
        assert matches.started[1]

    run_with_matches(test)


def test_owners_share_equally_whatever_their_priorities_and_throughputs() -> None:
    async def test(matches: Matches) -> None:
        matches.match(1, 1_000, priority=1_000, seats=64, owner=1)
        for key in range(2, 42):
            matches.match(key, 1_000, seats=64, owner=2)
        matches.match(42, 1, seats=64, owner=3)
        await matches.rounds(5)
        started = await matches.rounds(30)
        of_owners = [started[1], sum(started[key] for key in range(2, 42)), started[42]]
        assert min(of_owners) >= 0.9 * max(of_owners)

    run_with_matches(test)


def test_priority_of_an_admin_counts_among_all_owners() -> None:
    async def test(matches: Matches) -> None:
        matches.match(1, 100, priority=1_000, seats=4, owner=1)
        matches.match(2, 1, priority=1, seats=4, owner=2, across_owners=True)
        await matches.rounds(1)
        assert set(await matches.rounds(20)) == {2}
        matches.leave(2)
        await matches.rounds(1)
        # The games of the admin's match do not count against other matches of the same owner.
        matches.match(3, 1, seats=4, owner=2)
        await matches.rounds(2)
        started = await matches.rounds(20)
        assert abs(started[1] - started[3]) <= 4

    run_with_matches(test)


def test_games_that_never_end_take_no_seat_of_another_owner() -> None:
    async def test(matches: Matches) -> None:
        for key in range(2, 6):
            matches.match(key, 1_000, time="10+0.1", owner=2)
        await matches.settled()
        matches.match(1, 1, time="10+0.1", owner=1)
        await matches.settled()
        assert matches.referee.count_running(1) == 1

    run_with_matches(test)


def test_urgent_and_ordinary_matches_of_one_owner_have_turns_of_their_own() -> None:
    async def test(matches: Matches) -> None:
        for key in range(2, 6):
            matches.match(key, 1_000, time="10+0.1", owner=2)
        await matches.settled()
        matches.block()
        matches.match(1, 1, time="10+0.1", owner=1, priority=1, across_owners=True)
        matches.match(6, 1, time="10+0.1", owner=1)
        await matches.settled()
        matches.queue.leave(9)
        await matches.settled()
        # The other owner has all games, so the urgent match gets one because of its owner's part.
        assert matches.referee.count_running(1) == 1

    run_with_matches(test)
