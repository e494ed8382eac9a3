"""Players that learn the ends of their games after the commit."""

import pytest

from noughts_referee.rules import Result
from noughts_referee.work_units import Slot
from tests.support.games import conditions, unit

from .wires import Hall


@pytest.fixture
def hall() -> Hall:
    """Player 1 waits for the commit, player 2 does not. They have played two games."""
    hall = Hall()
    hall.join(1)
    hall.join(2)
    hall.referee.player(1).stored_ends = True
    hall.referee.add(unit(conditions(), [Slot(1, 0, 1), Slot(2, 1, 0)]))
    hall.resign(hall.running(1))
    return hall


def ends(hall: Hall, key: int) -> list[tuple[int, Result]]:
    return [(game.slot.ordinal, game.result) for game in hall.referee.player(key).outbox.ends]


def test_end_is_told_after_the_commit_only_to_players_that_ask(hall: Hall) -> None:
    results = [(1, Result.SECOND_WINS), (2, Result.SECOND_WINS)]
    assert (ends(hall, 1), ends(hall, 2)) == ([], results)
    hall.referee.announce_stored(hall.finished, hall.finished)
    assert ends(hall, 1) == results
    hall.referee.announce_stored(hall.finished, hall.finished)
    assert ends(hall, 1) == results


def test_game_that_the_commit_did_not_store_ends_as_void(hall: Hall) -> None:
    hall.referee.announce_stored(hall.finished, hall.finished[:1])
    assert ends(hall, 1) == [(1, Result.SECOND_WINS), (2, Result.VOID)]


def test_new_stream_hears_nothing_of_games_that_ended_before(hall: Hall) -> None:
    hall.join(1)
    hall.referee.announce_stored(hall.finished, hall.finished)
    assert ends(hall, 1) == []


def test_abandoned_game_ends_at_once(hall: Hall) -> None:
    hall.referee.add(unit(conditions(), [Slot(3, 0, 1)]))
    hall.referee.abandon()
    assert ends(hall, 1) == [(3, Result.VOID)]
