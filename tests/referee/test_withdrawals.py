"""Withdrawn entries: their opponents win the remaining games without playing."""

from dataclasses import replace

import pytest

from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import ScheduledGame
from tests.support.games import conditions, unit

from .referee_driver import RefereeDriver

THREE = conditions(players=(1, 2, 3), concurrency=2)
SLOTS = [
    ScheduledGame(1, 0, 1),
    ScheduledGame(2, 1, 2),
    ScheduledGame(3, 2, 0),
    ScheduledGame(4, 1, 0),
    ScheduledGame(5, 2, 1),
    ScheduledGame(6, 0, 2),
]


@pytest.fixture
def driver() -> RefereeDriver:
    driver = RefereeDriver()
    for key in (1, 2, 3):
        driver.join(key)
    return driver


def test_opponents_win_the_games_of_a_withdrawn_entry(driver: RefereeDriver) -> None:
    driver.referee.add(unit(replace(THREE, withdrawn={1: "left"}), SLOTS))
    assert {game.ordinal: (game.result, game.termination) for game in driver.finished} == {
        1: (Result.FIRST_WINS, Termination.ADJUDICATED),
        2: (Result.SECOND_WINS, Termination.ADJUDICATED),
        4: (Result.SECOND_WINS, Termination.ADJUDICATED),
        5: (Result.FIRST_WINS, Termination.ADJUDICATED),
    }
    assert {game.fault for game in driver.finished} == {"was withdrawn: left"}
    assert [game.slot.ordinal for game in driver.running(1)] == [3, 6]
    assert driver.referee.count_queued() == 0


def test_a_withdrawn_entry_loses_its_running_and_queued_games(driver: RefereeDriver) -> None:
    driver.referee.add(unit(THREE, SLOTS))
    assert [game.slot.ordinal for game in driver.running(1, 2, 3)] == [1, 2]
    driver.referee.withdraw_entries(1, {1: "lost 3 games through its own fault (3 crashed)"})
    assert sorted(game.ordinal for game in driver.finished) == [1, 2, 4, 5]
    lost = {game.ordinal: (game.result, game.termination) for game in driver.finished[:2]}
    assert lost == {
        1: (Result.FIRST_WINS, Termination.ADJUDICATED),
        2: (Result.SECOND_WINS, Termination.ADJUDICATED),
    }
    assert {game.fault for game in driver.finished} == {"was withdrawn: lost 3 games through its own fault (3 crashed)"}
    driver.resign(driver.running(1, 2, 3))
    assert sorted(game.ordinal for game in driver.finished) == [1, 2, 3, 4, 5, 6]
    assert driver.referee.count_running() == driver.referee.count_queued() == 0


def test_a_game_of_two_withdrawn_entries_is_a_draw(driver: RefereeDriver) -> None:
    driver.referee.add(unit(replace(THREE, withdrawn={1: "", 2: ""}), [ScheduledGame(1, 1, 2)]))
    [game] = driver.finished
    assert (game.result, game.fault) == (Result.DRAW, "was withdrawn")


def test_games_that_wait_for_an_absent_bot_are_won_at_its_withdrawal(driver: RefereeDriver) -> None:
    driver.leave(2)
    driver.referee.add(unit(THREE, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 2)]))
    assert driver.finished == []
    driver.referee.withdraw_entries(1, {1: ""})
    assert sorted(game.ordinal for game in driver.finished) == [1, 2]


def test_a_player_that_joins_later_plays_in_units_that_include_it(driver: RefereeDriver) -> None:
    driver.referee.add(unit(THREE, [ScheduledGame(1, 0, 1)]))
    driver.join(4)
    driver.referee.add(unit(conditions(players=(1, 2, 3, 4), concurrency=2), [ScheduledGame(2, 3, 2)]))
    assert [game.slot.ordinal for game in driver.running(4)] == [2]
