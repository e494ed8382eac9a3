"""Random sequences of operations of the referee: no capacity stays free, and each scheduled game is played once."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from noughts_referee.game import Game
from noughts_referee.work_units import GameConditions, ScheduledGame
from tests.support.games import conditions, unit
from tests.support.settings import examples

from .referee_driver import RefereeDriver


@pytest.fixture
def driver() -> RefereeDriver:
    return RefereeDriver()


def ordinals(games: list[Game]) -> list[int]:
    return [game.slot.ordinal for game in games]


KEYS = (1, 2, 3, 4)


class TournamentMachine(RuleBasedStateMachine):
    """Three tournaments of four players that join and leave. A game waits only if it lacks a player or capacity."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = RefereeDriver()
        self.shared: list[GameConditions] = []
        self.units = 0
        self.waiting: set[tuple[int, int, int]] = set()
        """Tournament, attempt and ordinal of the slots that have not begun."""
        self.slots: dict[tuple[int, int, int], ScheduledGame] = {}
        self.begun: dict[int, Game] = {}
        self.expected: Counter[tuple[int, int, int]] = Counter()

    @initialize(concurrencies=st.tuples(*[st.integers(1, 5)] * 3), timed=st.integers(0, 2))
    def create_tournaments(self, concurrencies: tuple[int, int, int], timed: int) -> None:
        for tournament, concurrency in enumerate(concurrencies):
            time = "1/move" if tournament == timed else "none"
            self.shared.append(
                conditions("mnk:1,1,1", time, tournament=tournament, concurrency=concurrency, players=KEYS)
            )

    @rule(tournament=st.integers(0, 2), pairs=st.lists(st.sampled_from(list(combinations(range(4), 2))), max_size=8))
    def add(self, tournament: int, pairs: list[tuple[int, int]]) -> None:
        self.units += 1
        slots = [ScheduledGame(ordinal, *pair) for ordinal, pair in enumerate(pairs, start=1)]
        for slot in slots:
            self.slots[tournament, self.units, slot.ordinal] = slot
            self.waiting.add((tournament, self.units, slot.ordinal))
        self.driver.referee.add(unit(self.shared[tournament], slots, attempt=self.units))
        self.record_started_games()

    @rule(key=st.sampled_from(KEYS), timed=st.integers(1, 3), untimed=st.integers(1, 6))
    def join(self, key: int, timed: int, untimed: int) -> None:
        self.driver.join(key, timed, untimed)
        self.record_started_games()

    @rule(key=st.sampled_from(KEYS))
    def leave(self, key: int) -> None:
        self.driver.leave(key)

    @rule(key=st.sampled_from(KEYS))
    def forfeit(self, key: int) -> None:
        self.driver.forfeit(key)
        self.record_started_games()

    @rule(picks=st.lists(st.integers(0, 30), min_size=1, max_size=6))
    def finish(self, picks: list[int]) -> None:
        running = self.driver.running(*KEYS)
        chosen = {running[index % len(running)] for index in picks} if running else set()
        self.driver.resign(sorted(chosen, key=lambda game: game.handle))
        self.record_started_games()

    @rule(tournament=st.integers(0, 2))
    def withdraw(self, tournament: int) -> None:
        self.driver.referee.withdraw(tournament)
        self.waiting = {key for key in self.waiting if key[0] != tournament}

    @rule(tournament=st.integers(0, 2))
    def abandon(self, tournament: int) -> None:
        running = [game for game in self.driver.running(*KEYS) if game.unit.conditions.tournament == tournament]
        self.driver.referee.abandon(tournament)
        for game in running:
            self.expected[self.key_of(game)] -= 1
        self.record_started_games()

    def key_of(self, game: Game) -> tuple[int, int, int]:
        return game.unit.conditions.tournament, game.unit.attempt, game.slot.ordinal

    def record_started_games(self) -> None:
        """Record the games that have begun since the last call; fail if one of them has begun before."""
        for game in self.driver.running(*KEYS):
            if game.handle not in self.begun:
                self.begun[game.handle] = game
                self.waiting.remove(self.key_of(game))
                self.expected[self.key_of(game)] += 1

    def capacity(self, key: int, timed: bool) -> int:
        wire = self.driver.referee.player(key).wire
        if wire is None:
            return 0
        return wire.capacity_timed if timed else wire.capacity_untimed

    @invariant()
    def counts_match_the_running_games(self) -> None:
        for tournament in range(len(self.shared)):
            running = [game for game in self.driver.running(*KEYS) if game.unit.conditions.tournament == tournament]
            assert self.driver.referee.count_running(tournament) == len(running)
            assert self.driver.referee.count_queued(tournament) == sum(
                1 for key in self.waiting if key[0] == tournament
            )
            assert len(running) <= self.shared[tournament].concurrency
        assert self.driver.referee.count_running() == len(self.driver.running(*KEYS))

    @invariant()
    def waiting_games_lack_capacity(self) -> None:
        for tournament, number, ordinal in self.waiting:
            shared = self.shared[tournament]
            slot = self.slots[tournament, number, ordinal]
            players = [shared.players[slot.first], shared.players[slot.second]]
            is_full = self.driver.referee.count_running(tournament) >= shared.concurrency
            assert is_full or any(self.is_full(key, shared.time.timed) for key in players)

    def is_full(self, key: int, timed: bool) -> bool:
        """Does the player lack capacity for another game? A timed game also counts for the capacity of all games."""
        running = self.driver.running(key)
        if not timed:
            return len(running) >= self.capacity(key, timed)
        timed_games = sum(game.conditions.timed for game in running)
        largest = max(self.capacity(key, is_timed) for is_timed in (False, True))
        return timed_games >= self.capacity(key, timed) or len(running) >= largest

    def teardown(self) -> None:
        """Let all players join and finish all games: each scheduled game has been played once."""
        if self.shared:
            for key in KEYS:
                self.join(key, 2, 5)
            while self.driver.running(*KEYS):
                self.finish(list(range(20)))
            played = Counter((game.tournament, game.attempt, game.ordinal) for game in self.driver.finished)
            assert self.waiting == set()
            assert set(played.values()) <= {1}
            assert played == +self.expected


