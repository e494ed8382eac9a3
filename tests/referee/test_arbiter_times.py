"""The arbiter's decisions about times: limits, clocks, margins and silence. The tests give all times as numbers."""

import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.frame_encoding import turns_columns
from tests.support.games import ArbiterDriver, conditions, verdict

SECOND = 1_000_000
MARGIN = 50_000


@pytest.fixture
def driver() -> ArbiterDriver:
    return ArbiterDriver(margin_us=MARGIN)


def test_a_move_within_its_limit_and_the_margin_is_in_time(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1/move"))
    driver.play(game, [4], took=SECOND + MARGIN)
    assert game.moves == [4]


def test_a_late_move_loses_on_time_and_is_not_played(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1/move"))
    driver.play(game, [4], took=SECOND + MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")
    assert game.moves == []
    assert game.times_us == [SECOND + MARGIN + 1]


def test_the_move_limit_does_not_depend_on_earlier_moves(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1/move"))
    driver.play(game, [0, 1, 2, 3], took=SECOND)
    assert game.limit_us() == SECOND
    assert game.ply == 4


def test_a_late_move_loses_even_if_it_would_have_won_or_was_illegal(driver: ArbiterDriver) -> None:
    winning = driver.start(conditions(time="1/move"))
    driver.play(winning, [0, 3, 1, 4])
    driver.play(winning, [2], took=2 * SECOND)
    assert verdict(winning) == ("0-1", "timeout")
    illegal = driver.start(conditions(time="1/move"))
    driver.play(illegal, [99], took=2 * SECOND)
    assert verdict(illegal) == ("0-1", "timeout")


def test_each_move_reduces_the_clock_and_adds_the_increment(driver: ArbiterDriver) -> None:
    game = driver.start(conditions("mnk:5,5,5", time="10+2"))
    driver.play(game, [0], took=3 * SECOND)
    assert game.left_us == [9 * SECOND, 10 * SECOND]
    driver.play(game, [1], took=4 * SECOND)
    assert game.left_us == [9 * SECOND, 8 * SECOND]
    driver.play(game, [2], took=9 * SECOND)
    assert game.left_us == [2 * SECOND, 8 * SECOND]
    driver.play(game, [3])
    assert game.left_us == [2 * SECOND, 10 * SECOND]
    driver.play(game, [4], took=2 * SECOND + MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")


def test_time_beyond_the_clock_does_not_reduce_the_increment(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1+2"))
    driver.play(game, [0], took=SECOND + MARGIN)
    assert game.left_us[0] == 2 * SECOND


def test_an_empty_clock_still_has_the_margin(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1"))
    driver.play(game, [0], took=SECOND)
    driver.play(game, [1])
    driver.play(game, [2], took=MARGIN)
    assert game.left_us[0] == 0
    driver.play(game, [3])
    # The empty clock is sent as 1 us, because 0 would mean that there is no limit.
    player, turns = driver.player(1), pb.Turns()
    turns_columns(turns, player, player.take_outbox())
    assert turns.own_clock_us[-1] == 1
    driver.play(game, [4], took=MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")


def test_a_move_beyond_its_limit_loses_despite_a_full_clock(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="180/30+0"))
    driver.play(game, [4], took=30 * SECOND + MARGIN)
    assert (game.moves, game.left_us) == ([4], [150 * SECOND - MARGIN, 180 * SECOND])
    driver.play(game, [0], took=30 * SECOND + MARGIN + 1)
    assert verdict(game) == ("1-0", "timeout")


def test_a_clock_below_the_move_limit_ends_the_move(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="40/30+0"))
    driver.play(game, [4], took=25 * SECOND)
    driver.play(game, [0])
    assert game.limit_us() == 15 * SECOND
    driver.play(game, [1], took=15 * SECOND + MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")


def test_silence_past_the_move_limit_loses_on_time(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="180/30+0"))
    driver.arbiter.end_overdue(driver.player(1), [(game.handle, 0, 30 * SECOND + MARGIN)])
    assert driver.arbiter.ended == []
    driver.arbiter.end_overdue(driver.player(1), [(game.handle, 0, 30 * SECOND + MARGIN + 1)])
    assert verdict(game) == ("0-1", "timeout")


def test_untimed_games_never_end_on_time(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4], took=10**15)
    assert game.moves == [4]
    driver.arbiter.end_overdue(driver.player(2), [(game.handle, 1, 10**15)])
    assert driver.arbiter.ended == []


def test_silence_past_the_limit_loses_on_time(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1/move"))
    driver.arbiter.end_overdue(driver.player(1), [(game.handle, 0, SECOND + MARGIN + 1)])
    assert verdict(game) == ("0-1", "timeout")
    assert game.times_us == [SECOND + MARGIN + 1]


def test_silence_within_the_limit_changes_neither_game_nor_clock(driver: ArbiterDriver) -> None:
    per_move, bank = driver.start(conditions(time="1/move")), driver.start(conditions(time="1+0.1"))
    for took in (1, SECOND // 2, SECOND + MARGIN):
        driver.arbiter.end_overdue(driver.player(1), [(per_move.handle, 0, took), (bank.handle, 0, took)])
    assert driver.arbiter.ended == []
    assert bank.left_us == [SECOND, SECOND]
    driver.play(bank, [4], took=SECOND)
    assert bank.left_us == [SECOND // 10, SECOND]


def test_silence_about_an_answered_question_is_ignored(driver: ArbiterDriver) -> None:
    game = driver.start(conditions(time="1/move"))
    driver.play(game, [4, 0])
    driver.arbiter.end_overdue(driver.player(1), [(game.handle, 0, 9 * SECOND), (game.handle, 1, 9 * SECOND)])
    driver.arbiter.end_overdue(driver.player(2), [(game.handle, 2, 9 * SECOND), (game.handle + 1, 0, 9 * SECOND)])
    assert driver.arbiter.ended == []


def test_timed_games_with_an_open_question_are_listed(driver: ArbiterDriver) -> None:
    timed, untimed = driver.start(conditions(time="1/move")), driver.start()
    assert driver.player(1).take_outbox().turns_timed == [timed]
    driver.play(timed, [4])
    driver.play(untimed, [4])
    assert driver.player(2).take_outbox().turns_timed == [timed]
