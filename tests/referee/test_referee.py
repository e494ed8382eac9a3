"""The referee's queue: which games begin when, and that each scheduled game is played."""

from collections import Counter

import pytest

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.rules import Position, Result, Termination
from noughts_referee.work_units import ScheduledGame, unpack_moves, unpack_times
from tests.support.games import conditions, unit

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