@pytest.mark.long
def test_no_usable_capacity_stays_free_and_each_game_is_played_once() -> None:
    run_state_machine_as_test(TournamentMachine, settings=examples(60, steps=40))


class CapacityMachine(RuleBasedStateMachine):
    """Four connected players of different capacities. No player has more games than its capacity."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = RefereeDriver()
        self.capacities = dict.fromkeys(KEYS, 0)

    @initialize(
        capacities=st.lists(st.integers(1, 4), min_size=4, max_size=4),
        concurrencies=st.tuples(*[st.integers(1, 9)] * 2),
    )
    def create_tournaments(self, capacities: list[int], concurrencies: tuple[int, int]) -> None:
        self.capacities = dict(zip(KEYS, capacities, strict=True))
        for key, number in self.capacities.items():
            self.driver.join(key, timed=number, untimed=number)
        for tournament, concurrency in enumerate(concurrencies):
            shared = conditions("mnk:1,1,1", tournament=tournament, concurrency=concurrency, players=KEYS)
            pairs = [pair for _ in range(3) for pair in combinations(range(4), 2)]
            self.driver.referee.add(unit(shared, [ScheduledGame(ordinal, *pair) for ordinal, pair in enumerate(pairs)]))

    @rule(picks=st.lists(st.integers(0, 30), min_size=1, max_size=6))
    def finish(self, picks: list[int]) -> None:
        running = self.driver.running(*KEYS)
        self.driver.resign({running[index % len(running)] for index in picks} if running else ())

    @invariant()
    def no_player_exceeds_its_capacity(self) -> None:
        for key in KEYS:
            assert len(self.driver.running(key)) <= self.capacities[key]


def test_no_player_exceeds_its_capacity() -> None:
    run_state_machine_as_test(CapacityMachine, settings=examples(24, steps=30))
