"""Scores of engines: each form that engines print, on one scale."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.gomocup.protocol import Lines
from noughts_bots.gomocup.scores import score_in

CHINESE = "\u4f30\u503c"
"""The word of Rapfi 2018 for a score."""


@pytest.mark.parametrize(
    "line, score",
    [
        ("MESSAGE Speed 52134 | Depth 12-21 | Eval -104 | Node 14K | Time 275ms", -104),
        ("MESSAGE Speed 10000 | Depth 6-2 | Eval +M9 | Node 10 | Time 0ms", 29_991),
        ("MESSAGE Depth 6-2 | Eval -M14 | Node 10", -29_986),
        ("MESSAGE Depth 6-2 | Eval +M* | Node 10", 29_000),
        ("MESSAGE Depth 6-2 | Eval -VAL_INF", -29_000),
        ("MESSAGE dep 9-14 ev -126 tm 262 sp 298", -126),
        ("MESSAGE dep 9-14 ev +v3 tm 1", 29_997),
        ("MESSAGE dep 9-14 ev -v6 tm 1", -29_994),
        ("MESSAGE best: [8,7] val=12", 12),
        (f"MESSAGE {CHINESE}: 29998 | H8", 29_998),
        ("MESSAGE Depth:8-11 Val:-35 Time:11ms Node:0M h8", -35),
        ("MESSAGE Evaluation: 7 | Best Point: h8", 7),
        ("MESSAGE depth 1-12 ev 62% n 3k", 98),
        ("MESSAGE winrate: 0.6200, visits: 800", 98),
        ("MESSAGE win rate 62.0 visits 800", 98),
        ("MESSAGE winrate 100%", 2_000),
        ("MESSAGE winrate 0", -2_000),
        ("MESSAGE score mate in 5", 29_995),
        ("MESSAGE score #-4", -29_996),
        ("MESSAGE ev W7 n 3k", 29_993),
        ("MESSAGE ev L8 n 3k", -29_992),
        ("MESSAGE eval: -3.5", -3.5),
        ("MESSAGE eval -1000000", -29_000),
        ("7,7 eval=3", 3),
    ],
)
def test_each_form_of_a_score_is_read(line: str, score: float) -> None:
    assert score_in([line]) == score


@pytest.mark.parametrize(
    "line", ["", "7,7", "MESSAGE fine", "MESSAGE prev 5", "MESSAGE eval VAL_NONE", "MESSAGE evaluated 5"]
)
def test_lines_without_a_score_have_none(line: str) -> None:
    assert score_in([line]) is None


def test_a_given_word_replaces_the_usual_ones() -> None:
    assert score_in(["MESSAGE eval 3 strength 5"], "strength") == 5
    assert score_in(["MESSAGE eval 3 winrate 0.5"], "winrate") == 0
    assert score_in(["MESSAGE eval 3"], "strength") is None


def test_chinese_words_are_read_in_both_encodings() -> None:
    line = f"MESSAGE {CHINESE}: -7 | H8"
    for encoding in ("utf-8", "gb18030"):
        assert Lines().feed(line.encode(encoding) + b"\n") == [line]


@given(st.text(), st.sampled_from(["", "x", "a b", "(", "win"]))
def test_any_text_can_be_searched_for_scores(text: str, word: str) -> None:
    score = score_in([text, f"MESSAGE {word or 'ev'} {text}"], word)
    assert score is None or abs(score) <= 30_000
