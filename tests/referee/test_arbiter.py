"""The arbiter's verdicts. Every time here is a number that the test makes up."""

import time
from dataclasses import replace

import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.arbiter import MOST_COMPLAINTS, Answers
from noughts_referee.frame_encoding import turns_columns
from noughts_referee.rules import Position, Termination
from noughts_referee.work_units import Slot
from tests.support.games import Question, Table, conditions, verdict

SECOND = 1_000_000
MARGIN = 50_000


@pytest.fixture
def table() -> Table:
    return Table(margin_us=MARGIN)


# Whole games.


def test_the_first_mover_wins_with_a_line(table: Table) -> None:
    game = table.start()
    table.play(game, [0, 3, 1, 4, 2], took=7)
    assert verdict(game) == ("1-0", "line")
    assert game.moves == [0, 3, 1, 4, 2]
    assert game.times_us == [7] * 5
    assert table.arbiter.take_ended() == [game]
    assert table.arbiter.take_ended() == []


def test_the_second_mover_wins_with_a_line(table: Table) -> None:
    game = table.start()
    table.play(game, [0, 2, 1, 4, 8, 6])
    assert verdict(game) == ("0-1", "line")


def test_a_full_board_without_a_line_is_a_draw(table: Table) -> None:
    game = table.start()
    table.play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert verdict(game) == ("1/2-1/2", "board_full")


def test_a_line_with_the_last_stone_wins(table: Table) -> None:
    game = table.start()
    table.play(game, [0, 1, 2, 4, 3, 5, 7, 8, 6])
    assert verdict(game) == ("1-0", "line")


def test_more_in_a_row_than_needed_win_too(table: Table) -> None:
    game = table.start(conditions("mnk:7,2,3"))
    table.play(game, [0, 7, 1, 8, 3, 10, 4, 11, 2])
    assert verdict(game) == ("1-0", "line")


def test_the_only_cell_of_the_smallest_board_wins(table: Table) -> None:
    game = table.start(conditions("mnk:1,1,1"))
    table.play(game, [0])
    assert verdict(game) == ("1-0", "line")


# Messages to players.


def test_both_are_told_of_the_start_and_the_first_is_asked(table: Table) -> None:
    game = table.start()
    assert [len(player.outbox.starts) for player in game.players] == [1, 1]
    assert table.told(1) == [Question(game.handle, 0, 0)]
    assert table.told(2) == []
    assert table.arbiter.touched == set(game.players)


def test_a_question_carries_the_ply_and_the_move_before(table: Table) -> None:
    game = table.start()
    table.told(1)
    table.answer(game, 4)
    assert table.told(2) == [Question(game.handle, 1, 4)]
    table.answer(game, 8)
    assert table.told(1) == [Question(game.handle, 2, 8)]


def test_both_are_told_of_the_end_and_nobody_is_asked(table: Table) -> None:
    game = table.start()
    table.play(game, [0, 3, 1, 4])
    table.told(1)
    table.told(2)
    table.arbiter.touched.clear()
    table.answer(game, 2)
    assert [player.outbox.ends for player in game.players] == [[game], [game]]
    assert table.told(1) == table.told(2) == []
    assert table.arbiter.touched == set(game.players)
    assert [player.games for player in game.players] == [{}, {}]


def test_one_frame_answers_games_against_several_opponents(table: Table) -> None:
    shared = conditions(players=(1, 2, 3))
    games = [table.start(shared, Slot(ordinal, 0, 1 + ordinal % 2)) for ordinal in range(6)]
    handles = [game.handle for game in games]
    table.arbiter.judge_answers(table.player(1), Answers(handles, [0] * 6, [0, 1, 2, 3, 4, 5], [10] * 6))
    assert table.told(2) == [Question(handles[index], 1, index) for index in (0, 2, 4)]
    assert table.told(3) == [Question(handles[index], 1, index) for index in (1, 3, 5)]


def test_handles_are_never_used_again(table: Table) -> None:
    handles = []
    for _ in range(5):
        game = table.start()
        handles.append(game.handle)
        table.answer(game, 0, resigns=True)
    assert len(set(handles)) == 5


