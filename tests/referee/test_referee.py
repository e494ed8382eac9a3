"""The referee's queue: who plays when, and that everything is played."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.rules import Position, Result, Termination
from noughts_referee.work_units import GameConditions, Slot, unpack_moves, unpack_times
from tests.support.games import conditions, unit
from tests.support.settings import examples

from .wires import Hall, ScriptedConnection


@pytest.fixture
def hall() -> Hall:
    return Hall()


def ordinals(games: list[Game]) -> list[int]:
    return [game.slot.ordinal for game in games]


# Reports.


def test_a_finished_game_is_reported_with_all_that_is_to_be_stored(hall: Hall) -> None:
    shared = conditions("mnk:4,4,3", tournament=7, players=(10, 20, 30))
    hall.join(20)
    hall.join(30)
    hall.referee.add(unit(shared, [Slot(5, 2, 1)], attempt=2))
    (game,) = hall.running(20)
    for key, cell, took in ((30, 0, 11), (20, 4, 12), (30, 1, 13), (20, 5, 14), (30, 2, 15)):
        player = hall.referee.player(key)
        assert hall.referee.judge_answers(player, Answers([game.handle], [game.ply], [cell], [took])) == []
    (finished,) = hall.finished
    assert (finished.tournament, finished.attempt, finished.ordinal) == (7, 2, 5)
    assert (finished.first, finished.second) == (2, 1)
    assert (finished.result, finished.termination) == (Result.FIRST_WINS, Termination.LINE)
    assert unpack_moves(finished.moves, 16) == [0, 4, 1, 5, 2]
    assert unpack_times(finished.times) == [11, 12, 13, 14, 15]
    assert hall.referee.plies == 5


def test_games_that_end_in_one_frame_are_reported_together(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(), [Slot(ordinal, 0, 1) for ordinal in range(1, 6)]))
    hall.resign(hall.running(1)[:3])
    assert [len(report) for report in hall.reports] == [3]


def test_void_games_are_not_reported(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(), 3))
    hall.referee.stop_starting()
    hall.referee.abandon()
    assert hall.reports == []
    assert hall.running(1, 2) == []
    assert hall.referee.in_flight() == 0


# Counts and wakes.


def test_slots_wait_until_both_players_are_there(hall: Hall) -> None:
    hall.referee.add(unit(conditions(), 2))
    assert (hall.referee.queued(1), hall.referee.in_flight(1)) == (2, 0)
    hall.join(1)
    assert (hall.referee.queued(1), hall.referee.in_flight(1)) == (2, 0)
    hall.join(2)
    assert (hall.referee.queued(1), hall.referee.in_flight(1), hall.referee.in_flight()) == (0, 2, 2)
    hall.resign(hall.running(1))
    assert (hall.referee.queued(1), hall.referee.in_flight(1), hall.referee.in_flight()) == (0, 0, 0)


def test_nothing_is_known_of_tournaments_that_were_never_added(hall: Hall) -> None:
    assert (hall.referee.queued(5), hall.referee.in_flight(5)) == (0, 0)
    hall.referee.withdraw(5)
    hall.referee.abandon(5)


def test_progress_is_told_when_games_begin_and_when_they_end(hall: Hall) -> None:
    hall.referee.add(unit(conditions(concurrency=2), 4))
    hall.join(1)
    assert hall.progress == 0
    hall.join(2)
    assert hall.progress == 1
    hall.resign(hall.running(1)[:1])
    assert hall.progress == 2
    hall.referee.abandon()
    assert hall.progress == 3


def test_a_progress_callback_may_add_more(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    numbers = iter(range(2, 5))

    def add_another() -> None:
        for number in numbers:
            hall.referee.add(unit(conditions(), 1, attempt=number))

    hall.referee.on_progress = add_another
    hall.referee.add(unit(conditions(), 1))
    while hall.running(1):
        hall.resign(hall.running(1))
    assert Counter(game.attempt for game in hall.finished) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_exactly_the_wires_that_have_something_to_send_are_woken(hall: Hall) -> None:
    wires = [ScriptedConnection(1, 10) for _ in range(3)]
    for key, wire in enumerate(wires, start=1):
        hall.referee.joined(hall.referee.player(key), wire)
    before = [wire.wakes for wire in wires]
    hall.referee.add(unit(conditions(players=(1, 2, 3)), [Slot(1, 0, 1)]))
    assert [wire.wakes - earlier for wire, earlier in zip(wires, before, strict=True)] == [1, 1, 0]
    (game,) = hall.running(1)
    hall.answer(1, [game], [4])
    assert [wire.wakes - earlier for wire, earlier in zip(wires, before, strict=True)] == [1, 2, 0]


def test_a_wire_may_answer_as_soon_as_it_is_woken(hall: Hall) -> None:
    class Eager(ScriptedConnection):
        def __init__(self, key: int) -> None:
            super().__init__(1, 10)
            self.key = key

        def wake(self) -> None:
            player = hall.referee.player(self.key)
            outbox = player.take_outbox()
            games = [player.games[handle] for handle in outbox.turn_game]
            cells = [Position.after(game.conditions.variant, game.moves).free[0] for game in games]
            if cells:
                answers = Answers(outbox.turn_game, outbox.turn_ply, cells, [0] * len(cells))
                hall.referee.judge_answers(player, answers)

    for key in (1, 2):
        hall.referee.joined(hall.referee.player(key), Eager(key))
    hall.referee.add(unit(conditions(), 20))
    assert len(hall.finished) == 20
    assert hall.running(1, 2) == []


def test_a_player_that_joins_again_is_sent_its_running_games(hall: Hall) -> None:
    player = hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(), 2))
    player.take_outbox()
    hall.leave(1)
    hall.join(1)
    assert ordinals(player.outbox.starts) == [1, 2]
    assert len(player.outbox.turn_game) == 1


# Order and room.


def test_slots_are_played_in_the_order_in_which_they_came(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(concurrency=1), 3, attempt=1))
    hall.referee.add(unit(conditions(concurrency=1), 2, attempt=2))
    while hall.running(1):
        hall.resign(hall.running(1))
    assert [(game.attempt, game.ordinal) for game in hall.finished] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]


def test_a_player_takes_no_more_timed_games_than_it_said(hall: Hall) -> None:
    hall.join(1, timed=2)
    hall.join(2, timed=5)
    hall.referee.add(unit(conditions(time="1/move"), 9))
    assert ordinals(hall.running(1)) == [1, 2]


def test_a_tournament_has_no_more_games_in_flight_than_it_said(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(concurrency=4), 9))
    assert ordinals(hall.running(1)) == [1, 2, 3, 4]


def test_a_player_that_is_away_holds_up_only_its_own_games(hall: Hall) -> None:
    shared = conditions(players=(1, 2, 3), concurrency=1)
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(shared, [Slot(1, 0, 2), Slot(2, 1, 2), Slot(3, 0, 1), Slot(4, 1, 0)]))
    assert ordinals(hall.running(1)) == [3]
    hall.resign(hall.running(1))
    assert ordinals(hall.running(1)) == [4]
    hall.resign(hall.running(1))
    hall.join(3)
    assert ordinals(hall.running(3)) == [1]


def test_a_seat_that_is_freed_for_someone_who_is_away_goes_to_the_next(hall: Hall) -> None:
    shared = conditions(players=(1, 2, 3, 4))
    for key in (1, 2, 3, 4):
        hall.join(key, untimed=1)
    # Games 2 and 3 wait for player 2's seat; when it is free, player 3 has gone, and game 3 must get it.
    hall.referee.add(unit(shared, [Slot(1, 0, 1), Slot(2, 2, 1), Slot(3, 3, 1)]))
    hall.leave(3)
    hall.resign(hall.running(2))
    assert ordinals(hall.running(2)) == [3]


def test_a_seat_that_one_tournament_cannot_use_goes_to_another(hall: Hall) -> None:
    full = conditions(tournament=1, players=(1, 2, 3, 4, 5), concurrency=1)
    other = conditions(tournament=2, players=(1, 2, 3))
    for key in (1, 2, 3):
        hall.join(key, untimed=1)
    hall.referee.add(unit(other, [Slot(1, 0, 1)]))
    hall.referee.add(unit(full, [Slot(1, 0, 2)]))  # waits for player 1
    hall.referee.add(unit(other, [Slot(2, 0, 1)]))  # waits for player 1, too
    hall.join(4)
    hall.join(5)
    hall.referee.add(unit(full, [Slot(2, 3, 4)]))
    hall.resign(hall.running(1))
    assert [(game.unit.conditions.tournament, game.slot.ordinal) for game in hall.running(1)] == [(2, 2)]


def test_untimed_games_are_not_held_up_by_a_timed_one_that_finds_no_seat(hall: Hall) -> None:
    hall.join(1, timed=1, untimed=3)
    hall.join(2, timed=1, untimed=3)
    hall.referee.add(unit(conditions(tournament=1), 3))
    hall.referee.add(unit(conditions(tournament=2, time="1/move"), 1))
    hall.referee.add(unit(conditions(tournament=1), 9, attempt=2))
    for _ in range(9):
        assert len(hall.running(1)) == 3
        hall.resign(hall.running(1)[:1])
    while hall.running(1):
        hall.resign(hall.running(1))
    assert len(hall.finished) == 13


@pytest.mark.parametrize("untimed", [1, 3])
def test_timed_game_gets_the_next_place_of_a_busy_bot(hall: Hall, untimed: int) -> None:
    for key in (1, 2):
        hall.join(key, timed=1, untimed=untimed)
    hall.referee.add(unit(conditions(tournament=1), untimed))
    hall.referee.add(unit(conditions(tournament=2, time="1/move"), 2))
    hall.referee.add(unit(conditions(tournament=1), 9, attempt=2))
    hall.resign(hall.running(1)[:1])
    assert hall.referee.in_flight(2) == 1
    assert len(hall.running(1)) == untimed
    while hall.running(1):
        hall.resign(hall.running(1)[:1])
    assert Counter(game.tournament for game in hall.finished) == {1: untimed + 9, 2: 2}


def test_timed_game_begins_at_the_process_without_one(hall: Hall) -> None:
    members = hall.referee.player(1).enlist(2)
    for member in members:
        hall.referee.joined(member, ScriptedConnection(1, 3))
    hall.join(2, timed=2)
    hall.referee.add(unit(conditions(tournament=1), 3))
    hall.referee.add(unit(conditions(tournament=2, time="1/move"), 3))
    assert [member.games_of(timed=True) for member in members] == [1, 1]


# Withdrawing and stopping.


def test_a_withdrawn_tournament_begins_no_game_and_finishes_those_it_has(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(concurrency=2), 9))
    hall.referee.withdraw(1)
    assert (hall.referee.queued(1), hall.referee.in_flight(1)) == (0, 2)
    hall.resign(hall.running(1))
    assert (hall.referee.queued(1), hall.referee.in_flight(1)) == (0, 0)
    assert len(hall.finished) == 2


def test_a_withdrawn_tournament_can_be_added_again(hall: Hall) -> None:
    hall.join(1)
    hall.referee.add(unit(conditions(), 3))
    hall.referee.withdraw(1)
    hall.join(2)
    assert hall.running(1) == []
    hall.referee.add(unit(conditions(), 2, attempt=2))
    assert [game.unit.attempt for game in hall.running(1)] == [2, 2]
    assert hall.referee.queued(1) == 0


def test_withdrawing_one_tournament_leaves_the_others(hall: Hall) -> None:
    for tournament in (1, 2):
        hall.referee.add(unit(conditions(tournament=tournament), 3))
    hall.join(1)
    hall.referee.withdraw(1)
    hall.join(2)
    assert {game.unit.conditions.tournament for game in hall.running(1)} == {2}
    assert (hall.referee.queued(1), hall.referee.queued(2)) == (0, 0)


def test_after_stop_starting_only_running_games_are_finished(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(concurrency=2), 4))
    hall.referee.stop_starting()
    hall.resign(hall.running(1))
    hall.referee.add(unit(conditions(concurrency=2), 4, attempt=2))
    hall.join(1)
    assert hall.running(1) == []
    assert len(hall.finished) == 2
    assert hall.referee.queued(1) == 6


def test_abandoning_one_tournament_leaves_the_games_of_others(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    for tournament in (1, 2):
        hall.referee.add(unit(conditions(tournament=tournament), 2))
    hall.referee.withdraw(1)
    hall.referee.abandon(1)
    assert [game.unit.conditions.tournament for game in hall.running(1, 2)] == [2, 2]
    assert (hall.referee.in_flight(1), hall.referee.in_flight(2)) == (0, 2)


def test_who_is_gone_for_good_loses_its_games_and_the_rest_waits_for_it(hall: Hall) -> None:
    hall.join(1)
    hall.join(2)
    hall.referee.add(unit(conditions(concurrency=2), 5))
    hall.forfeit(1)
    assert [(game.ordinal, str(Result(game.result))) for game in hall.finished] == [(1, "0-1"), (2, "1-0")]
    assert {game.termination for game in hall.finished} == {Termination.DISCONNECTED}
    assert (hall.referee.queued(1), hall.referee.in_flight(1)) == (3, 0)
    hall.join(1)
    assert ordinals(hall.running(1)) == [3, 4]


# Any of all this, in any order.

KEYS = (1, 2, 3, 4)


class Tournaments(RuleBasedStateMachine):
    """Three tournaments among four players who come and go: no seat stays empty that anyone waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.hall = Hall()
        self.shared: list[GameConditions] = []
        self.units = 0
        self.waiting: set[tuple[int, int, int]] = set()
        """Tournament, attempt and ordinal of the slots that have not begun."""
        self.slots: dict[tuple[int, int, int], Slot] = {}
        self.begun: dict[int, Game] = {}
        self.expected: Counter[tuple[int, int, int]] = Counter()

    @initialize(rooms=st.tuples(*[st.integers(1, 5)] * 3), timed=st.integers(0, 2))
    def found(self, rooms: tuple[int, int, int], timed: int) -> None:
        for tournament, concurrency in enumerate(rooms):
            time = "1/move" if tournament == timed else "none"
            self.shared.append(
                conditions("mnk:1,1,1", time, tournament=tournament, concurrency=concurrency, players=KEYS)
            )

    @rule(tournament=st.integers(0, 2), pairs=st.lists(st.sampled_from(list(combinations(range(4), 2))), max_size=8))
    def add(self, tournament: int, pairs: list[tuple[int, int]]) -> None:
        self.units += 1
        slots = [Slot(ordinal, *pair) for ordinal, pair in enumerate(pairs, start=1)]
        for slot in slots:
            self.slots[tournament, self.units, slot.ordinal] = slot
            self.waiting.add((tournament, self.units, slot.ordinal))
        self.hall.referee.add(unit(self.shared[tournament], slots, attempt=self.units))
        self.look()

    @rule(key=st.sampled_from(KEYS), timed=st.integers(1, 3), untimed=st.integers(1, 6))
    def join(self, key: int, timed: int, untimed: int) -> None:
        self.hall.join(key, timed, untimed)
        self.look()

    @rule(key=st.sampled_from(KEYS))
    def leave(self, key: int) -> None:
        self.hall.leave(key)

    @rule(key=st.sampled_from(KEYS))
    def forfeit(self, key: int) -> None:
        self.hall.forfeit(key)
        self.look()

    @rule(which=st.lists(st.integers(0, 30), min_size=1, max_size=6))
    def finish(self, which: list[int]) -> None:
        running = self.hall.running(*KEYS)
        chosen = {running[index % len(running)] for index in which} if running else set()
        self.hall.resign(sorted(chosen, key=lambda game: game.handle))
        self.look()

    @rule(tournament=st.integers(0, 2))
    def withdraw(self, tournament: int) -> None:
        self.hall.referee.withdraw(tournament)
        for name in [name for name in self.waiting if name[0] == tournament]:
            self.waiting.discard(name)

    @rule(tournament=st.integers(0, 2))
    def abandon(self, tournament: int) -> None:
        running = [game for game in self.hall.running(*KEYS) if game.unit.conditions.tournament == tournament]
        self.hall.referee.abandon(tournament)
        for game in running:
            self.expected[self.name(game)] -= 1
        self.look()

    def name(self, game: Game) -> tuple[int, int, int]:
        return game.unit.conditions.tournament, game.unit.attempt, game.slot.ordinal

    def look(self) -> None:
        """Takes note of the games that have begun since the last look, each for the first and only time."""
        for game in self.hall.running(*KEYS):
            if game.handle not in self.begun:
                self.begun[game.handle] = game
                self.waiting.remove(self.name(game))
                self.expected[self.name(game)] += 1

    def capacity(self, key: int, timed: bool) -> int:
        wire = self.hall.referee.player(key).wire
        if wire is None:
            return 0
        return wire.capacity_timed if timed else wire.capacity_untimed

    @invariant()
    def counts_are_right(self) -> None:
        for tournament in range(len(self.shared)):
            running = [game for game in self.hall.running(*KEYS) if game.unit.conditions.tournament == tournament]
            assert self.hall.referee.in_flight(tournament) == len(running)
            assert self.hall.referee.queued(tournament) == sum(1 for name in self.waiting if name[0] == tournament)
            assert len(running) <= self.shared[tournament].concurrency
        assert self.hall.referee.in_flight() == len(self.hall.running(*KEYS))

    @invariant()
    def whoever_waits_has_no_room(self) -> None:
        for tournament, number, ordinal in self.waiting:
            shared = self.shared[tournament]
            slot = self.slots[tournament, number, ordinal]
            players = [shared.players[slot.first], shared.players[slot.second]]
            full = self.hall.referee.in_flight(tournament) >= shared.concurrency
            assert full or any(self.full(key, shared.time.timed) for key in players)

    def full(self, key: int, timed: bool) -> bool:
        """Does a player have no place for another game? A timed game needs one for timed games, too."""
        running = self.hall.running(key)
        if not timed:
            return len(running) >= self.capacity(key, timed)
        of_clocks = sum(game.conditions.timed for game in running)
        most = max(self.capacity(key, each) for each in (False, True))
        return of_clocks >= self.capacity(key, timed) or len(running) >= most

    def teardown(self) -> None:
        """All players come, and each game is played once."""
        if self.shared:
            for key in KEYS:
                self.join(key, 2, 5)
            while self.hall.running(*KEYS):
                self.finish(list(range(20)))
            played = Counter((game.tournament, game.attempt, game.ordinal) for game in self.hall.finished)
            assert self.waiting == set()
            assert set(played.values()) <= {1}
            assert played == +self.expected


