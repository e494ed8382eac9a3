"""Challenges and tests of guests take no seat from tournaments, and wait while their bots play games with clocks."""

import pytest

from noughts_referee.work_units import GameConditions, Slot
from tests.support.games import conditions, unit

from .wires import Hall

CUP = conditions("mnk:4,4,3", "1/move", players=(1, 2))
CHALLENGE = conditions("mnk:4,4,3", tournament=9, players=(1, 3), guest=True)
TIMED_CHALLENGE = conditions("mnk:4,4,3", "1/move", tournament=9, players=(1, 3), guest=True)
TEST = conditions("mnk:4,4,3", "1/move", tournament=9, players=(1, 3), guest_test=True)


@pytest.fixture
def hall() -> Hall:
    hall = Hall()
    for key in (1, 2, 3):
        hall.join(key, untimed=1)
    return hall


def running(hall: Hall) -> list[tuple[int, int]]:
    return [(game.conditions.tournament, game.slot.ordinal) for game in hall.running(1, 2, 3)]


def test_a_challenge_that_is_not_answered_keeps_no_tournament_waiting(hall: Hall) -> None:
    displaced: list[GameConditions] = []
    hall.referee.on_displaced = displaced.append
    hall.referee.add(unit(CHALLENGE, [Slot(1, 0, 1)]))
    assert running(hall) == [(9, 1)]
    hall.referee.add(unit(CUP, [Slot(1, 0, 1), Slot(2, 1, 0)]))
    assert running(hall) == [(9, 1), (1, 1)]
    assert displaced == [CHALLENGE]
    hall.referee.withdraw(9)
    hall.referee.abandon(9)
    assert running(hall) == [(1, 1)]


@pytest.mark.parametrize("challenge", [CHALLENGE, TIMED_CHALLENGE])
def test_a_challenge_waits_until_no_game_with_a_clock_is_left(hall: Hall, challenge: GameConditions) -> None:
    hall.referee.add(unit(CUP, [Slot(1, 0, 1), Slot(2, 1, 0)]))
    hall.referee.add(unit(challenge, [Slot(1, 0, 1), Slot(2, 1, 0)]))
    assert running(hall) == [(1, 1)]
    hall.resign(hall.running(1, 2))
    assert running(hall) == [(1, 2)]
    hall.resign(hall.running(1, 2))
    assert running(hall) == [(9, 1)]
    hall.resign(hall.running(1, 3))
    assert running(hall) == [(9, 2)]
    hall.resign(hall.running(1, 3))
    assert hall.referee.in_flight() == hall.referee.queued() == 0


def test_a_challenge_goes_on_beside_games_without_clocks(hall: Hall) -> None:
    hall.referee.add(unit(conditions("mnk:4,4,3", players=(1, 2)), [Slot(1, 0, 1)]))
    hall.referee.add(unit(CHALLENGE, [Slot(1, 0, 1), Slot(2, 1, 0)]))
    assert running(hall) == [(1, 1), (9, 1)]


def test_a_challenge_begins_when_what_it_waited_for_is_cancelled(hall: Hall) -> None:
    hall.referee.add(unit(CUP, [Slot(1, 0, 1)]))
    hall.referee.add(unit(CHALLENGE, [Slot(1, 0, 1)]))
    hall.referee.withdraw(1)
    hall.referee.abandon(1)
    assert running(hall) == [(9, 1)]


def test_silent_bot_in_a_guests_test_keeps_no_tournament_waiting(hall: Hall) -> None:
    displaced: list[GameConditions] = []
    hall.referee.on_displaced = displaced.append
    hall.referee.add(unit(TEST, [Slot(1, 0, 1), Slot(2, 1, 0)]))
    hall.referee.add(unit(CUP, [Slot(1, 0, 1), Slot(2, 1, 0)]))
    assert running(hall) == [(9, 1), (1, 1)]
    assert displaced == [TEST]


def test_guests_test_begins_only_after_the_games_of_tournaments(hall: Hall) -> None:
    hall.referee.add(unit(conditions("mnk:4,4,3", players=(1, 2)), [Slot(1, 0, 1), Slot(2, 1, 0)]))
    hall.referee.add(unit(TEST, [Slot(1, 0, 1)]))
    assert running(hall) == [(1, 1)]
    hall.resign(hall.running(1, 2))
    assert running(hall) == [(1, 2)]
    hall.resign(hall.running(1, 2))
    assert running(hall) == [(9, 1)]


def test_free_seat_goes_to_the_tournament_that_came_after_the_guest(hall: Hall) -> None:
    hall.referee.hold("test")
    hall.referee.add(unit(TEST, [Slot(1, 0, 1)]))
    hall.referee.add(unit(CUP, [Slot(1, 0, 1)]))
    hall.referee.go_on("test")
    assert running(hall) == [(1, 1)]