# Illegal moves.


def test_an_occupied_cell_loses(table: Table) -> None:
    game = table.start()
    table.play(game, [4, 4])
    assert verdict(game) == ("1-0", "illegal_move")
    assert game.moves == [4]


def test_ones_own_cell_is_occupied_too(table: Table) -> None:
    game = table.start()
    table.play(game, [4, 0, 4])
    assert verdict(game) == ("0-1", "illegal_move")
    assert game.moves == [4, 0]


@pytest.mark.parametrize("cell", [9, 10, 64, 2**31, 2**32 - 1])
def test_a_cell_off_the_board_loses(table: Table, cell: int) -> None:
    game = table.start()
    table.play(game, [cell])
    assert verdict(game) == ("0-1", "illegal_move")
    assert game.moves == []
    assert len(game.times_us) == 1


def test_huge_cell_numbers_cost_no_more_than_small_ones(table: Table) -> None:
    games = [table.start() for _ in range(2_000)]
    handles = [game.handle for game in games]
    began = time.process_time()
    table.arbiter.judge_answers(table.player(1), Answers(handles, [0] * 2_000, [2**32 - 1] * 2_000, [0] * 2_000))
    # A number with so many bits, shifted once for each game, would take minutes.
    assert time.process_time() - began < 1.0
    assert {verdict(game) for game in games} == {("0-1", "illegal_move")}


# Resignations.


def test_a_row_that_resigns_loses_and_its_cell_is_ignored(table: Table) -> None:
    games = [table.start() for _ in range(3)]
    handles = [game.handle for game in games]
    table.arbiter.judge_answers(table.player(1), Answers(handles, [0] * 3, [4, 99, 4], [5, 6, 7], resigned=[1]))
    assert verdict(games[1]) == ("0-1", "resigned")
    assert games[1].moves == []
    assert games[1].times_us == [6]
    assert [games[0].moves, games[2].moves] == [[4], [4]]


def test_the_second_mover_can_resign(table: Table) -> None:
    game = table.start()
    table.play(game, [4])
    table.answer(game, 0, resigns=True)
    assert verdict(game) == ("1-0", "resigned")


def test_rows_that_do_not_exist_resign_nothing(table: Table) -> None:
    game = table.start()
    assert (
        table.arbiter.judge_answers(table.player(1), Answers([game.handle], [0], [4], [0], resigned=[1, 1, 2**31]))
        == []
    )
    assert game.moves == [4]


def test_a_row_named_twice_resigns_once(table: Table) -> None:
    game = table.start()
    table.arbiter.judge_answers(table.player(1), Answers([game.handle], [0], [4], [0], resigned=[0, 0]))
    assert verdict(game) == ("0-1", "resigned")
    assert table.arbiter.take_ended() == [game]


def test_a_resignation_out_of_turn_is_an_answer_out_of_turn(table: Table) -> None:
    game = table.start()
    table.play(game, [4])
    first, handle = table.player(1), game.handle
    assert table.arbiter.judge_answers(first, Answers([handle], [0], [0], [0], [0])) == []
    assert table.arbiter.late_answers == 1
    (complaint,) = table.arbiter.judge_answers(first, Answers([handle], [1], [0], [0], [0]))
    assert (complaint.game, complaint.ply) == (handle, 1)
    (complaint,) = table.arbiter.judge_answers(first, Answers([handle + 1], [0], [0], [0], [0]))
    assert complaint.game == handle + 1
    assert game.ply == 1


def test_a_frame_of_resignations_takes_no_longer_than_one_of_moves(table: Table) -> None:
    games = [table.start() for _ in range(20_000)]
    handles = [game.handle for game in games]
    began = time.process_time()
    table.arbiter.judge_answers(
        table.player(1), Answers(handles, [0] * 20_000, [0] * 20_000, [0] * 20_000, range(20_000))
    )
    assert time.process_time() - began < 1.0
    assert {verdict(game) for game in games} == {("0-1", "resigned")}


# Time.


