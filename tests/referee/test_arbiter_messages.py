"""Messages of the arbiter: starts, questions, ends, complaints, and messages that are sent again."""

import pytest

from noughts_referee.arbiter import MOST_COMPLAINTS, Answers
from noughts_referee.rules import Position
from noughts_referee.work_units import ScheduledGame
from tests.support.games import ArbiterDriver, Question, conditions

SECOND = 1_000_000
MARGIN = 50_000


@pytest.fixture
def driver() -> ArbiterDriver:
    return ArbiterDriver(margin_us=MARGIN)


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
