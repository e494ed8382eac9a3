"""The opening rules `swap` and `swap2`: which choices they allow, and which one a bot makes by default."""

import pytest

from noughts_referee.rules import Choice, OpeningChoice, Put, Take, parse_variant

GOMOKU = parse_variant("gomoku")
VARIANTS = ["gomoku", "gomoku20", "renju", "caro:exact:20", "mnk:9,9,5", "mnk:30,12,6"]


@pytest.mark.parametrize(
    "rule, stones, step, may_put, may_take",
    [
        ("swap", (), 0, 3, False),
        ("swap", (1, 2, 3), 1, 0, True),
        ("swap", (1, 2, 3, 4, 5), 2, 0, True),
        ("swap2", (), 0, 3, False),
        ("swap2", (1, 2, 3), 1, 2, True),
        ("swap2", (1, 2, 3, 4, 5), 2, 0, True),
    ],
)
def test_swap_places_stones_once_and_swap2_up_to_twice(
    rule: str, stones: tuple[int, ...], step: int, may_put: int, may_take: bool
) -> None:
    opening = OpeningChoice(GOMOKU, rule, stones)
    assert (opening.step, opening.may_put, opening.may_take) == (step, may_put, may_take)


@pytest.mark.parametrize(
    "stones, choice",
    [
        ((), Take(0)),
        ((), Put((1, 2))),
        ((), Put((1, 2, 2))),
        ((), Put((1, 2, 225))),
        ((), Put((1, 2, -1))),
        ((), Put(())),
        ((1, 2, 3), Put((3, 4))),
        ((1, 2, 3), Put((4, 5, 6))),
        ((1, 2, 3), Take(2)),
        ((1, 2, 3), Take(-1)),
        ((1, 2, 3, 4, 5), Put((6, 7))),
        ((1, 2, 3, 4, 5), Put(())),
    ],
)
def test_choices_against_the_rule_or_off_the_board_are_not_allowed(stones: tuple[int, ...], choice: Choice) -> None:
    assert not OpeningChoice(GOMOKU, "swap2", stones).allows(choice)


def test_choices_by_the_rule_are_allowed() -> None:
    assert OpeningChoice(GOMOKU, "swap").allows(Put((1, 2, 3)))
    assert OpeningChoice(GOMOKU, "swap2", (1, 2, 3)).allows(Put((4, 5)))
    assert not OpeningChoice(GOMOKU, "swap", (1, 2, 3)).allows(Put((4, 5)))
    assert all(OpeningChoice(GOMOKU, "swap2", (1, 2, 3)).allows(Take(side)) for side in (0, 1))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_default_choices_are_allowed_and_follow_from_the_seed(name: str) -> None:
    variant = parse_variant(name)
    placements, taken = set(), set()
    for seed in range(60):
        opening = OpeningChoice(variant, "swap2", seed=seed)
        choice = opening.usual()
        assert opening.allows(choice)
        assert choice == OpeningChoice(variant, "swap2", seed=seed).usual()
        assert isinstance(choice, Put)
        placements.add(choice.cells)
        answer = OpeningChoice(variant, "swap2", choice.cells, seed)
        assert answer.allows(answer.usual())
        taken.add(answer.usual())
    assert len(placements) > 20  # the 60 seeds give many different placements
    assert taken <= {Take(0), Take(1)}


def test_the_side_that_looks_better_is_taken() -> None:
    three_of_x = (112, 0, 113, 14, 114)
    assert OpeningChoice(GOMOKU, "swap2", three_of_x).usual() == Take(0)
    assert OpeningChoice(GOMOKU, "swap", (0, 112, 14)).usual() == Take(1)
    assert OpeningChoice(GOMOKU, "swap2", (0, 112, 14, 113, 210)).usual() == Take(1)
