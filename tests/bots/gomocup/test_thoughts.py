"""Messages of Gomocup engines about their search, in each form that engines print."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.gomocup.scores import score_in
from noughts_bots.gomocup.thoughts import ThoughtReader
from noughts_referee.rules import Thought


def cell(column: int, row: int) -> int:
    return row * 15 + column


def read_thought(*lines: str, played: int = cell(5, 7)) -> Thought | None:
    return ThoughtReader().read([f"MESSAGE {line}" for line in lines], played, 15, 15)


@pytest.mark.parametrize(
    "line, thought",
    [
        ("Speed 1171K | Depth 17-36 | Eval -175 | Node 550K | Time 470ms", Thought(17, 550_000, 470_000)),
        ("Depth 9-14 | Eval 3 | Time 12s | F8 G9", Thought(9, 0, 12_000_000, (cell(5, 7), cell(6, 8)))),
        (
            "depth 9-14 ev -12 n 9M n/ms 1171 tm 470 pv F8 G9 I8",
            Thought(9, 9_000_000, 470_000, (cell(5, 7), cell(6, 8), cell(8, 7))),
        ),
        ("(1) 12 (W 50.00, D 1.00, S 0.10) | V 120 | SD 9 | F8 G9", Thought(pv=(cell(5, 7), cell(6, 8)))),
        ("dep - ev -128 nd 794k tm 396 sp 2006", Thought(0, 794_000, 396_000)),
        ("dep 9-14 ev -126 tm 262 sp 298", Thought(9, 0, 262_000)),
        ("Depth:8-11 Val:-35 Time:11ms Node:2M h8", Thought(8, 2_000_000, 11_000)),
        ("depth=3 nodes=1234 time=1.5s", Thought(3, 1_234, 1_500_000)),
        ("nodes 1,234,567, depth 3", Thought(3, 1_234_567)),
        ("n 1,234k", Thought(0, 1_234_000)),
        # Letters that Unicode takes for an s and a k.
        ("time 5m\u017f nodes 2\u212a", Thought(0, 2_000, 5_000)),
        ("winrate: 0.6200, visits: 800, pv: f8 -> g9", Thought(nodes=800, pv=(cell(5, 7), cell(6, 8)))),
        ("深度: 8-14 估值: -72 最佳: [6,8] 耗时: 133 ms", Thought(8, 0, 133_000)),
        ("最佳路线: [6,8][9,8][11,8]", Thought(pv=(cell(5, 7), cell(8, 7), cell(10, 7)))),
        ("depth 2 pv F8,G9", Thought(2, pv=(cell(5, 7), cell(6, 8)))),
        ("depth 2 pv F8, G9, I8", Thought(2, pv=(cell(5, 7), cell(6, 8), cell(8, 7)))),
        ("best line 5,7 6,7", Thought(pv=(cell(5, 7), cell(6, 7)))),
        ("pv 7,5 7,6", Thought(pv=(cell(5, 7), cell(6, 7)))),
    ],
)
def test_each_form_of_a_search_is_read(line: str, thought: Thought) -> None:
    assert read_thought(line) == thought


@pytest.mark.parametrize(
    "line", ["", "fine", "nodes 1,23", "depth unknown", "n/ms 5", "1.2,3.4 5", "timeout 5", "REALTIME BEST 7,7"]
)
def test_lines_without_a_search_have_none(line: str) -> None:
    assert read_thought(line) is None


def test_each_value_is_that_of_the_last_line_that_has_it() -> None:
    thought = read_thought("Depth 5 | Node 10 | F8 G8", "Depth 6 | F8 H8", "Speed 3 | Depth 7")
    assert thought == Thought(7, 10, 0, (cell(5, 7), cell(7, 7)))


def test_a_line_that_does_not_begin_with_the_move_does_not_count() -> None:
    assert read_thought("Depth 6 | G8 H8") == Thought(6)
    assert read_thought("Depth 5 | F8 G9", "Depth 6 | G8 H8") == Thought(6, pv=(cell(5, 7), cell(6, 8)))


def test_the_spelling_of_points_is_learned_from_earlier_moves() -> None:
    reader = ThoughtReader()
    # Rows from the bottom: H6 is the row with index 9. H8 alone fits both directions.
    assert reader.read(["pv H6 H7"], cell(7, 9), 15, 15) == Thought(pv=(cell(7, 9), cell(7, 8)))
    assert reader.read(["pv H8 H9"], cell(7, 7), 15, 15) == Thought(pv=(cell(7, 7), cell(7, 6)))


@pytest.mark.parametrize(
    "line",
    [
        "pv 11," + "111," * 1_000 + "x",
        "pv " + "[1,1" * 1_000 + "x",
        "pv " + "a1 " * 1_300 + "a1x",
        "pv " + "a1," * 1_300 + "a1x",
        "depth" + " " * 4_000 + "x",
        "eval" + " " * 4_000 + "x",
    ],
)
def test_lines_that_can_be_read_in_many_ways_are_read_at_once(line: str) -> None:
    # Processor time, so that a busy machine does not matter: milliseconds, or else many seconds or years.
    before = process_time()
    for _ in range(16):
        read_thought(line)
        score_in([line])
    assert process_time() - before < 0.5


@given(st.lists(st.text()), st.integers(0, 224))
def test_no_text_makes_the_reader_fail(lines: list[str], played: int) -> None:
    read_thought(*lines, *(f"pv {line} 7,7 depth {line}" for line in lines), played=played)
