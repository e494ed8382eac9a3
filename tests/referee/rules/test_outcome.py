"""Results and terminations: their texts, their numbers, and their causes."""

import pytest

from noughts_proto.v1 import types_pb2
from noughts_referee.rules import (
    DISCONNECTIONS,
    DRAWN,
    FAULTS,
    FORFEITS,
    ON_THE_BOARD,
    VOID,
    Outcome,
    Position,
    Result,
    Termination,
    lost,
    parse_variant,
    won,
)


def test_results_are_written_as_in_every_crosstable() -> None:
    assert [str(result) for result in Result] == ["1-0", "1/2-1/2", "0-1", "*"]


def test_terminations_are_written_in_small_letters() -> None:
    assert str(Termination.BOARD_FULL) == "board_full"
    assert len({str(termination) for termination in Termination}) == len(Termination)


def test_every_termination_has_one_kind_of_cause() -> None:
    assert set(Termination) - ON_THE_BOARD - FORFEITS == {Termination.ADJUDICATED, Termination.VOID}
    assert not ON_THE_BOARD & FORFEITS
    assert DISCONNECTIONS < FAULTS < FORFEITS
    assert {Termination.RESIGNED} == FORFEITS - FAULTS


def test_the_protocol_has_the_same_names_and_numbers() -> None:
    results = {f"RESULT_{result.name}": result.value for result in Result}
    terminations = {f"TERMINATION_{termination.name}": termination.value for termination in Termination}
    assert dict(types_pb2.Result.items()) == {"RESULT_UNSPECIFIED": 0, **results}
    assert dict(types_pb2.Termination.items()) == {"TERMINATION_UNSPECIFIED": 0, **terminations}


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_wins_if_the_other_loses(side: int) -> None:
    assert won(side) == lost(1 - side, Termination.LINE)
    assert won(side).result is (Result.SECOND_WINS if side else Result.FIRST_WINS)
    assert (won(side).winner, won(side).loser) == (side, 1 - side)


@pytest.mark.parametrize("outcome", [DRAWN, VOID, Outcome(Result.DRAW, Termination.ADJUDICATED)])
def test_a_draw_and_a_void_game_have_neither_winner_nor_loser(outcome: Outcome) -> None:
    assert (outcome.winner, outcome.loser) == (None, None)


@pytest.mark.parametrize(
    "board, outcome",
    [
        ("XXX.O.O.. O", won(0)),
        ("XXX.O.O.. X", won(0)),
        ("XXX...OOO X", won(1)),
        ("XXX...OOO O", won(0)),
        ("XOXXOOOXX O", DRAWN),
        ("X...O...X O", None),
    ],
)
def test_in_a_position_that_was_set_up_any_line_wins(board: str, outcome: Outcome | None) -> None:
    assert Position.parse(parse_variant("tictactoe"), board).outcome() == outcome


def test_a_forfeit_has_a_phrase_about_what_the_loser_did() -> None:
    assert Termination.BOARD_FULL.words == "board full"
    assert {termination: termination.deed for termination in FORFEITS} == {
        Termination.ILLEGAL_MOVE: "made an illegal move",
        Termination.TIMEOUT: "was too slow",
        Termination.DISCONNECTED: "disconnected",
        Termination.CRASHED: "crashed",
        Termination.RESIGNED: "resigned",
    }
