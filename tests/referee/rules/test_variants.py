"""Names of variants: existing names, equal spellings, and errors about unknown names."""

import pytest

from noughts_referee.rules import VariantError, canonical_name, covers, first_common, parse_variant


@pytest.mark.parametrize("spelling", ["mnk:3,3,3", " tictactoe ", "mnk: 3, 3 ,3", "mnk:03,3,3"])
def test_other_spellings_of_tictactoe_are_the_same_variant(spelling: str) -> None:
    assert parse_variant(spelling) is parse_variant("tictactoe")


@pytest.mark.parametrize(
    "spelling, name",
    [("mnk:15,15,5", "gomoku"), (" mnk:20, 20,5", "gomoku20"), ("gomoku:exact ", "gomoku:exact"),
     ("gomoku:20", "gomoku20"), (" caro:exact:20", "caro:exact:20")],
)  # fmt: skip
def test_named_rules_have_one_object_with_their_name(spelling: str, name: str) -> None:
    assert parse_variant(spelling) is parse_variant(name)
    assert parse_variant(spelling).name == canonical_name(spelling) == name


@pytest.mark.parametrize(
    "names, covered, not_covered",
    [
        ((), ["tictactoe", "gomoku:exact", "connect4"], []),
        (("mnk",), ["tictactoe", "gomoku", "gomoku20", "mnk:7,6,4"], ["gomoku:exact", "connect4", "qubic"]),
        (("gomoku",), ["gomoku"], ["gomoku:exact", "gomoku20", "mnk:15,15,4", "renju"]),
        (("gomoku:20", "caro"), ["gomoku20", "caro"], ["gomoku", "caro:20", "caro:exact"]),
        (("mnk: 15,15,5",), ["gomoku"], ["gomoku:exact", "tictactoe"]),
        (("gomoku:exact",), ["gomoku:exact"], ["gomoku"]),
        (("tictactoe",), ["tictactoe"], ["tictactoe3d", "mnk:4,4,4"]),
        (("cells<=16",), ["tictactoe", "mnk:4,4,3", "mnk:8,2,2"], ["mnk:4,5,4", "connect4", "gomoku+pro"]),
        (("cells<=", "cells<=x", "cells<=-9"), [], ["tictactoe"]),
        (("no such variant", "connect4"), ["connect4"], ["tictactoe"]),
    ],
)
def test_declared_names_cover_variants_in_any_spelling(
    names: tuple[str, ...], covered: list[str], not_covered: list[str]
) -> None:
    assert [name for name in (*covered, *not_covered) if covers(names, name)] == covered


@pytest.mark.parametrize(
    "declared, first",
    [
        ([(), ()], "tictactoe"),
        ([("connect4",)], "connect4"),
        ([(), ("gomoku:20", "connect4")], "gomoku20"),
        ([("gomoku", "connect4"), ("connect4", "gomoku")], "gomoku"),
        ([("gomoku", "connect4"), ("cells<=42",)], "connect4"),
        ([("cells<=16",), ("mnk",)], "tictactoe"),
        ([("no such variant", "renju"), ()], "renju"),
        ([("mnk",), ("connect4",)], None),
        ([("no such variant",)], None),
    ],
)
def test_first_common_variant_follows_the_order_of_declarations(
    declared: list[tuple[str, ...]], first: str | None
) -> None:
    assert first_common(declared) == first


@pytest.mark.parametrize(
    "name, shape, lines, shortest_win",
    [
        ("tictactoe", (3, 3, 1), 8, 5),
        ("gomoku", (15, 15, 1), 572, 9),
        ("gomoku:exact", (15, 15, 1), 572, 9),
        ("gomoku20", (20, 20, 1), 1152, 9),
        ("gomoku:exact:20", (20, 20, 1), 1152, 9),
        ("renju", (15, 15, 1), 572, 9),
        ("renju:20", (20, 20, 1), 1152, 9),
        ("caro", (15, 15, 1), 572, 9),
        ("caro:20", (20, 20, 1), 1152, 9),
        ("caro:exact", (15, 15, 1), 572, 9),
        ("caro:exact:20", (20, 20, 1), 1152, 9),
        ("connect4", (7, 6, 1), 69, 7),
        ("tictactoe3d", (3, 3, 3), 49, 5),
        ("qubic", (4, 4, 4), 76, 7),
    ],
)
def test_boards_have_their_size_and_the_published_number_of_lines(
    name: str, shape: tuple[int, int, int], lines: int, shortest_win: int
) -> None:
    variant = parse_variant(name)
    assert (variant.columns, variant.rows, variant.layers) == shape
    assert len(set(variant.lines)) == len(variant.lines) == lines
    assert variant.shortest_win == shortest_win
    assert variant.gravity is (name == "connect4")


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
        (
            "",
            "`gomoku:exact:20`, `renju`, `renju:20`, `caro`, `caro:20`, `caro:exact`, `caro:exact:20`, `connect4`, ",
        ),
        (
            " ",
            "one of `tictactoe`, `gomoku`, `gomoku20`, `gomoku:exact`, ",
        ),
        ("chess", "`qubic`, `mnk:M,N,K`"),
        ("Tictactoe", "did you mean tictactoe?"),
        ("tictactoe:3", "did you mean tictactoe3d?"),
        ("conect4", "did you mean connect4?"),
        ("gomoku:exactly", "did you mean gomoku:exact?"),
        ("gomoku:", "did you mean gomoku?"),
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
def test_an_unknown_variant_is_refused_with_a_suggestion(name: str, expected: str) -> None:
    with pytest.raises(VariantError) as raised:
        parse_variant(name)
    assert raised.value.got == name
    assert expected in raised.value.expected
    assert repr(name) in str(raised.value)


def test_a_variant_stays_unique_after_many_others_were_parsed() -> None:
    square = parse_variant("mnk:5,5,3")
    for columns in range(1, 31):
        for rows in range(1, 6):
            parse_variant(f"mnk:{columns},{rows},1")
    assert parse_variant("mnk:5,5,3") is square
    assert parse_variant(" mnk:5,5,3") is square


def test_a_built_in_name_taken_by_a_plugin_is_suggested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noughts_referee.rules.variants.plugin_names", lambda: ("connect4", "mine", "mnk:3,3"))
    with pytest.raises(VariantError) as raised:
        parse_variant("square")
    assert raised.value.expected.count("`connect4`") == 1
    assert "`mine`" in raised.value.expected
    assert "`mnk:3,3`" not in raised.value.expected
