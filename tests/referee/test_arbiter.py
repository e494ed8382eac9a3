"""The arbiter's decisions about moves, resignations, forfeits and draws. The tests give all times as numbers."""

import time
from dataclasses import replace

import pytest

from noughts_referee.arbiter import Answers
from noughts_referee.rules import Adjudication, Termination
from noughts_referee.work_units import ScheduledGame
from tests.support.games import ArbiterDriver, conditions, verdict

SECOND = 1_000_000
MARGIN = 50_000


@pytest.fixture
def driver() -> ArbiterDriver:
    return ArbiterDriver(margin_us=MARGIN)


# Whole games.


def test_the_first_mover_wins_with_a_line(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [0, 3, 1, 4, 2], took=7)
    assert verdict(game) == ("1-0", "line")
    assert game.moves == [0, 3, 1, 4, 2]
    assert game.times_us == [7] * 5
    assert driver.arbiter.take_ended() == [game]
    assert driver.arbiter.take_ended() == []


def test_the_second_mover_wins_with_a_line(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [0, 2, 1, 4, 8, 6])
    assert verdict(game) == ("0-1", "line")


def test_a_full_board_without_a_line_is_a_draw(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert verdict(game) == ("1/2-1/2", "board_full")


def test_a_line_with_the_last_stone_wins(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [0, 1, 2, 4, 3, 5, 7, 8, 6])
    assert verdict(game) == ("1-0", "line")


def test_more_in_a_row_than_needed_win_too(driver: ArbiterDriver) -> None:
    game = driver.start(conditions("mnk:7,2,3"))
    driver.play(game, [0, 7, 1, 8, 3, 10, 4, 11, 2])
    assert verdict(game) == ("1-0", "line")


def test_the_only_cell_of_the_smallest_board_wins(driver: ArbiterDriver) -> None:
    game = driver.start(conditions("mnk:1,1,1"))
    driver.play(game, [0])
    assert verdict(game) == ("1-0", "line")


# Illegal moves.


def test_an_occupied_cell_loses(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4, 4])
    assert verdict(game) == ("1-0", "illegal_move")
    assert game.moves == [4]


def test_a_cell_with_an_own_stone_is_occupied_too(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4, 0, 4])
    assert verdict(game) == ("0-1", "illegal_move")
    assert game.moves == [4, 0]


@pytest.mark.parametrize("cell", [9, 10, 64, 2**31, 2**32 - 1])
def test_a_cell_off_the_board_loses(driver: ArbiterDriver, cell: int) -> None:
    game = driver.start()
    driver.play(game, [cell])
    assert verdict(game) == ("0-1", "illegal_move")
    assert game.moves == []
    assert len(game.times_us) == 1


def test_huge_cell_numbers_take_no_longer_than_small_ones(driver: ArbiterDriver) -> None:
    games = [driver.start() for _ in range(2_000)]
    handles = [game.handle for game in games]
    began = time.process_time()
    driver.arbiter.judge_answers(driver.player(1), Answers(handles, [0] * 2_000, [2**32 - 1] * 2_000, [0] * 2_000))
    # Shifting 1 by 2**32 - 1 bits for each game would take minutes.
    assert time.process_time() - began < 1.0
    assert {verdict(game) for game in games} == {("0-1", "illegal_move")}


# Resignations.


def test_a_row_that_resigns_loses_and_its_cell_is_ignored(driver: ArbiterDriver) -> None:
    games = [driver.start() for _ in range(3)]
    handles = [game.handle for game in games]
    driver.arbiter.judge_answers(driver.player(1), Answers(handles, [0] * 3, [4, 99, 4], [5, 6, 7], resigned=[1]))
    assert verdict(games[1]) == ("0-1", "resigned")
    assert games[1].moves == []
    assert games[1].times_us == [6]
    assert [games[0].moves, games[2].moves] == [[4], [4]]


def test_the_second_mover_can_resign(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4])
    driver.answer(game, 0, resigns=True)
    assert verdict(game) == ("1-0", "resigned")


def test_rows_that_do_not_exist_resign_nothing(driver: ArbiterDriver) -> None:
    game = driver.start()
    assert (
        driver.arbiter.judge_answers(driver.player(1), Answers([game.handle], [0], [4], [0], resigned=[1, 1, 2**31]))
        == []
    )
    assert game.moves == [4]


def test_a_row_named_twice_resigns_once(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.arbiter.judge_answers(driver.player(1), Answers([game.handle], [0], [4], [0], resigned=[0, 0]))
    assert verdict(game) == ("0-1", "resigned")
    assert driver.arbiter.take_ended() == [game]


def test_a_resignation_out_of_turn_is_an_answer_out_of_turn(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4])
    first, handle = driver.player(1), game.handle
    assert driver.arbiter.judge_answers(first, Answers([handle], [0], [0], [0], [0])) == []
    assert driver.arbiter.late_answers == 1
    (complaint,) = driver.arbiter.judge_answers(first, Answers([handle], [1], [0], [0], [0]))
    assert (complaint.game, complaint.ply) == (handle, 1)
    (complaint,) = driver.arbiter.judge_answers(first, Answers([handle + 1], [0], [0], [0], [0]))
    assert complaint.game == handle + 1
    assert game.ply == 1


