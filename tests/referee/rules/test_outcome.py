"""Results and terminations: their texts, their numbers, and whose fault each is."""

import pytest

from noughts_proto.v1 import types_pb2
from noughts_referee.rules import Result, Termination, blames, result_against, result_for


def test_results_are_written_as_in_every_crosstable() -> None:
    assert [str(result) for result in Result] == ["1-0", "1/2-1/2", "0-1", "*"]


def test_terminations_are_written_in_small_letters() -> None:
    assert str(Termination.BOARD_FULL) == "board_full"
    assert len({str(termination) for termination in Termination}) == len(Termination)


def test_exactly_a_players_own_doing_is_blamed() -> None:
    blamed = {termination.name for termination in Termination if blames(termination)}
    assert blamed == {"ILLEGAL_MOVE", "TIMEOUT", "DISCONNECTED", "CRASHED", "RESIGNED"}


def test_the_protocol_has_the_same_names_and_numbers() -> None:
    results = {f"RESULT_{result.name}": result.value for result in Result}
    terminations = {f"TERMINATION_{termination.name}": termination.value for termination in Termination}
    assert dict(types_pb2.Result.items()) == {"RESULT_UNSPECIFIED": 0, **results}
    assert dict(types_pb2.Termination.items()) == {"TERMINATION_UNSPECIFIED": 0, **terminations}


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_wins_when_the_other_loses(side: int) -> None:
    assert result_for(side) is result_against(1 - side)
    assert result_for(side) is (Result.FIRST_WINS, Result.SECOND_WINS)[side]