def test_a_move_within_its_limit_and_the_margin_is_in_time(table: Table) -> None:
    game = table.start(conditions(time="1/move"))
    table.play(game, [4], took=SECOND + MARGIN)
    assert game.moves == [4]


def test_a_late_move_loses_on_time_and_is_not_played(table: Table) -> None:
    game = table.start(conditions(time="1/move"))
    table.play(game, [4], took=SECOND + MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")
    assert game.moves == []
    assert game.times_us == [SECOND + MARGIN + 1]


def test_the_limit_of_each_move_is_the_same_however_long_the_others_took(table: Table) -> None:
    game = table.start(conditions(time="1/move"))
    table.play(game, [0, 1, 2, 3], took=SECOND)
    assert game.limit_us() == SECOND
    assert game.ply == 4


def test_a_late_move_loses_even_if_it_would_have_won_or_was_illegal(table: Table) -> None:
    winning = table.start(conditions(time="1/move"))
    table.play(winning, [0, 3, 1, 4])
    table.play(winning, [2], took=2 * SECOND)
    assert verdict(winning) == ("0-1", "timeout")
    illegal = table.start(conditions(time="1/move"))
    table.play(illegal, [99], took=2 * SECOND)
    assert verdict(illegal) == ("0-1", "timeout")


def test_a_bank_is_used_up_move_by_move_and_refilled_by_the_increment(table: Table) -> None:
    game = table.start(conditions("mnk:5,5,5", time="10+2"))
    table.play(game, [0], took=3 * SECOND)
    assert game.left_us == [9 * SECOND, 10 * SECOND]
    table.play(game, [1], took=4 * SECOND)
    assert game.left_us == [9 * SECOND, 8 * SECOND]
    table.play(game, [2], took=9 * SECOND)
    assert game.left_us == [2 * SECOND, 8 * SECOND]
    table.play(game, [3])
    assert game.left_us == [2 * SECOND, 10 * SECOND]
    table.play(game, [4], took=2 * SECOND + MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")


def test_what_is_taken_from_the_margin_is_not_taken_from_the_increment(table: Table) -> None:
    game = table.start(conditions(time="1+2"))
    table.play(game, [0], took=SECOND + MARGIN)
    assert game.left_us[0] == 2 * SECOND


def test_an_empty_bank_still_has_the_margin(table: Table) -> None:
    game = table.start(conditions(time="1"))
    table.play(game, [0], took=SECOND)
    table.play(game, [1])
    table.play(game, [2], took=MARGIN)
    assert game.left_us[0] == 0
    table.play(game, [3])
    # 0 would mean that there is no limit.
    player, turns = table.player(1), pb.Turns()
    turns_columns(turns, player, player.take_outbox())
    assert turns.own_clock_us[-1] == 1
    table.play(game, [4], took=MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")


def test_a_move_beyond_its_own_limit_loses_though_the_bank_is_full(table: Table) -> None:
    game = table.start(conditions(time="180/30+0"))
    table.play(game, [4], took=30 * SECOND + MARGIN)
    assert (game.moves, game.left_us) == ([4], [150 * SECOND - MARGIN, 180 * SECOND])
    table.play(game, [0], took=30 * SECOND + MARGIN + 1)
    assert verdict(game) == ("1-0", "timeout")


def test_the_bank_ends_a_move_sooner_than_its_own_limit(table: Table) -> None:
    game = table.start(conditions(time="40/30+0"))
    table.play(game, [4], took=25 * SECOND)
    table.play(game, [0])
    assert game.limit_us() == 15 * SECOND
    table.play(game, [1], took=15 * SECOND + MARGIN + 1)
    assert verdict(game) == ("0-1", "timeout")


def test_silence_is_judged_by_the_limit_of_the_move_too(table: Table) -> None:
    game = table.start(conditions(time="180/30+0"))
    table.arbiter.end_overdue(table.player(1), [(game.handle, 0, 30 * SECOND + MARGIN)])
    assert table.arbiter.ended == []
    table.arbiter.end_overdue(table.player(1), [(game.handle, 0, 30 * SECOND + MARGIN + 1)])
    assert verdict(game) == ("0-1", "timeout")


def test_untimed_games_have_all_the_time_in_the_world(table: Table) -> None:
    game = table.start()
    table.play(game, [4], took=10**15)
    assert game.moves == [4]
    table.arbiter.end_overdue(table.player(2), [(game.handle, 1, 10**15)])
    assert table.arbiter.ended == []


def test_silence_past_the_limit_loses_on_time(table: Table) -> None:
    game = table.start(conditions(time="1/move"))
    table.arbiter.end_overdue(table.player(1), [(game.handle, 0, SECOND + MARGIN + 1)])
    assert verdict(game) == ("0-1", "timeout")
    assert game.times_us == [SECOND + MARGIN + 1]


def test_silence_within_the_limit_ends_nothing_and_costs_nothing(table: Table) -> None:
    per_move, bank = table.start(conditions(time="1/move")), table.start(conditions(time="1+0.1"))
    for took in (1, SECOND // 2, SECOND + MARGIN):
        table.arbiter.end_overdue(table.player(1), [(per_move.handle, 0, took), (bank.handle, 0, took)])
    assert table.arbiter.ended == []
    assert bank.left_us == [SECOND, SECOND]
    table.play(bank, [4], took=SECOND)
    assert bank.left_us == [SECOND // 10, SECOND]


def test_silence_about_a_question_that_was_answered_means_nothing(table: Table) -> None:
    game = table.start(conditions(time="1/move"))
    table.play(game, [4, 0])
    table.arbiter.end_overdue(table.player(1), [(game.handle, 0, 9 * SECOND), (game.handle, 1, 9 * SECOND)])
    table.arbiter.end_overdue(table.player(2), [(game.handle, 2, 9 * SECOND), (game.handle + 1, 0, 9 * SECOND)])
    assert table.arbiter.ended == []


def test_timed_questions_are_marked_for_the_wire_that_must_watch_them(table: Table) -> None:
    timed, untimed = table.start(conditions(time="1/move")), table.start()
    assert table.player(1).take_outbox().turns_timed == [timed]
    table.play(timed, [4])
    table.play(untimed, [4])
    assert table.player(2).take_outbox().turns_timed == [timed]


# Answers to something else.


def test_late_answers_are_dropped_and_counted(table: Table) -> None:
    game = table.start()
    table.play(game, [4, 0])
    first, handle = table.player(1), game.handle
    assert table.arbiter.judge_answers(first, Answers([handle], [0], [8], [0])) == []
    assert table.arbiter.late_answers == 1
    assert game.moves == [4, 0]
    table.answer(game, 0, resigns=True)
    assert table.arbiter.judge_answers(first, Answers([handle], [2], [8], [0])) == []
    assert table.arbiter.late_answers == 2


def test_of_two_answers_in_one_frame_the_first_counts(table: Table) -> None:
    game = table.start()
    table.arbiter.judge_answers(table.player(1), Answers([game.handle] * 2, [0, 0], [4, 5], [0, 0]))
    assert game.moves == [4]
    assert table.arbiter.late_answers == 1


@pytest.mark.parametrize("handle", [0, 2, 2**63])
def test_an_unknown_game_is_complained_about(table: Table, handle: int) -> None:
    table.start()
    (complaint,) = table.arbiter.judge_answers(table.player(1), Answers([handle], [0], [4], [0]))
    assert (complaint.game, complaint.ply) == (handle, 0)
    assert "a game that was started (the last is 1)" in str(complaint)
    assert table.arbiter.late_answers == 0


def test_a_ply_that_was_not_reached_is_complained_about(table: Table) -> None:
    game = table.start()
    (complaint,) = table.arbiter.judge_answers(table.player(1), Answers([game.handle], [2], [4], [0]))
    assert "a ply that was asked (the game is at 0)" in str(complaint)
    assert game.moves == []


def test_an_answer_to_the_opponents_question_is_not_played(table: Table) -> None:
    game = table.start()
    (complaint,) = table.arbiter.judge_answers(table.player(2), Answers([game.handle], [0], [4], [0]))
    assert (complaint.game, complaint.ply) == (game.handle, 0)
    assert game.moves == []


def test_nobody_answers_in_the_games_of_others(table: Table) -> None:
    game = table.start()
    table.arbiter.judge_answers(table.player(3), Answers([game.handle], [0], [4], [0]))
    assert game.moves == []


def test_bad_rows_spoil_no_good_ones(table: Table) -> None:
    games = [table.start() for _ in range(2)]
    rows = [99, games[0].handle, games[0].handle, games[1].handle]
    complaints = table.arbiter.judge_answers(table.player(1), Answers(rows, [0, 7, 0, 0], [1, 2, 3, 4], [0] * 4))
    assert [(complaint.game, complaint.ply) for complaint in complaints] == [(99, 0), (games[0].handle, 7)]
    assert [game.moves for game in games] == [[3], [4]]


def test_a_frame_of_nonsense_gets_no_more_complaints_than_close_a_stream(table: Table) -> None:
    table.start()
    rows = 5_000
    complaints = table.arbiter.judge_answers(table.player(1), Answers([77] * rows, [0] * rows, [0] * rows, [0] * rows))
    assert len(complaints) == MOST_COMPLAINTS == 100


# Endings from outside.


@pytest.mark.parametrize("plies", [0, 1, 2, 3])
@pytest.mark.parametrize("gone", [1, 2])
def test_who_is_gone_for_good_loses_whoever_is_to_move(table: Table, plies: int, gone: int) -> None:
    game = table.start()
    table.play(game, range(plies))
    table.arbiter.forfeit(table.player(gone), Termination.DISCONNECTED)
    assert verdict(game) == ("0-1" if gone == 1 else "1-0", "disconnected")


def test_who_is_gone_loses_all_its_running_games_and_no_other(table: Table) -> None:
    shared = conditions(players=(1, 2, 3))
    lost = [table.start(shared, Slot(1, 0, 1)), table.start(shared, Slot(2, 1, 0))]
    other = table.start(shared, Slot(3, 1, 2))
    table.arbiter.forfeit(table.player(1), Termination.CRASHED)
    assert [verdict(game) for game in lost] == [("0-1", "crashed"), ("1-0", "crashed")]
    assert list(table.player(2).games.values()) == [other]
    assert table.arbiter.take_ended() == lost


def test_abandoned_games_are_void(table: Table) -> None:
    games = [table.start(), table.start()]
    table.play(games[0], [4])
    table.arbiter.abandon(table.player(1).games.values())
    assert [verdict(game) for game in games] == [("*", "void")] * 2
    assert [len(player.outbox.ends) for player in games[0].players] == [2, 2]


# Sent again.


def test_a_player_without_memory_gets_its_games_and_open_questions(table: Table) -> None:
    shared = conditions("mnk:5,5,5", "1/move")
    mine, theirs, over = (table.start(shared) for _ in range(3))
    table.play(mine, [7, 8])
    table.play(theirs, [9])
    table.answer(over, 0, resigns=True)
    player = table.player(1)
    player.resend()
    outbox = player.take_outbox()
    assert [(game.handle, game.moves) for game in outbox.starts] == [(mine.handle, [7, 8]), (theirs.handle, [9])]
    assert (outbox.turn_game, outbox.turn_ply, outbox.turn_cell) == ([mine.handle], [2], [8])
    assert outbox.turns_timed == [mine]
    assert outbox.ends == []


def test_what_is_split_off_an_outbox_keeps_together_what_concerns_a_game(table: Table) -> None:
    timed = conditions("mnk:5,5,5", "1/move")
    games = [table.start(timed) for _ in range(5)]
    for game in games:
        table.play(game, [7, 8])
    player = table.player(1)
    player.resend()
    table.answer(games[4], 9, resigns=True)
    outbox = player.take_outbox()
    rest = outbox.split(5)
    assert ([game.handle for game in outbox.starts], [game.handle for game in rest.starts]) == ([1, 2], [3, 4, 5])
    assert (outbox.turn_game, outbox.turn_ply, outbox.turn_cell) == ([1, 2], [2, 2], [8, 8])
    assert (rest.turn_game, rest.turn_ply, rest.turn_cell) == ([3, 4, 5], [2, 2, 2], [8, 8, 8])
    assert (outbox.turns_timed, rest.turns_timed) == (games[:2], games[2:])
    assert (outbox.ends, rest.ends) == ([], [games[4]])


def test_a_single_start_too_large_for_a_frame_is_sent_all_the_same(table: Table) -> None:
    game = table.start(conditions("mnk:5,5,5"))
    table.play(game, [7, 8])
    player = table.player(1)
    player.resend()
    outbox = player.take_outbox()
    assert not outbox.split(1)
    assert outbox.starts == [game]


def test_a_player_without_games_has_nothing_to_be_sent_again(table: Table) -> None:
    table.player(1).resend()
    assert not table.player(1).outbox


def test_an_outbox_is_empty_until_something_is_to_be_told(table: Table) -> None:
    assert not table.player(1).outbox
    game = table.start()
    assert table.player(2).outbox
    table.told(1)
    table.told(2)
    assert not table.player(1).outbox
    table.answer(game, 0, resigns=True)
    assert table.player(1).outbox
    assert table.player(2).outbox


def test_a_position_can_be_had_of_a_running_game(table: Table) -> None:
    game = table.start()
    table.play(game, [4, 0])
    assert str(Position.after(game.conditions.variant, game.moves)) == "O...X.... X"


# Why a game was lost.


def test_a_game_that_was_lost_by_a_fault_says_what_that_was(table: Table) -> None:
    game = table.start(conditions("gomoku"))
    table.play(game, [112, 112])
    assert game.fault == "placed a stone on h8 (cell 112), which is occupied"
    game = table.start(conditions(time="1/move"))
    table.answer(game, 4, took=2 * SECOND)
    assert game.fault == "took 2.000 s for its move and had 1.000 s left"
    game = table.start()
    table.arbiter.forfeit(table.player(1), Termination.CRASHED, "could not be started")
    assert game.fault == "could not be started"


def test_a_game_that_was_not_lost_by_a_fault_says_nothing(table: Table) -> None:
    game = table.start()
    table.play(game, [0, 3, 1, 4, 2])
    assert game.fault == ""
    game = table.start()
    table.answer(game, 0, resigns=True)
    assert game.fault == ""


def test_reasons_belong_to_resignations_in_their_order(table: Table) -> None:
    games = [table.start() for _ in range(4)]
    handles = [game.handle for game in games]
    resigned, reasons = [3, 0, 2], ["the last", "the first"]
    table.arbiter.judge_answers(table.player(1), Answers(handles, [0] * 4, [4] * 4, [0] * 4, resigned, reasons))
    assert [game.fault for game in games] == ["resigned: the first", "", "", "resigned: the last"]


# Games that are long enough.


def test_a_game_of_so_many_plies_is_a_draw_by_agreement_with_the_rules(table: Table) -> None:
    game = table.start(replace(conditions(), draw_after=6))
    table.play(game, [0, 3, 1, 4, 8, 2])
    assert verdict(game) == ("1/2-1/2", "adjudicated")


def test_a_line_with_the_last_of_so_many_plies_wins(table: Table) -> None:
    game = table.start(replace(conditions(), draw_after=5))
    table.play(game, [0, 3, 1, 4, 2])
    assert verdict(game) == ("1-0", "line")


def test_a_full_board_is_a_full_board_however_many_plies_are_enough(table: Table) -> None:
    game = table.start(replace(conditions(), draw_after=9))
    table.play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert verdict(game) == ("1/2-1/2", "board_full")


def test_an_illegal_move_loses_also_where_it_would_have_been_the_last(table: Table) -> None:
    game = table.start(replace(conditions(), draw_after=3))
    table.play(game, [0, 3, 3])
    assert verdict(game) == ("0-1", "illegal_move")


@pytest.mark.parametrize("variant", ["renju", "caro", "connect4"])
def test_every_variant_knows_when_it_is_enough(table: Table, variant: str) -> None:
    game = table.start(replace(conditions(variant), draw_after=2))
    table.play(game, [35, 36])
    assert verdict(game) == ("1/2-1/2", "adjudicated")
