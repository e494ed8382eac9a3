"""The arbiter's decisions about moves, times, resignations and forfeits. The tests give all times as numbers."""

import time
from dataclasses import replace

import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.arbiter import MOST_COMPLAINTS, Answers
from noughts_referee.frame_encoding import turns_columns
from noughts_referee.rules import Adjudication, Position, Termination
from noughts_referee.work_units import ScheduledGame
from tests.support.games import ArbiterDriver, Question, conditions, verdict

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


# Messages to players.


def test_both_players_get_the_start_and_the_first_mover_is_asked(driver: ArbiterDriver) -> None:
    game = driver.start()
    assert [len(player.outbox.starts) for player in game.players] == [1, 1]
    assert driver.take_questions(1) == [Question(game.handle, 0, 0)]
    assert driver.take_questions(2) == []
    assert driver.arbiter.touched == set(game.players)


def test_a_question_carries_the_ply_and_the_move_before(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.take_questions(1)
    driver.answer(game, 4)
    assert driver.take_questions(2) == [Question(game.handle, 1, 4)]
    driver.answer(game, 8)
    assert driver.take_questions(1) == [Question(game.handle, 2, 8)]


def test_both_players_get_the_end_and_no_question(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [0, 3, 1, 4])
    driver.take_questions(1)
    driver.take_questions(2)
    driver.arbiter.touched.clear()
    driver.answer(game, 2)
    assert [player.outbox.ends for player in game.players] == [[game], [game]]
    assert driver.take_questions(1) == driver.take_questions(2) == []
    assert driver.arbiter.touched == set(game.players)
    assert [player.games for player in game.players] == [{}, {}]


def test_one_frame_answers_games_against_several_opponents(driver: ArbiterDriver) -> None:
    shared = conditions(players=(1, 2, 3))
    games = [driver.start(shared, ScheduledGame(ordinal, 0, 1 + ordinal % 2)) for ordinal in range(6)]
    handles = [game.handle for game in games]
    driver.arbiter.judge_answers(driver.player(1), Answers(handles, [0] * 6, [0, 1, 2, 3, 4, 5], [10] * 6))
    assert driver.take_questions(2) == [Question(handles[index], 1, index) for index in (0, 2, 4)]
    assert driver.take_questions(3) == [Question(handles[index], 1, index) for index in (1, 3, 5)]


def test_handles_are_never_used_again(driver: ArbiterDriver) -> None:
    handles = []
    for _ in range(5):
        game = driver.start()
        handles.append(game.handle)
        driver.answer(game, 0, resigns=True)
    assert len(set(handles)) == 5


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


# Time.


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


# Late, unknown and wrong answers.


def test_late_answers_are_dropped_and_counted(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4, 0])
    first, handle = driver.player(1), game.handle
    assert driver.arbiter.judge_answers(first, Answers([handle], [0], [8], [0])) == []
    assert driver.arbiter.late_answers == 1
    assert game.moves == [4, 0]
    driver.answer(game, 0, resigns=True)
    assert driver.arbiter.judge_answers(first, Answers([handle], [2], [8], [0])) == []
    assert driver.arbiter.late_answers == 2


