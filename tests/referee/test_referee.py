"""The referee's queue: which games begin when, and that each scheduled game is played."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.rules import Position, Result, Termination
from noughts_referee.work_units import GameConditions, ScheduledGame, unpack_moves, unpack_times
from tests.support.games import conditions, unit
from tests.support.settings import examples

from .referee_driver import RefereeDriver, ScriptedConnection


@pytest.fixture
def driver() -> RefereeDriver:
    return RefereeDriver()


def ordinals(games: list[Game]) -> list[int]:
    return [game.slot.ordinal for game in games]


# Reports.


def test_the_report_of_a_finished_game_has_every_stored_field(driver: RefereeDriver) -> None:
    shared = conditions("mnk:4,4,3", tournament=7, players=(10, 20, 30))
    driver.join(20)
    driver.join(30)
    driver.referee.add(unit(shared, [ScheduledGame(5, 2, 1)], attempt=2))
    (game,) = driver.running(20)
    for key, cell, took in ((30, 0, 11), (20, 4, 12), (30, 1, 13), (20, 5, 14), (30, 2, 15)):
        player = driver.referee.player(key)
        assert driver.referee.judge_answers(player, Answers([game.handle], [game.ply], [cell], [took])) == []
    (finished,) = driver.finished
    assert (finished.tournament, finished.attempt, finished.ordinal) == (7, 2, 5)
    assert (finished.first, finished.second) == (2, 1)
    assert (finished.result, finished.termination) == (Result.FIRST_WINS, Termination.LINE)
    assert unpack_moves(finished.moves, 16) == [0, 4, 1, 5, 2]
    assert unpack_times(finished.times) == [11, 12, 13, 14, 15]
    assert driver.referee.plies == 5


def test_games_that_end_in_one_frame_are_reported_together(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(), [ScheduledGame(ordinal, 0, 1) for ordinal in range(1, 6)]))
    driver.resign(driver.running(1)[:3])
    assert [len(report) for report in driver.reports] == [3]


def test_void_games_are_not_reported(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(), 3))
    driver.referee.stop_starting()
    driver.referee.abandon()
    assert driver.reports == []
    assert driver.running(1, 2) == []
    assert driver.referee.count_running() == 0


# Counts and wake-ups.


def test_scheduled_games_wait_until_both_players_are_online(driver: RefereeDriver) -> None:
    driver.referee.add(unit(conditions(), 2))
    assert (driver.referee.count_queued(1), driver.referee.count_running(1)) == (2, 0)
    driver.join(1)
    assert (driver.referee.count_queued(1), driver.referee.count_running(1)) == (2, 0)
    driver.join(2)
    assert (driver.referee.count_queued(1), driver.referee.count_running(1), driver.referee.count_running()) == (
        0,
        2,
        2,
    )
    driver.resign(driver.running(1))
    assert (driver.referee.count_queued(1), driver.referee.count_running(1), driver.referee.count_running()) == (
        0,
        0,
        0,
    )


def test_unknown_tournaments_have_no_games(driver: RefereeDriver) -> None:
    assert (driver.referee.count_queued(5), driver.referee.count_running(5)) == (0, 0)
    driver.referee.withdraw(5)
    driver.referee.abandon(5)


def test_progress_is_reported_when_games_begin_and_end(driver: RefereeDriver) -> None:
    driver.referee.add(unit(conditions(concurrency=2), 4))
    driver.join(1)
    assert driver.progress == 0
    driver.join(2)
    assert driver.progress == 1
    driver.resign(driver.running(1)[:1])
    assert driver.progress == 2
    driver.referee.abandon()
    assert driver.progress == 3


def test_a_progress_callback_can_add_units(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    numbers = iter(range(2, 5))

    def add_another() -> None:
        for number in numbers:
            driver.referee.add(unit(conditions(), 1, attempt=number))

    driver.referee.on_progress = add_another
    driver.referee.add(unit(conditions(), 1))
    while driver.running(1):
        driver.resign(driver.running(1))
    assert Counter(game.attempt for game in driver.finished) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_only_connections_with_messages_to_send_are_woken(driver: RefereeDriver) -> None:
    connections = [ScriptedConnection(1, 10) for _ in range(3)]
    for key, wire in enumerate(connections, start=1):
        driver.referee.connect(driver.referee.player(key), wire)
    before = [wire.wakes for wire in connections]
    driver.referee.add(unit(conditions(players=(1, 2, 3)), [ScheduledGame(1, 0, 1)]))
    assert [wire.wakes - earlier for wire, earlier in zip(connections, before, strict=True)] == [1, 1, 0]
    (game,) = driver.running(1)
    driver.answer(1, [game], [4])
    assert [wire.wakes - earlier for wire, earlier in zip(connections, before, strict=True)] == [1, 2, 0]


def test_a_connection_can_answer_as_soon_as_it_is_woken(driver: RefereeDriver) -> None:
    class AnsweringConnection(ScriptedConnection):
        def __init__(self, key: int) -> None:
            super().__init__(1, 10)
            self.key = key

        def wake(self) -> None:
            player = driver.referee.player(self.key)
            outbox = player.take_outbox()
            games = [player.games[handle] for handle in outbox.turn_game]
            cells = [Position.after(game.conditions.variant, game.moves).free[0] for game in games]
            if cells:
                answers = Answers(outbox.turn_game, outbox.turn_ply, cells, [0] * len(cells))
                driver.referee.judge_answers(player, answers)

    for key in (1, 2):
        driver.referee.connect(driver.referee.player(key), AnsweringConnection(key))
    driver.referee.add(unit(conditions(), 20))
    assert len(driver.finished) == 20
    assert driver.running(1, 2) == []


def test_a_player_that_joins_again_is_sent_its_running_games(driver: RefereeDriver) -> None:
    player = driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(), 2))
    player.take_outbox()
    driver.leave(1)
    driver.join(1)
    assert ordinals(player.outbox.starts) == [1, 2]
    assert len(player.outbox.turn_game) == 1


# Order and capacity.


def test_scheduled_games_are_played_in_the_order_of_arrival(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(concurrency=1), 3, attempt=1))
    driver.referee.add(unit(conditions(concurrency=1), 2, attempt=2))
    while driver.running(1):
        driver.resign(driver.running(1))
    assert [(game.attempt, game.ordinal) for game in driver.finished] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]


def test_a_player_gets_no_more_timed_games_than_its_capacity(driver: RefereeDriver) -> None:
    driver.join(1, timed=2)
    driver.join(2, timed=5)
    driver.referee.add(unit(conditions(time="1/move"), 9))
    assert ordinals(driver.running(1)) == [1, 2]


def test_a_tournament_runs_no_more_games_than_its_concurrency(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(concurrency=4), 9))
    assert ordinals(driver.running(1)) == [1, 2, 3, 4]


def test_an_absent_player_delays_only_its_own_games(driver: RefereeDriver) -> None:
    shared = conditions(players=(1, 2, 3), concurrency=1)
    driver.join(1)
    driver.join(2)
    driver.referee.add(
        unit(shared, [ScheduledGame(1, 0, 2), ScheduledGame(2, 1, 2), ScheduledGame(3, 0, 1), ScheduledGame(4, 1, 0)])
    )
    assert ordinals(driver.running(1)) == [3]
    driver.resign(driver.running(1))
    assert ordinals(driver.running(1)) == [4]
    driver.resign(driver.running(1))
    driver.join(3)
    assert ordinals(driver.running(3)) == [1]


def test_capacity_freed_for_an_absent_player_goes_to_the_next_game(driver: RefereeDriver) -> None:
    shared = conditions(players=(1, 2, 3, 4))
    for key in (1, 2, 3, 4):
        driver.join(key, untimed=1)
    # Games 2 and 3 wait for player 2. When its game ends, player 3 is away, so game 3 must begin.
    driver.referee.add(unit(shared, [ScheduledGame(1, 0, 1), ScheduledGame(2, 2, 1), ScheduledGame(3, 3, 1)]))
    driver.leave(3)
    driver.resign(driver.running(2))
    assert ordinals(driver.running(2)) == [3]


def test_capacity_that_one_tournament_cannot_use_goes_to_another(driver: RefereeDriver) -> None:
    full = conditions(tournament=1, players=(1, 2, 3, 4, 5), concurrency=1)
    other = conditions(tournament=2, players=(1, 2, 3))
    for key in (1, 2, 3):
        driver.join(key, untimed=1)
    driver.referee.add(unit(other, [ScheduledGame(1, 0, 1)]))
    driver.referee.add(unit(full, [ScheduledGame(1, 0, 2)]))  # waits for player 1
    driver.referee.add(unit(other, [ScheduledGame(2, 0, 1)]))  # waits for player 1, too
    driver.join(4)
    driver.join(5)
    driver.referee.add(unit(full, [ScheduledGame(2, 3, 4)]))
    driver.resign(driver.running(1))
    assert [(game.unit.conditions.tournament, game.slot.ordinal) for game in driver.running(1)] == [(2, 2)]


def test_a_waiting_timed_game_does_not_delay_untimed_games(driver: RefereeDriver) -> None:
    driver.join(1, timed=1, untimed=3)
    driver.join(2, timed=1, untimed=3)
    driver.referee.add(unit(conditions(tournament=1), 3))
    driver.referee.add(unit(conditions(tournament=2, time="1/move"), 1))
    driver.referee.add(unit(conditions(tournament=1), 9, attempt=2))
    for _ in range(9):
        assert len(driver.running(1)) == 3
        driver.resign(driver.running(1)[:1])
    while driver.running(1):
        driver.resign(driver.running(1))
    assert len(driver.finished) == 13


@pytest.mark.parametrize("untimed", [1, 3])
def test_timed_game_gets_the_next_place_of_a_busy_bot(driver: RefereeDriver, untimed: int) -> None:
    for key in (1, 2):
        driver.join(key, timed=1, untimed=untimed)
    driver.referee.add(unit(conditions(tournament=1), untimed))
    driver.referee.add(unit(conditions(tournament=2, time="1/move"), 2))
    driver.referee.add(unit(conditions(tournament=1), 9, attempt=2))
    driver.resign(driver.running(1)[:1])
    assert driver.referee.count_running(2) == 1
    assert len(driver.running(1)) == untimed
    while driver.running(1):
        driver.resign(driver.running(1)[:1])
    assert Counter(game.tournament for game in driver.finished) == {1: untimed + 9, 2: 2}


def test_timed_game_begins_at_the_process_without_one(driver: RefereeDriver) -> None:
    members = driver.referee.player(1).enlist(2)
    for member in members:
        driver.referee.connect(member, ScriptedConnection(1, 3))
    driver.join(2, timed=2)
    driver.referee.add(unit(conditions(tournament=1), 3))
    driver.referee.add(unit(conditions(tournament=2, time="1/move"), 3))
    assert [member.games_of(timed=True) for member in members] == [1, 1]


# Withdrawing and stopping.


def test_a_withdrawn_tournament_only_finishes_its_running_games(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(concurrency=2), 9))
    driver.referee.withdraw(1)
    assert (driver.referee.count_queued(1), driver.referee.count_running(1)) == (0, 2)
    driver.resign(driver.running(1))
    assert (driver.referee.count_queued(1), driver.referee.count_running(1)) == (0, 0)
    assert len(driver.finished) == 2


def test_a_withdrawn_tournament_can_be_added_again(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.referee.add(unit(conditions(), 3))
    driver.referee.withdraw(1)
    driver.join(2)
    assert driver.running(1) == []
    driver.referee.add(unit(conditions(), 2, attempt=2))
    assert [game.unit.attempt for game in driver.running(1)] == [2, 2]
    assert driver.referee.count_queued(1) == 0


def test_withdrawing_one_tournament_does_not_affect_others(driver: RefereeDriver) -> None:
    for tournament in (1, 2):
        driver.referee.add(unit(conditions(tournament=tournament), 3))
    driver.join(1)
    driver.referee.withdraw(1)
    driver.join(2)
    assert {game.unit.conditions.tournament for game in driver.running(1)} == {2}
    assert (driver.referee.count_queued(1), driver.referee.count_queued(2)) == (0, 0)


def test_after_stop_starting_only_running_games_are_finished(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(concurrency=2), 4))
    driver.referee.stop_starting()
    driver.resign(driver.running(1))
    driver.referee.add(unit(conditions(concurrency=2), 4, attempt=2))
    driver.join(1)
    assert driver.running(1) == []
    assert len(driver.finished) == 2
    assert driver.referee.count_queued(1) == 6


def test_abandoning_one_tournament_does_not_affect_others(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    for tournament in (1, 2):
        driver.referee.add(unit(conditions(tournament=tournament), 2))
    driver.referee.withdraw(1)
    driver.referee.abandon(1)
    assert [game.unit.conditions.tournament for game in driver.running(1, 2)] == [2, 2]
    assert (driver.referee.count_running(1), driver.referee.count_running(2)) == (0, 2)


def test_a_forfeit_loses_running_games_and_queued_ones_wait(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(conditions(concurrency=2), 5))
    driver.forfeit(1)
    assert [(game.ordinal, str(Result(game.result))) for game in driver.finished] == [(1, "0-1"), (2, "1-0")]
    assert {game.termination for game in driver.finished} == {Termination.DISCONNECTED}
    assert (driver.referee.count_queued(1), driver.referee.count_running(1)) == (3, 0)
    driver.join(1)
    assert ordinals(driver.running(1)) == [3, 4]


# Random sequences of these operations.

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