def test_a_frame_of_resignations_takes_no_longer_than_one_of_moves(driver: ArbiterDriver) -> None:
    games = [driver.start() for _ in range(20_000)]
    handles = [game.handle for game in games]
    began = time.process_time()
    driver.arbiter.judge_answers(
        driver.player(1), Answers(handles, [0] * 20_000, [0] * 20_000, [0] * 20_000, range(20_000))
    )
    assert time.process_time() - began < 1.0
    assert {verdict(game) for game in games} == {("0-1", "resigned")}


# Forfeits and abandoned games.


@pytest.mark.parametrize("plies", [0, 1, 2, 3])
@pytest.mark.parametrize("absent_key", [1, 2])
def test_a_forfeit_loses_whichever_side_is_to_move(driver: ArbiterDriver, plies: int, absent_key: int) -> None:
    game = driver.start()
    driver.play(game, range(plies))
    driver.arbiter.forfeit(driver.player(absent_key), Termination.DISCONNECTED)
    assert verdict(game) == ("0-1" if absent_key == 1 else "1-0", "disconnected")


def test_a_forfeit_loses_all_running_games_of_that_player_only(driver: ArbiterDriver) -> None:
    shared = conditions(players=(1, 2, 3))
    lost = [driver.start(shared, ScheduledGame(1, 0, 1)), driver.start(shared, ScheduledGame(2, 1, 0))]
    other = driver.start(shared, ScheduledGame(3, 1, 2))
    driver.arbiter.forfeit(driver.player(1), Termination.CRASHED)
    assert [verdict(game) for game in lost] == [("0-1", "crashed"), ("1-0", "crashed")]
    assert list(driver.player(2).games.values()) == [other]
    assert driver.arbiter.take_ended() == lost


def test_abandoned_games_are_void(driver: ArbiterDriver) -> None:
    games = [driver.start(), driver.start()]
    driver.play(games[0], [4])
    driver.arbiter.abandon(driver.player(1).games.values())
    assert [verdict(game) for game in games] == [("*", "void")] * 2
    assert [len(player.outbox.ends) for player in games[0].players] == [2, 2]


# Why a game was lost.


def test_a_game_lost_by_a_fault_has_its_reason(driver: ArbiterDriver) -> None:
    game = driver.start(conditions("gomoku"))
    driver.play(game, [112, 112])
    assert game.fault == "placed a stone on h8 (cell 112), which is occupied"
    game = driver.start(conditions(time="1/move"))
    driver.answer(game, 4, took=2 * SECOND)
    assert game.fault == "took 2.000 s for its move and had 1.000 s left"
    game = driver.start(conditions(time="20/move"))
    driver.answer(game, 4, took=20_270_000)
    assert game.fault == "took 20.3 s for its move and had 20.0 s left"
    game = driver.start()
    driver.arbiter.forfeit(driver.player(1), Termination.CRASHED, "could not be started")
    assert game.fault == "could not be started"


def test_a_game_not_lost_by_a_fault_has_no_reason(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [0, 3, 1, 4, 2])
    assert game.fault == ""
    game = driver.start()
    driver.answer(game, 0, resigns=True)
    assert game.fault == ""


def test_reasons_belong_to_resignations_in_their_order(driver: ArbiterDriver) -> None:
    games = [driver.start() for _ in range(4)]
    handles = [game.handle for game in games]
    resigned, reasons = [3, 0, 2], ["the last", "the first"]
    driver.arbiter.judge_answers(driver.player(1), Answers(handles, [0] * 4, [4] * 4, [0] * 4, resigned, reasons))
    assert [game.fault for game in games] == ["resigned: the first", "", "", "resigned: the last"]


# Draws after a number of plies.


def test_draw_after_ends_a_game_as_an_adjudicated_draw(driver: ArbiterDriver) -> None:
    game = driver.start(replace(conditions(), adjudication=Adjudication(draw_after=6)))
    driver.play(game, [0, 3, 1, 4, 8, 2])
    assert verdict(game) == ("1/2-1/2", "adjudicated")


def test_a_line_at_the_last_ply_before_draw_after_wins(driver: ArbiterDriver) -> None:
    game = driver.start(replace(conditions(), adjudication=Adjudication(draw_after=5)))
    driver.play(game, [0, 3, 1, 4, 2])
    assert verdict(game) == ("1-0", "line")


def test_a_full_board_at_draw_after_ends_as_board_full(driver: ArbiterDriver) -> None:
    game = driver.start(replace(conditions(), adjudication=Adjudication(draw_after=9)))
    driver.play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert verdict(game) == ("1/2-1/2", "board_full")


def test_an_illegal_move_at_the_last_ply_before_draw_after_loses(driver: ArbiterDriver) -> None:
    game = driver.start(replace(conditions(), adjudication=Adjudication(draw_after=3)))
    driver.play(game, [0, 3, 3])
    assert verdict(game) == ("0-1", "illegal_move")


@pytest.mark.parametrize("variant", ["renju", "caro", "connect4"])
def test_draw_after_works_in_every_variant(driver: ArbiterDriver, variant: str) -> None:
    game = driver.start(replace(conditions(variant), adjudication=Adjudication(draw_after=2)))
    driver.play(game, [35, 36])
    assert verdict(game) == ("1/2-1/2", "adjudicated")
