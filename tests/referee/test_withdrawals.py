"""Entries that left a tournament: their opponents win without a game."""

from dataclasses import replace

import pytest

from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import Slot
from tests.support.games import conditions, unit

from .wires import Hall

THREE = conditions(players=(1, 2, 3), concurrency=2)
SLOTS = [Slot(1, 0, 1), Slot(2, 1, 2), Slot(3, 2, 0), Slot(4, 1, 0), Slot(5, 2, 1), Slot(6, 0, 2)]


@pytest.fixture
def hall() -> Hall:
    hall = Hall()
    for key in (1, 2, 3):
        hall.join(key)
    return hall


def test_opponents_win_the_slots_of_a_withdrawn_entry(hall: Hall) -> None:
    hall.referee.add(unit(replace(THREE, withdrawn={1: "left"}), SLOTS))
    assert {game.ordinal: (game.result, game.termination) for game in hall.finished} == {
        1: (Result.FIRST_WINS, Termination.ADJUDICATED),
        2: (Result.SECOND_WINS, Termination.ADJUDICATED),
        4: (Result.SECOND_WINS, Termination.ADJUDICATED),
        5: (Result.FIRST_WINS, Termination.ADJUDICATED),
    }
    assert {game.fault for game in hall.finished} == {"was withdrawn: left"}
    assert [game.slot.ordinal for game in hall.running(1)] == [3, 6]
    assert hall.referee.queued() == 0


def test_running_games_of_who_leaves_are_lost_and_no_other_begins(hall: Hall) -> None:
    hall.referee.add(unit(THREE, SLOTS))
    assert [game.slot.ordinal for game in hall.running(1, 2, 3)] == [1, 2]
    hall.referee.withdraw_entries(1, {1: "lost 3 games through its own fault (3 crashed)"})
    assert sorted(game.ordinal for game in hall.finished) == [1, 2, 4, 5]
    lost = {game.ordinal: (game.result, game.termination) for game in hall.finished[:2]}
    assert lost == {
        1: (Result.FIRST_WINS, Termination.ADJUDICATED),
        2: (Result.SECOND_WINS, Termination.ADJUDICATED),
    }
    assert {game.fault for game in hall.finished} == {"was withdrawn: lost 3 games through its own fault (3 crashed)"}
    hall.resign(hall.running(1, 2, 3))
    assert sorted(game.ordinal for game in hall.finished) == [1, 2, 3, 4, 5, 6]
    assert hall.referee.in_flight() == hall.referee.queued() == 0


def test_a_game_of_two_who_left_is_a_draw(hall: Hall) -> None:
    hall.referee.add(unit(replace(THREE, withdrawn={1: "", 2: ""}), [Slot(1, 1, 2)]))
    [game] = hall.finished
    assert (game.result, game.fault) == (Result.DRAW, "was withdrawn")


def test_slots_that_wait_for_an_absent_bot_are_won_at_withdrawal(hall: Hall) -> None:
    hall.leave(2)
    hall.referee.add(unit(THREE, [Slot(1, 0, 1), Slot(2, 1, 2)]))
    assert hall.finished == []
    hall.referee.withdraw_entries(1, {1: ""})
    assert sorted(game.ordinal for game in hall.finished) == [1, 2]


def test_who_joins_later_plays_in_units_that_know_it(hall: Hall) -> None:
    hall.referee.add(unit(THREE, [Slot(1, 0, 1)]))
    hall.join(4)
    hall.referee.add(unit(conditions(players=(1, 2, 3, 4), concurrency=2), [Slot(2, 3, 2)]))
    assert [game.slot.ordinal for game in hall.running(4)] == [2]
