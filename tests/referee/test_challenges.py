"""Challenges and guests' tests take no capacity from tournaments, and wait while their bots play timed games."""

import pytest

from noughts_referee.work_units import GameConditions, ScheduledGame
from tests.support.games import conditions, unit

from .referee_driver import RefereeDriver

CUP = conditions("mnk:4,4,3", "1/move", players=(1, 2))
CHALLENGE = conditions("mnk:4,4,3", tournament=9, players=(1, 3), guest=True)
TIMED_CHALLENGE = conditions("mnk:4,4,3", "1/move", tournament=9, players=(1, 3), guest=True)
TEST = conditions("mnk:4,4,3", "1/move", tournament=9, players=(1, 3), guest_test=True)


@pytest.fixture
def driver() -> RefereeDriver:
    driver = RefereeDriver()
    for key in (1, 2, 3):
        driver.join(key, untimed=1)
    return driver


def running_games(driver: RefereeDriver) -> list[tuple[int, int]]:
    """Return tournament and ordinal of each running game."""
    return [(game.conditions.tournament, game.slot.ordinal) for game in driver.running(1, 2, 3)]


def test_an_unanswered_challenge_delays_no_tournament(driver: RefereeDriver) -> None:
    displaced: list[GameConditions] = []
    driver.referee.on_displaced = displaced.append
    driver.referee.add(unit(CHALLENGE, [ScheduledGame(1, 0, 1)]))
    assert running_games(driver) == [(9, 1)]
    driver.referee.add(unit(CUP, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    assert running_games(driver) == [(9, 1), (1, 1)]
    assert displaced == [CHALLENGE]
    driver.referee.withdraw(9)
    driver.referee.abandon(9)
    assert running_games(driver) == [(1, 1)]


@pytest.mark.parametrize("challenge", [CHALLENGE, TIMED_CHALLENGE])
def test_a_challenge_waits_until_no_timed_game_is_left(driver: RefereeDriver, challenge: GameConditions) -> None:
    driver.referee.add(unit(CUP, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    driver.referee.add(unit(challenge, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    assert running_games(driver) == [(1, 1)]
    driver.resign(driver.running(1, 2))
    assert running_games(driver) == [(1, 2)]
    driver.resign(driver.running(1, 2))
    assert running_games(driver) == [(9, 1)]
    driver.resign(driver.running(1, 3))
    assert running_games(driver) == [(9, 2)]
    driver.resign(driver.running(1, 3))
    assert driver.referee.count_running() == driver.referee.count_queued() == 0


def test_a_challenge_runs_next_to_untimed_games(driver: RefereeDriver) -> None:
    driver.referee.add(unit(conditions("mnk:4,4,3", players=(1, 2)), [ScheduledGame(1, 0, 1)]))
    driver.referee.add(unit(CHALLENGE, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    assert running_games(driver) == [(1, 1), (9, 1)]


def test_a_challenge_begins_when_the_tournament_before_it_is_cancelled(driver: RefereeDriver) -> None:
    driver.referee.add(unit(CUP, [ScheduledGame(1, 0, 1)]))
    driver.referee.add(unit(CHALLENGE, [ScheduledGame(1, 0, 1)]))
    driver.referee.withdraw(1)
    driver.referee.abandon(1)
    assert running_games(driver) == [(9, 1)]


def test_a_silent_bot_in_a_guests_test_delays_no_tournament(driver: RefereeDriver) -> None:
    displaced: list[GameConditions] = []
    driver.referee.on_displaced = displaced.append
    driver.referee.add(unit(TEST, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    driver.referee.add(unit(CUP, [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    assert running_games(driver) == [(9, 1), (1, 1)]
    assert displaced == [TEST]


def test_a_guests_test_begins_after_the_games_of_tournaments(driver: RefereeDriver) -> None:
    driver.referee.add(unit(conditions("mnk:4,4,3", players=(1, 2)), [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    driver.referee.add(unit(TEST, [ScheduledGame(1, 0, 1)]))
    assert running_games(driver) == [(1, 1)]
    driver.resign(driver.running(1, 2))
    assert running_games(driver) == [(1, 2)]
    driver.resign(driver.running(1, 2))
    assert running_games(driver) == [(9, 1)]


def test_free_capacity_goes_to_a_tournament_before_an_earlier_guest(driver: RefereeDriver) -> None:
    driver.referee.hold("test")
    driver.referee.add(unit(TEST, [ScheduledGame(1, 0, 1)]))
    driver.referee.add(unit(CUP, [ScheduledGame(1, 0, 1)]))
    driver.referee.release_hold("test")
    assert running_games(driver) == [(1, 1)]
