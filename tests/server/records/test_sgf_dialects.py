"""SGF files of other programs, from FF[1] to FF[4]."""

import pytest

from noughts_server.records.recorded_game import RecordError
from noughts_server.records.replay import record_errors
from noughts_server.records.sgf import read_sgf, sgf_text
from noughts_server.tables.recorded_game import RecordedGame, date_of

MOVES = ";B[ch];W[cj];B[dh];W[dj];B[eh];W[ej];B[fh];W[fj];B[gh]"
SIX = ";B[ah];W[aj];B[bh];W[cj];B[ch];W[ej];B[eh];W[gj];B[fh];W[ij];B[dh]"


def read_single_game(text: str, assumed: str = "") -> RecordedGame:
    """Read a file with one game. Raises the RecordError of the game."""
    (placed,) = read_sgf(text.splitlines(keepends=True), assumed=assumed)
    if isinstance(placed.game, RecordError):
        raise placed.game
    return placed.game


@pytest.mark.parametrize(
    "result, expected",
    [
        ("B", ("1-0", "")), ("W", ("0-1", "")), ("B+", ("1-0", "")), ("W+R", ("0-1", "resigned")),
        ("B+T", ("1-0", "timeout")), ("B+Time", ("1-0", "timeout")), ("B+F", ("1-0", "disconnected")),
        ("W+Forfeit", ("0-1", "disconnected")), ("W+Resign", ("0-1", "resigned")), ("B+1", ("1-0", "")),
        ("b+r", ("1-0", "resigned")), ("Black+Time", ("1-0", "timeout")), ("White wins", ("0-1", "")),
        ("Black won by resignation", ("1-0", "resigned")), ("0", ("1/2-1/2", "")), ("Draw", ("1/2-1/2", "")),
        ("Jigo", ("1/2-1/2", "")), ("Void", ("*", "")), ("?", ("*", "")), ("", ("*", "")),
        ("B + R", ("1-0", "resigned")),
    ],
)  # fmt: skip
def test_results_of_every_spelling_are_read(result: str, expected: tuple[str, str]) -> None:
    game = read_single_game(f"(;FF[4]GM[4]SZ[15]PB[ada]PW[bob]RE[{result}];B[hh];W[ii];B[gg])")
    assert (game.result, game.termination) == expected


@pytest.mark.parametrize("result", ["1-0", "X", "B-", "Blackbird", "+R"])
def test_unknown_results_are_refused(result: str) -> None:
    with pytest.raises(RecordError, match=r"got the result RE\["):
        read_single_game(f"(;GM[4]SZ[15]RE[{result}];B[hh])")


@pytest.mark.parametrize(
    "rule, variant",
    [
        ("", "gomoku"), ("Gomoku", "gomoku"), ("Free Style", "gomoku"), ("五子棋", "gomoku"), ("swap 2", "gomoku"),
        ("Gomoku-Pro", "gomoku"), ("5 in a row", "gomoku"), ("Standard Gomoku", "gomoku:exact"),
        ("RIF", "renju"), ("renju-soosyrv8", "renju"), ("Taraguchi-10", "renju"), ("連珠", "renju"),
        ("Renju International Federation rules", "renju"), ("Caro", "caro"), ("Exact Caro", "caro:exact"),
        ("gomoku:exact", "gomoku:exact"), ("gomoku+swap2", "gomoku+swap2"),
    ],
)  # fmt: skip
def test_rules_in_words_are_read(rule: str, variant: str) -> None:
    game = read_single_game(f"(;GM[4]SZ[15]RU[{rule}]RE[B+]{MOVES})")
    assert (game.variant, record_errors(game)) == (variant, [])


@pytest.mark.parametrize("rule", ["Japanese", "Free Renju", "Gomoku 3000 house", "5", "2", "Omok"])
def test_unknown_rules_are_refused_unless_the_variant_is_named(rule: str) -> None:
    text = f"(;GM[4]SZ[15]RU[{rule}]{MOVES})"
    with pytest.raises(RecordError, match=r"got the unknown rule RU\[") as refused:
        read_single_game(text)
    assert refused.value.fix == "Name the variant: --assume-variant gomoku."
    assert read_single_game(text, assumed="renju").variant == "renju"


def test_a_game_without_a_rule_that_breaks_freestyle_is_refused() -> None:
    text = f"(;GM[4]SZ[15]{SIX};W[aa])"
    with pytest.raises(RecordError, match="got a game without a rule in which six in a row did not win"):
        read_single_game(text)
    assert read_single_game(text, assumed="gomoku:exact").moves == read_single_game(text.replace("SZ", "RU[1]SZ")).moves


