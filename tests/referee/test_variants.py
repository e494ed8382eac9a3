"""Names of variants: which there are, which are the same, and what is said about those that are wrong."""

import pytest

from noughts_referee.rules import VariantError, parse_variant


@pytest.mark.parametrize("spelling", ["mnk:3,3,3", " tictactoe ", "mnk: 3, 3 ,3", "mnk:03,3,3"])
def test_other_spellings_of_tictactoe_are_the_same_variant(spelling: str) -> None:
    assert parse_variant(spelling) is parse_variant("tictactoe")


def test_columns_come_before_rows() -> None:
    variant = parse_variant("mnk:7,6,4")
    assert (variant.columns, variant.rows, variant.cells, variant.name) == (7, 6, 42, "mnk:7,6,4")


def test_the_canonical_name_is_read_back_as_the_same_variant() -> None:
    for name in ("tictactoe", "mnk:1,1,1", "mnk:30,30,30", "mnk:30,1,7", "mnk: 4,5, 3"):
        variant = parse_variant(name)
        assert parse_variant(variant.name) is variant


@pytest.mark.parametrize(
    "name, expected",
    [
        ("", "`tictactoe` or `mnk:M,N,K`"),
        ("chess", "`tictactoe` or `mnk:M,N,K`"),
        ("Tictactoe", "`tictactoe` or `mnk:M,N,K`"),
        ("tictactoe:3", "`tictactoe` or `mnk:M,N,K`"),
        ("tictactoe:", "`tictactoe` or `mnk:M,N,K`"),
        ("mnk", "three whole numbers"),
        ("mnk:", "three whole numbers"),
        ("mnk:3,3", "three whole numbers"),
        ("mnk:3,3,3,3", "three whole numbers"),
        ("mnk:3,3,x", "three whole numbers"),
        ("mnk:3,3,3.0", "three whole numbers"),
        ("mnk:" + "9" * 5000 + ",3,3", "three whole numbers"),
        ("mnk:0,3,3", "boards from 1x1 to 30x30"),
        ("mnk:3,-3,3", "boards from 1x1 to 30x30"),
        ("mnk:31,3,3", "boards from 1x1 to 30x30"),
        ("mnk:3,3,0", "K from 1 to 3"),
        ("mnk:3,4,5", "K from 1 to 4"),
    ],
)
def test_a_name_that_is_no_variant_is_refused_with_what_would_have_been_right(name: str, expected: str) -> None:
    with pytest.raises(VariantError) as caught:
        parse_variant(name)
    assert caught.value.got == name
    assert expected in caught.value.expected
    assert repr(name) in str(caught.value)


def test_a_variant_stays_the_only_one_of_its_rules_after_many_others_were_read() -> None:
    square = parse_variant("mnk:5,5,3")
    for columns in range(1, 31):
        for rows in range(1, 6):
            parse_variant(f"mnk:{columns},{rows},1")
    assert parse_variant("mnk:5,5,3") is square
    assert parse_variant(" mnk:5,5,3") is square
