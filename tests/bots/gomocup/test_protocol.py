"""Lines, coordinates and rules of the Gomocup protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.gomocup.protocol import (
    LONGEST_LINE,
    VARIANTS,
    Lines,
    read_point,
    read_points,
    rule_of,
    variant_of,
    written_point,
)
from noughts_referee.rules import VariantError, parse_variant

TEXT = st.text(st.characters(codec="ascii", exclude_characters="\r\n\0"), max_size=20)


@given(st.lists(TEXT), st.sampled_from(["\r", "\n", "\r\n"]), st.integers(1, 7))
def test_lines_are_the_same_however_they_end_and_arrive(written: list[str], end: str, piece: int) -> None:
    data = "".join(text + end for text in written).encode()
    lines = Lines()
    read_lines = [line for at in range(0, len(data), piece) for line in lines.feed(data[at : at + piece])]
    assert read_lines == [text.strip() for text in written if text.strip()]
    assert lines.rest() == []


def test_cr_is_an_ordinary_byte_if_lines_end_with_lf() -> None:
    lines = Lines()
    assert lines.feed(b"OK\nMESSAGE depth \r of 20\n7,7\r\nMESSAGE depth \r") == ["OK", "MESSAGE depth \r of 20", "7,7"]
    assert lines.feed(b" of 20\n") == ["MESSAGE depth \r of 20"]


def test_an_unfinished_line_is_returned_at_the_end() -> None:
    lines = Lines()
    assert lines.feed(b"7,7\r\n8,") == ["7,7"]
    assert lines.feed(b"8") == []
    assert lines.rest() == ["8,8"]
    assert lines.rest() == []


def test_long_lines_are_cut_and_the_next_is_whole() -> None:
    lines = Lines()
    for _ in range(100):
        assert lines.feed(b"x" * 1_000) == []
    assert lines.feed(b"y\n7,7\n") == ["x" * LONGEST_LINE, "7,7"]


def test_invalid_bytes_are_replaced() -> None:
    assert Lines().feed(b"MESSAGE \xff\n") == ["MESSAGE \N{REPLACEMENT CHARACTER}"]


def test_points_are_column_and_row() -> None:
    assert written_point(17, 15) == "2,1"
    assert read_point(" 2 , 1 ", 15, 15) == 17
    assert [read_point(text, 9, 6) for text in ("8,5", "9,5", "8,6", "-1,0")] == [53, -1, -1, -1]
    assert {read_point(text, 9, 6) for text in ("", "8", "a,b", "1,2,3", "1.0,2")} == {None}


@pytest.mark.parametrize(
    "line, cells",
    [
        *[
            (text, [17])
            for text in ("2,1", "+2,+1", "02,01", "2,1 eval=3", "2,1;", "2,1,7", "2,1 (best of 9)", "2,+1,")
        ],
        *[(text, [-1]) for text in ("-1,-1", "15,0", "+15,0 ev 3", "2,12345678901234567890")],
        *[
            (text, [])
            for text in ("", "MESSAGE 2,1", "2,1s", "2,1.5", "1.2,1", "2", "2,", ",1", "x2,1", "++2,1", "2;1")
        ],
        ("2,1 2,2 3,3 ev 5", [17, 32, 48]),
    ],
)
def test_points_at_the_beginning_of_a_line_are_read(line: str, cells: list[int]) -> None:
    assert read_points(line, 15, 15) == cells


@pytest.mark.parametrize("piece", [1, 4, 100])
def test_leading_nuls_are_skipped_and_a_later_nul_ends_the_text(piece: int) -> None:
    # The second line begins with a NUL; the third has only a NUL and is empty.
    data = b"7,7\0\n\0MESSAGE a\0b\n\0\n\xef\xbb\xbf8,8\r\n"
    lines = Lines()
    read_lines = [line for at in range(0, len(data), piece) for line in lines.feed(data[at : at + piece])]
    assert read_lines == ["7,7", "MESSAGE a", "8,8"]


def test_lines_that_arrive_together_can_have_different_encodings() -> None:
    word = "\u4f30\u503c"
    burst = (
        f"MESSAGE {word}: 7\n".encode() + f"MESSAGE {word}: 8\n".encode("gb18030") + b"MESSAGE \xff\n\xef\xbb\xbf8,8\n"
    )
    assert Lines().feed(burst) == [
        f"MESSAGE {word}: 7",
        f"MESSAGE {word}: 8",
        "MESSAGE \N{REPLACEMENT CHARACTER}",
        "8,8",
    ]


@pytest.mark.parametrize(
    "name, rule",
    [("gomoku", 0), ("gomoku20", 0), ("mnk:9,6,5", 0), ("gomoku:exact", 1), ("gomoku:exact:20", 1), ("renju", 4),
     ("renju:20", 4), ("caro", 8), ("caro:20", 8), ("caro:exact", 9), ("caro:exact:20", 9), ("tictactoe", None),
     ("connect4", None), ("mnk:7,6,4", None), ("qubic", None)],
)  # fmt: skip
def test_only_five_in_a_row_on_flat_boards_has_a_rule(name: str, rule: int | None) -> None:
    variant = parse_variant(name)
    assert rule_of(variant) == rule
    if rule is not None:
        assert variant_of(variant.columns, variant.rows, rule) is variant


@pytest.mark.parametrize(
    "columns, rows, rule", [(19, 19, 1), (15, 20, 4), (15, 15, 2), (15, 15, 5), (31, 31, 0), (4, 4, 0)]
)
def test_unsupported_boards_and_rules_are_refused(columns: int, rows: int, rule: int) -> None:
    with pytest.raises(VariantError):
        variant_of(columns, rows, rule)


def test_a_rule_for_the_opening_leaves_the_rule_as_it_is() -> None:
    assert rule_of(parse_variant("renju+pro")) == 4
    assert rule_of(parse_variant("gomoku+long-pro")) == 0


def test_every_variant_that_is_named_has_a_rule_and_its_way_back() -> None:
    for name in VARIANTS[1:]:  # the first is `mnk`, which needs a size
        variant = parse_variant(name)
        rule = rule_of(variant)
        assert rule is not None
        assert variant_of(variant.columns, variant.rows, rule) is variant
