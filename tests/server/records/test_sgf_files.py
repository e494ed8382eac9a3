"""SGF files: which data they keep, and how files of other programs are read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.records.json_lines import json_line
from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.records.replay import record_errors
from noughts_server.records.sgf import read_sgf, sgf_text
from noughts_server.tables.recorded_game import RecordedGame
from tests.server.records.strategies import played_games
from tests.support.settings import examples


def test_names_and_comments_of_nodes_of_other_programs_are_left_out() -> None:
    (placed,) = read_sgf(["(;GM[4]SZ[3]RU[tictactoe];B[bb]N[depth 3]C[a\n", "b];W[aa]N[Opening])"])
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.thoughts, placed.game.comments) == ({}, {})


@pytest.mark.parametrize("scores", [[1.0], ["1"], "1", [None, True], {"0": 1}])
def test_scores_that_do_not_fit_the_moves_are_left_out_of_sgf(scores: object) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), more={"scores": scores})
    assert record.scores == []
    assert ";W[aa])" in sgf_text(record)


def test_values_of_sgf_that_are_not_numbers_are_left_out() -> None:
    (placed,) = read_sgf(["(;GM[4]SZ[3]RU[tictactoe];B[bb]V[x];W[aa]V[-1.5];B[cc]V[1e999])"])
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.scores == [None, 1.5, None]


@examples(80)
@given(games=st.lists(played_games(), max_size=4))
def test_a_collection_of_sgf_loses_nothing(games: list[RecordedGame]) -> None:
    text = "".join(sgf_text(game, number) for number, game in enumerate(games, start=1))
    assert [placed.game for placed in read_sgf(text.splitlines(keepends=True))] == games


def test_an_oblong_board_has_both_sizes() -> None:
    text = sgf_text(RecordedGame("mnk:9,7,4", "a", "b", "*", (9, 62), "void"))
    assert "SZ[9:7]" in text
    assert ";B[ab];W[ig]" in text


# Three games in the form in which c-gomoku-cli writes them.
CLI_GOMOKU = """(;FF[4]GM[4]GN[1]DT[2022.01.03 17:04]RU[0]SZ[20]PB[x]PW[y]RE[B+1]TE[Black win by five connection]
;B[kk]C[opening move];W[kl]C[opening move]
;B[lk]C[1234ms];W[ll]C[5ms];B[mk]C[7ms];W[ml]C[1ms];B[nk]C[2ms];W[nl]C[3ms];B[ok]C[4ms])

(;FF[4]GM[4]GN[2]EV[y x x]DT[2022.01.03 17:04:09]RO[1.2]RU[1]SZ[15]PB[y]PW[x]RE[W+1]TE[White win by time forfeit]
;B[aa]C[12ms])