@pytest.mark.parametrize(
    "text",
    [
        "(;FF[4]GM[4]SZ[15]PB[ada]PW[bob]RE[0]B[hh]W[ig]B[gj])",
        "(;FF[4]GM[4]SZ[15]PB[ada]PW[bob]RE[0];B[hh]W[ig];B[gj])",
        "(;FF[3]GaMe[4]SiZe[15]PlayerBlack[ada]PlayerWhite[bob]REsult[0];Black[hh];White[ig];Black[gj])",
        "(;ff[1]gm[4]sz[15]pb[ada]pw[bob]re[0];b[hh];w[ig];b[gj])",
        "(;5A[]GM[4]SZ[15]PB[ada]PW[bob]RE[0]C3[x]KI1[];B[hh]2B[aa];W[ig];B[gj])",
        "(;GM[4]SZ[15]\n\n;PB[ada]PW[bob]RE[0]\n;B\n[hh]\n;W [ig] (;B[gj])(;B[bb];W[cc]))",
        "(;GM[4]SZ[15]PB[ada]PW[bob]RE[0];B[hh];W[ig];B[gj];W[])",
        "(;GM[4]SZ[15]PB[ada]PW[bob]RE[0];B[hh];W[ig];B[gj];W[tt];B[])",
        "(;GM[4]SZ[15]PB[ada]PW[bob]RE[0]AB[]AE[];B[hh];W[ig];B[gj])",
        "(;GM[4]SZ[15]AP[x\\]y:1]C[a\\\\]PB[ada]PW[bob]RE[0];B[hh]C[\\]];W[ig];B[gj])",
        "Hello (1)\r\n(;GM[4]SZ[15:15]PB[ada]PW[bob]RE[0];B[hh];W[ig];B[gj])\r\nbye",
    ],
)
def test_dialects_are_read(text: str) -> None:
    game = read_single_game(text)
    assert (game.first, game.second, game.result) == ("ada", "bob", "1/2-1/2")
    assert game.moves == (112, 98, 141)


@pytest.mark.parametrize(
    "text, message",
    [
        (";B[hh];W[];B[ii]", r"got a pass as move 2, W[], expected a stone"),
        (";B[hh];W[tt];B[ii]", r"got a pass as move 2, W[tt], expected a stone"),
        (";B[hh]B[ii]", "got two moves by B in a row, B[ii]"),
        (";B[hh][ii]", "got two moves by B in a row, B[ii]"),
        ("AB[hh]AW[ii];B[jj]", "got stones that are set up, AB[...], expected only moves"),
    ],
)
def test_passes_and_setup_stones_are_refused(text: str, message: str) -> None:
    with pytest.raises(RecordError) as refused:
        read_single_game(f"(;GM[4]SZ[15]{text})")
    assert message in str(refused.value)


def test_white_can_have_moved_first() -> None:
    game = read_single_game(f"(;GM[4]SZ[15]PB[ada]PW[bob]RE[W+]{MOVES.translate(str.maketrans('BW', 'WB'))})")
    assert (game.first, game.second, game.result, record_errors(game)) == ("bob", "ada", "1-0", [])
    with pytest.raises(RecordError, match="got a first move by W in renju"):
        read_single_game("(;GM[4]SZ[15]RU[renju];W[hh])")


def test_a_lost_forbidden_move_is_an_illegal_move() -> None:
    game = read_single_game(f"(;GM[4]SZ[15]RU[4]RE[W+]{SIX})")
    assert (len(game.moves), game.result, game.termination, record_errors(game)) == (10, "0-1", "illegal_move", [])


def test_tt_is_a_cell_on_large_boards() -> None:
    assert read_single_game("(;GM[4]SZ[20];B[tt];W[hh])").moves == (399, 147)


def test_round_and_event_are_kept() -> None:
    game = RecordedGame("gomoku", "a", "b", "*", (7,), "void", more={"round": 3, "event": "cup", "date": "2026-11"})
    assert "EV[cup]RO[3]DT[2026-11]" in sgf_text(game)
    assert read_single_game(sgf_text(game)) == game


@pytest.mark.parametrize(
    "text, date",
    [
        ("20261127", "2026-11-27"), ("2026.11.27", "2026-11-27"), ("2026/11/27", "2026-11-27"), ("2026-11", "2026-11"),
        ("2026-11-27,28", "2026-11-27"), ("1996-05,06", "1996-05"), ("Nov 27 2026", "2026-11-27"), ("~2026", "2026"),
        ("27.11.2026", "2026-11-27"), ("27 November 2026", "2026-11-27"), ("Fri Nov 27 20:23:17 2026", "2026-11-27"),
        ("2022.01.03 17:04:09", "2022-01-03"), ("2026-11-27T10:00Z", "2026-11-27"), ("2026.??.??", "2026"),
        ("2026-00-00", "2026"), ("2026-13-45", ""), ("2026-02-30", ""), ("0000-00-00", ""), ("????.11.27", ""),
        ("11/12/2026", ""), ("202611", ""), ("20261345", ""), ("soon", ""), ("", ""),
    ],
)  # fmt: skip
def test_dates_are_those_of_the_calendar(text: str, date: str) -> None:
    assert date_of(text) == date
    assert read_single_game(f"(;GM[4]SZ[15]DT[{text}])").more == ({"date": date} if date else {})
