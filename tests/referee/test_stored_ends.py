"""Players that learn the ends of their games after the commit."""

import pytest

from noughts_referee.rules import Result
from noughts_referee.work_units import ScheduledGame
from tests.support.games import conditions, unit

from .referee_driver import RefereeDriver


@pytest.fixture
def driver() -> RefereeDriver:
    """Players 1 and 2 have played two games. Only player 1 gets ends after the commit."""
    driver = RefereeDriver()
    driver.join(1)
    driver.join(2)
    driver.referee.player(1).stored_ends = True
    driver.referee.add(unit(conditions(), [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    driver.resign(driver.running(1))
    return driver


def ends(driver: RefereeDriver, key: int) -> list[tuple[int, Result]]:
    return [(game.slot.ordinal, game.result) for game in driver.referee.player(key).outbox.ends]


def test_only_players_with_stored_ends_wait_for_the_commit(driver: RefereeDriver) -> None:
    results = [(1, Result.SECOND_WINS), (2, Result.SECOND_WINS)]
    assert (ends(driver, 1), ends(driver, 2)) == ([], results)
    driver.referee.announce_stored(driver.finished, driver.finished)
    assert ends(driver, 1) == results
    driver.referee.announce_stored(driver.finished, driver.finished)
    assert ends(driver, 1) == results


def test_a_game_that_the_commit_did_not_store_ends_as_void(driver: RefereeDriver) -> None:
    driver.referee.announce_stored(driver.finished, driver.finished[:1])
    assert ends(driver, 1) == [(1, Result.SECOND_WINS), (2, Result.VOID)]


def test_a_new_stream_gets_no_ends_of_earlier_games(driver: RefereeDriver) -> None:
    driver.join(1)
    driver.referee.announce_stored(driver.finished, driver.finished)
    assert ends(driver, 1) == []


def test_an_abandoned_game_ends_at_once(driver: RefereeDriver) -> None:
    driver.referee.add(unit(conditions(), [ScheduledGame(3, 0, 1)]))
    driver.referee.abandon()
    assert ends(driver, 1) == [(3, Result.VOID)]
