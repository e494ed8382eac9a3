"""The opening of a pairing: legal, as requested, and the same for each choice with one seed."""

from collections import Counter

import pytest

from noughts_referee.rules import parse_variant, symmetries
from noughts_server.openings.balance import MOST_LEAD, imbalance
from noughts_server.openings.choosing import check_openings, opening_of
from noughts_server.openings.legality import OpeningError, check_opening
from noughts_server.openings.settings import Openings, OpeningsKind, OpeningsOrder

GOMOKU = parse_variant("gomoku")
VARIANTS = ("tictactoe", "gomoku", "renju", "gomoku+pro", "connect4", "tictactoe3d", "qubic", "mnk:5,4,4", "caro:20")


def random_openings(plies: int, *, symmetries: bool = False) -> Openings:
    return Openings(OpeningsKind.RANDOM, plies=plies, symmetries=symmetries)


@pytest.mark.parametrize("name", VARIANTS)
def test_random_openings_are_legal_repeatable_and_undecided(name: str) -> None:
    variant, openings = parse_variant(name), random_openings(5, symmetries=True)
    chosen_openings = [opening_of(openings, variant, 7, pairing) for pairing in range(40)]
    assert chosen_openings == [opening_of(openings, variant, 7, pairing) for pairing in range(40)]
    assert chosen_openings != [opening_of(openings, variant, 8, pairing) for pairing in range(40)]
    assert len(set(chosen_openings)) > 10
    for opening in chosen_openings:
        check_opening(variant, opening)
        assert len(opening) == 5
        # The side to move cannot win at once.
        own, opponent = (sum(1 << cell for cell in opening[side::2]) for side in (1, 0))
        assert not any(
            variant.completes(own | 1 << cell, cell, opponent) for cell in variant.legal_cells(own, opponent, 1)
        )


@pytest.mark.parametrize("name", ["gomoku", "renju:20", "tictactoe", "connect4", "qubic"])
def test_balanced_openings_are_within_the_limit_and_repeatable(name: str) -> None:
    variant, openings = parse_variant(name), Openings(OpeningsKind.BALANCED, plies=4)
    for pairing in range(3):
        opening = opening_of(openings, variant, 5, pairing)
        check_opening(variant, opening)
        assert imbalance(variant, opening) <= MOST_LEAD
        assert opening_of(openings, variant, 5, pairing) == opening


def test_an_opening_after_which_a_side_wins_by_force_is_not_balanced() -> None:
    # Three in a row with both ends open, and X to move.
    assert imbalance(GOMOKU, (112, 0, 113, 14, 114, 210)) > MOST_LEAD
    connect4 = parse_variant("connect4")
    # X has two in the middle of the bottom row and is to move: three with both ends open win.
    assert imbalance(connect4, (38, 31, 39, 24)) > MOST_LEAD


LISTED = Openings().of_list("some.txt", [(112,), (0, 1), (30, 40, 50), (7,), (9, 8)])


def test_list_is_used_in_its_order_and_then_from_its_beginning() -> None:
    chosen_openings = [opening_of(LISTED, GOMOKU, 3, pairing) for pairing in range(10)]
    assert chosen_openings == list(LISTED.listed) * 2


def test_in_random_order_no_opening_repeats_before_all_were_used() -> None:
    openings = Openings(order=OpeningsOrder.RANDOM).of_list("some.txt", LISTED.listed)
    passes = [[opening_of(openings, GOMOKU, 3, 5 * number + place) for place in range(5)] for number in range(6)]
    assert all(sorted(openings_of_pass) == sorted(LISTED.listed) for openings_of_pass in passes)
    assert len({tuple(openings_of_pass) for openings_of_pass in passes}) > 1
    assert passes[0] == [opening_of(openings, GOMOKU, 3, place) for place in range(5)]


def test_symmetries_place_an_opening_in_all_orientations() -> None:
    openings = Openings(symmetries=True).of_list("some.txt", [(0, 16)])
    counts = Counter(opening_of(openings, GOMOKU, 3, pairing) for pairing in range(400))
    assert set(counts) == {(image[0], image[16]) for image in symmetries(GOMOKU)}
    # The opening is on a diagonal, so it has one orientation for each corner: about 100 of 400.
    assert min(counts.values()) > 50


@pytest.mark.parametrize(
    "name, count",
    [("gomoku", 8), ("mnk:5,4,4", 4), ("connect4", 2), ("qubic", 48), ("tictactoe3d", 48)],
)
def test_each_board_has_its_number_of_symmetries(name: str, count: int) -> None:
    variant = parse_variant(name)
    images = symmetries(variant)
    assert len(set(images)) == count
    assert images[0] == tuple(range(variant.cells))


@pytest.mark.parametrize(
    "openings, variant, message",
    [
        (random_openings(9), "tictactoe", "got 9 plies, expected 1 to 8 for tictactoe"),
        (random_openings(0), "gomoku", "got 0 plies, expected 1 to 50 for gomoku"),
        (
            random_openings(2),
            "gomoku+swap2",
            "the players agree on one (swap2), expected openings or an opening rule, not both",
        ),
        (random_openings(3), "mnk:2,2,2", "which ended the game in all 500 tries"),
        (Openings(OpeningsKind.BALANCED, plies=1), "mnk:3,3,2", "no balanced opening of 1 plies for mnk:3,3,2"),
        (Openings().of_list("x", [(1, 1)]), "gomoku", "opening 1 with a move 2 that placed a stone on b15"),
        (Openings().of_list("x", []), "gomoku", "a list without openings"),
    ],
)
def test_openings_that_a_variant_cannot_have_are_refused(openings: Openings, variant: str, message: str) -> None:
    with pytest.raises(OpeningError) as refused:
        check_openings(openings, parse_variant(variant))
    assert message in str(refused.value)


def test_openings_are_stored_and_read_again() -> None:
    for openings in (Openings(), random_openings(3, symmetries=True), LISTED):
        assert Openings.from_document(openings.document()) == openings
    assert Openings().document() is None