@pytest.mark.long
def test_no_awaited_seat_stays_empty_and_each_game_is_played_once() -> None:
    run_state_machine_as_test(Tournaments, settings=examples(60, steps=40))


class Crowd(RuleBasedStateMachine):
    """Players whose connections stay up, on seats of any number: never more games than seats."""

    def __init__(self) -> None:
        super().__init__()
        self.hall = Hall()
        self.seats = dict.fromkeys(KEYS, 0)

    @initialize(seats=st.lists(st.integers(1, 4), min_size=4, max_size=4), rooms=st.tuples(*[st.integers(1, 9)] * 2))
    def found(self, seats: list[int], rooms: tuple[int, int]) -> None:
        self.seats = dict(zip(KEYS, seats, strict=True))
        for key, number in self.seats.items():
            self.hall.join(key, timed=number, untimed=number)
        for tournament, concurrency in enumerate(rooms):
            shared = conditions("mnk:1,1,1", tournament=tournament, concurrency=concurrency, players=KEYS)
            pairs = [pair for _ in range(3) for pair in combinations(range(4), 2)]
            self.hall.referee.add(unit(shared, [Slot(ordinal, *pair) for ordinal, pair in enumerate(pairs)]))

    @rule(which=st.lists(st.integers(0, 30), min_size=1, max_size=6))
    def finish(self, which: list[int]) -> None:
        running = self.hall.running(*KEYS)
        self.hall.resign({running[index % len(running)] for index in which} if running else ())

    @invariant()
    def nobody_plays_more_than_it_has_seats(self) -> None:
        for key in KEYS:
            assert len(self.hall.running(key)) <= self.seats[key]


def test_nobody_ever_plays_more_games_at_once_than_it_has_seats() -> None:
    run_state_machine_as_test(Crowd, settings=examples(24, steps=30))