def test_of_two_answers_in_one_frame_the_first_counts(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.arbiter.judge_answers(driver.player(1), Answers([game.handle] * 2, [0, 0], [4, 5], [0, 0]))
    assert game.moves == [4]
    assert driver.arbiter.late_answers == 1


@pytest.mark.parametrize("handle", [0, 2, 2**63])
def test_an_answer_for_an_unknown_game_gets_a_complaint(driver: ArbiterDriver, handle: int) -> None:
    driver.start()
    (complaint,) = driver.arbiter.judge_answers(driver.player(1), Answers([handle], [0], [4], [0]))
    assert (complaint.game, complaint.ply) == (handle, 0)
    assert "a game that was started (the last is 1)" in str(complaint)
    assert driver.arbiter.late_answers == 0


def test_an_answer_for_a_future_ply_gets_a_complaint(driver: ArbiterDriver) -> None:
    game = driver.start()
    (complaint,) = driver.arbiter.judge_answers(driver.player(1), Answers([game.handle], [2], [4], [0]))
    assert "a ply that was asked (the game is at 0)" in str(complaint)
    assert game.moves == []


def test_an_answer_to_the_opponents_question_is_not_played(driver: ArbiterDriver) -> None:
    game = driver.start()
    (complaint,) = driver.arbiter.judge_answers(driver.player(2), Answers([game.handle], [0], [4], [0]))
    assert (complaint.game, complaint.ply) == (game.handle, 0)
    assert game.moves == []


def test_a_third_players_answer_is_not_played(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.arbiter.judge_answers(driver.player(3), Answers([game.handle], [0], [4], [0]))
    assert game.moves == []


def test_wrong_answers_do_not_affect_correct_ones_in_the_same_frame(driver: ArbiterDriver) -> None:
    games = [driver.start() for _ in range(2)]
    rows = [99, games[0].handle, games[0].handle, games[1].handle]
    complaints = driver.arbiter.judge_answers(driver.player(1), Answers(rows, [0, 7, 0, 0], [1, 2, 3, 4], [0] * 4))
    assert [(complaint.game, complaint.ply) for complaint in complaints] == [(99, 0), (games[0].handle, 7)]
    assert [game.moves for game in games] == [[3], [4]]


def test_complaints_about_one_frame_are_limited(driver: ArbiterDriver) -> None:
    driver.start()
    rows = 5_000
    complaints = driver.arbiter.judge_answers(
        driver.player(1), Answers([77] * rows, [0] * rows, [0] * rows, [0] * rows)
    )
    assert len(complaints) == MOST_COMPLAINTS == 100


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


# Messages that are sent again after a reconnect.


def test_resend_gives_a_player_its_games_and_open_questions(driver: ArbiterDriver) -> None:
    shared = conditions("mnk:5,5,5", "1/move")
    own_turn, opponents_turn, finished = (driver.start(shared) for _ in range(3))
    driver.play(own_turn, [7, 8])
    driver.play(opponents_turn, [9])
    driver.answer(finished, 0, resigns=True)
    player = driver.player(1)
    player.resend()
    outbox = player.take_outbox()
    assert [(game.handle, game.moves) for game in outbox.starts] == [
        (own_turn.handle, [7, 8]),
        (opponents_turn.handle, [9]),
    ]
    assert (outbox.turn_game, outbox.turn_ply, outbox.turn_cell) == ([own_turn.handle], [2], [8])
    assert outbox.turns_timed == [own_turn]
    assert outbox.ends == []


def test_splitting_an_outbox_keeps_a_games_messages_together(driver: ArbiterDriver) -> None:
    timed = conditions("mnk:5,5,5", "1/move")
    games = [driver.start(timed) for _ in range(5)]
    for game in games:
        driver.play(game, [7, 8])
    player = driver.player(1)
    player.resend()
    driver.answer(games[4], 9, resigns=True)
    outbox = player.take_outbox()
    rest = outbox.split(5)
    assert ([game.handle for game in outbox.starts], [game.handle for game in rest.starts]) == ([1, 2], [3, 4, 5])
    assert (outbox.turn_game, outbox.turn_ply, outbox.turn_cell) == ([1, 2], [2, 2], [8, 8])
    assert (rest.turn_game, rest.turn_ply, rest.turn_cell) == ([3, 4, 5], [2, 2, 2], [8, 8, 8])
    assert (outbox.turns_timed, rest.turns_timed) == (games[:2], games[2:])
    assert (outbox.ends, rest.ends) == ([], [games[4]])


def test_a_single_start_too_large_for_a_frame_is_not_split(driver: ArbiterDriver) -> None:
    game = driver.start(conditions("mnk:5,5,5"))
    driver.play(game, [7, 8])
    player = driver.player(1)
    player.resend()
    outbox = player.take_outbox()
    assert not outbox.split(1)
    assert outbox.starts == [game]


def test_resend_without_games_sends_nothing(driver: ArbiterDriver) -> None:
    driver.player(1).resend()
    assert not driver.player(1).outbox


def test_an_outbox_is_empty_until_there_is_a_message(driver: ArbiterDriver) -> None:
    assert not driver.player(1).outbox
    game = driver.start()
    assert driver.player(2).outbox
    driver.take_questions(1)
    driver.take_questions(2)
    assert not driver.player(1).outbox
    driver.answer(game, 0, resigns=True)
    assert driver.player(1).outbox
    assert driver.player(2).outbox


def test_a_running_game_can_be_shown_as_a_position(driver: ArbiterDriver) -> None:
    game = driver.start()
    driver.play(game, [4, 0])
    assert str(Position.after(game.conditions.variant, game.moves)) == "O...X.... X"


# Why a game was lost.


def test_a_game_lost_by_a_fault_has_its_reason(driver: ArbiterDriver) -> None:
    game = driver.start(conditions("gomoku"))
    driver.play(game, [112, 112])
    assert game.fault == "placed a stone on h8 (cell 112), which is occupied"
    game = driver.start(conditions(time="1/move"))
    driver.answer(game, 4, took=2 * SECOND)
    assert game.fault == "took 2.000 s for its move and had 1.000 s left"
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