(;FF[4]GM[4]RU[4]SZ[15]PB[y]PW[x]RE[0]TE[Draw by adjudication];B[hh])
"""


def test_an_agreed_opening_is_kept_in_sgf() -> None:
    opening = {"opening": {"rule": "swap2", "opener": "a, b", "stones": 5}}
    game = RecordedGame("gomoku+swap2", "a, b", "c", "*", (1, 2, 3, 4, 5), "void", more=opening)
    (placed,) = read_sgf(sgf_text(game).splitlines(keepends=True))
    assert placed.game == game


def test_games_in_the_form_of_c_gomoku_cli_are_read() -> None:
    won_game, late_game, drawn_game = (placed.game for placed in read_sgf(CLI_GOMOKU.splitlines(keepends=True)))
    assert isinstance(won_game, RecordedGame)
    assert isinstance(late_game, RecordedGame)
    assert isinstance(drawn_game, RecordedGame)
    assert (won_game.variant, won_game.first, won_game.result, won_game.termination) == ("gomoku20", "x", "1-0", "line")
    assert (won_game.opening_plies, won_game.moves[0], won_game.times_ms[:3]) == (2, 210, (0.0, 0.0, 1234.0))
    assert (late_game.variant, late_game.result, late_game.termination) == ("gomoku:exact", "0-1", "timeout")
    assert (drawn_game.variant, drawn_game.result, drawn_game.termination) == ("renju", "1/2-1/2", "adjudicated")
    assert record_errors(won_game) == record_errors(drawn_game) == []


@pytest.mark.parametrize(
    "rule, variant",
    [("0", "gomoku"), ("1", "gomoku:exact"), ("4", "renju"), ("8", "caro"), ("9", "caro:exact")],
)
@pytest.mark.parametrize("size, suffix", [("15", ""), ("20", ":20")])
def test_sgf_rule_numbers_are_those_of_gomocup(rule: str, variant: str, size: str, suffix: str) -> None:
    (placed,) = read_sgf([f"(;FF[4]RU[{rule}]SZ[{size}])"])
    assert isinstance(placed.game, RecordedGame)
    expected = "gomoku20" if variant + suffix == "gomoku:20" else variant + suffix
    assert variant_of(placed.game.variant) == variant_of(expected)


@pytest.mark.parametrize(
    "text, message",
    [
        ("(;FF[4]SZ[15];B[zz])", "got the move [zz], expected cells of 15x15"),
        ("(;FF[4]SZ[15];B[h])", "got the move [h], expected two letters"),
        ("(;FF[4]SZ[big];B[hh])", "got the size SZ[big]"),
        ("(;FF[4]SZ[15];B[hh];B[hi])", "two moves by B in a row, B[hi]"),
        ("(;FF[4]SZ[15]RE[B gave up])", "got the result RE[B gave up]"),
        ("(;FF[4]GM[1]SZ[19];B[hh])", "got another game, GM[1], expected GM[4]"),
        ("(;FF[4]SZ[15]AB[hh][ii];W[aa])", "got stones that are set up, AB[...]"),
        ("(;FF[4]SZ[15];B[hh]C[1e999ms])", "got the time 1e999ms"),
        ("(;FF[4]RU[4]SZ[11])", "got the rule RU[4] with SZ[11]"),
        ("(;FF[4]SZ[15];B[hh]", "a tree that does not end"),
        ("(", "a tree that does not end"),
        ("(;FF[4] ?)", "got '?)'"),
    ],
)
def test_errors_of_sgf_name_the_line_where_the_game_begins(text: str, message: str) -> None:
    placed = list(read_sgf(["(;GM[4]SZ[15])\n", "\n", text]))
    assert isinstance(placed[0].game, RecordedGame)
    assert placed[1].line == 3
    assert message in str(placed[1].game)


# Text that persons or mail programs put between games. Only `(;` begins a tree.
TEXT_BETWEEN_TREES = (
    st.text(st.sampled_from("()[];\\ a\n"), max_size=12)
    .map(lambda text: re.sub(r"\((?=\s*;)", "", text.rstrip() + "\n"))
    .filter(lambda text: not re.search(r"\(\s*(;|$)", text))
)


@examples(80)
@given(
    games=st.lists(st.tuples(TEXT_BETWEEN_TREES, played_games(("tictactoe", "gomoku"))), min_size=1, max_size=3),
    end=TEXT_BETWEEN_TREES,
)
def test_text_with_brackets_around_sgf_games_is_ignored(games: list[tuple[str, RecordedGame]], end: str) -> None:
    text = "".join(around + sgf_text(game) for around, game in games) + end
    assert [placed.game for placed in read_sgf(text.splitlines(keepends=True))] == [game for _, game in games]


@pytest.mark.parametrize(
    "before", ["Game (round 1)\n", "a (b [c] (d)\n", "(\n", "(\n\n(see below)\n", "[(", ":-(\n\n", "()"]
)
def test_text_with_brackets_before_sgf_is_not_a_tree(before: str) -> None:
    (placed,) = read_sgf(f"{before}(\n ;SZ[15]\n;B[hh])\n".splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.moves == (112,)
    (nothing,) = read_sgf(before.splitlines(keepends=True))
    assert isinstance(nothing.game, RecordError)


def test_the_first_variation_is_read_and_brackets_in_comments_are_text() -> None:
    text = "(;SZ[15]C[a (comment\\] with; all)];B[hh](;W[hi];B[aa])(;W[hj]))(;SZ[15];B[aa])"
    one, other = (placed.game for placed in read_sgf([text]))
    assert isinstance(one, RecordedGame)
    assert isinstance(other, RecordedGame)
    assert (one.moves, other.moves) == ((112, 127, 0), (0,))


def test_the_factor_of_scaled_times_is_kept_in_sgf() -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), "void", more={"time_factor": 0.333})
    (placed,) = read_sgf(sgf_text(record).splitlines(keepends=True))
    assert placed.game == record


@pytest.mark.parametrize("factor", ["nan", "inf", "-1", "0", "fast"])
def test_invalid_factors_in_sgf_are_ignored(factor: str) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), "void", more={"time_factor": 0.333})
    text = sgf_text(record).replace("0.333", factor)
    assert f"time factor: {factor}" in text
    (placed,) = read_sgf(text.splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert "time_factor" not in placed.game.more
    assert json_line(placed.game)


@pytest.mark.parametrize("document", ["{'a': NaN}", "{'a': -Infinity}", "{'a': 1e999}"])
def test_facts_about_a_tournament_with_invalid_numbers_are_ignored(document: str) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), "void", more={"tournament": {"games": 77}})
    text = sgf_text(record).replace('{"games": 77}', document.replace("'", '"'))
    assert document.replace("'", '"') in text
    (placed,) = read_sgf(text.splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert "tournament" not in placed.game.more


@pytest.mark.parametrize("factor", ["x", 0, -1, True, None, [2.0]])
def test_a_record_with_an_invalid_factor_has_an_error(factor: object) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), "void", more={"time_factor": factor})
    assert record.time_factor is None
    assert [error.partition(":")[0] for error in record_errors(record)] == ["time_factor"]
