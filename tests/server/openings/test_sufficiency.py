"""The number of different openings: estimates compared with exact numbers, and the note if there are too few."""

import pytest

from noughts_referee.rules import parse_variant
from noughts_server.openings.choosing import check_openings
from noughts_server.openings.settings import Openings, OpeningsKind
from noughts_server.openings.sufficiency import different_openings, shortage, usual_openings


def random_openings(plies: int) -> Openings:
    return Openings(OpeningsKind.RANDOM, plies)


@pytest.mark.parametrize(
    "variant, plies, positions",
    [("connect4", 2, 49), ("tictactoe", 2, 72), ("tictactoe", 4, 756), ("connect4", 4, 1_120)],
)
def test_estimate_is_close_to_the_exact_number_of_positions(variant: str, plies: int, positions: int) -> None:
    estimate = different_openings(random_openings(plies), parse_variant(variant), 50_000)
    assert estimate is not None
    # Positions of Connect Four are not equally likely, so the estimate is lower.
    assert 0.7 * positions <= estimate <= 1.1 * positions


@pytest.mark.parametrize(
    "variant",
    ["tictactoe", "connect4", "gomoku", "gomoku20", "renju", "caro", "qubic", "mnk:3,1,2", "mnk:4,2,2", "mnk:5,5,4"],
)
@pytest.mark.parametrize("pairs", [1, 100, 50_000])
def test_usual_openings_exist_in_the_variant(variant: str, pairs: int) -> None:
    rules = parse_variant(variant)
    openings = usual_openings(rules, pairs)
    assert openings.plies % 2 == 0
    check_openings(openings, rules)


def test_lists_and_missing_openings_are_counted() -> None:
    rules = parse_variant("connect4")
    two = Openings().of_list("mine", [(0,), (1,), (1,)])
    assert "The openings mine are about 2 different ones, for up to 50 pairs." in shortage(two, rules, 100)
    assert shortage(two, rules, 4) == ""
    assert shortage(Openings(), rules, 100).startswith("Without openings there is only one start")
    assert shortage(Openings(), parse_variant("gomoku+swap2"), 100) == ""
    assert shortage(Openings(OpeningsKind.BALANCED, 6), rules, 100) == ""
