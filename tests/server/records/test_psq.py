"""PSQ files, as Piskvork and Gomocup's manager write them: the rule, the result and the tournament."""

import pytest

from noughts_server.records.psq import read_psq
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.replay import record_errors
from noughts_server.tables.recorded_game import RecordedGame

FIVE = "1,1,0 1,3,0 2,1,0 2,3,5 3,1,7 3,3,9 4,1,3 4,3,1 5,1,2"
SIX = "1,1,0 1,3,0 2,1,0 2,3,5 3,1,7 4,3,9 5,1,3 5,3,1 6,1,2 7,3,1 4,1,5"
MOVE_AFTER_SIX = f"{SIX} 9,9,5"
UNFINISHED = "3,8,0 3,10,0 4,8,0 4,10,100 5,8,100 5,10,100"
# Two open threes by the ninth move.
DOUBLE_THREE = "8,8,0 1,1,0 10,8,0 15,1,0 9,6,0 1,15,0 9,7,0 15,15,0 9,8,0"


def read_game(moves: str, end: str, *, head: str = "Piskvorky 15x15, 11:11, 0", assumed: str = "") -> RecordedGame:
    return read_psq([head, *moves.split(), "one.zip", "two.zip", *end.split("\n")], assumed=assumed)


@pytest.mark.parametrize(
    "moves, end, expected",
    [
        (FIVE, "-1\n1,Freestyle15_1", ("gomoku", "1-0", "line")),
        (FIVE, "-1\n1,Standard15_1", ("gomoku:exact", "1-0", "line")),
        (FIVE, "-1\n1,RENJU2024", ("renju", "1-0", "line")),
        (FIVE, "-1\n1,Caro15_1", ("caro", "1-0", "line")),
        (FIVE, "0\n1,Fastgame", ("gomoku", "1-0", "line")),
        (FIVE, "-1\n1,0", ("gomoku", "1-0", "line")),
        (MOVE_AFTER_SIX, "-1\n2,1", ("gomoku:exact", "0-1", "timeout")),
        (SIX, "0\n2,4", ("renju", "0-1", "illegal_move")),
        (FIVE, "0\n1,8", ("caro", "1-0", "line")),
        (FIVE, "0\n1,9", ("caro:exact", "1-0", "line")),
        (FIVE, "0", ("gomoku", "1-0", "line")),
        (SIX, "-1\n0,Standard15_1", ("gomoku:exact", "1/2-1/2", "adjudicated")),
        (SIX, "-1\n2,Renju15_1", ("renju", "0-1", "illegal_move")),
        (SIX, "-1\n1,Freestyle15_1", ("gomoku", "1-0", "line")),
        (MOVE_AFTER_SIX, "-1\n2,Standard15_1", ("gomoku:exact", "0-1", "timeout")),
        (MOVE_AFTER_SIX, "-1\n2,Gomocup 2024 standard", ("gomoku:exact", "0-1", "timeout")),
        (DOUBLE_THREE, "-1\n2,Renju_1", ("renju", "0-1", "illegal_move")),
        (UNFINISHED, "-1\n2,Freestyle15_1", ("gomoku", "0-1", "timeout")),
        (UNFINISHED, "-1\n1,Freestyle15_1", ("gomoku", "1-0", "")),
        (UNFINISHED, "-1\n0,Freestyle15_1", ("gomoku", "1/2-1/2", "adjudicated")),
        (UNFINISHED, "2,Freestyle15_1", ("gomoku", "0-1", "timeout")),
        (UNFINISHED, "15", ("gomoku", "0-1", "timeout")),
        (UNFINISHED, "-2", ("gomoku", "0-1", "crashed")),
        (UNFINISHED, "0", ("gomoku", "*", "")),
        (UNFINISHED, "-1", ("gomoku", "*", "")),
    ],
)
def test_the_last_lines_of_a_file_have_its_rule_and_result(
    moves: str, end: str, expected: tuple[str, str, str]
) -> None:
    for ending in ("", "\n", "\n\n"):
        game = read_game(moves, end + ending)
        assert (game.variant, game.result, game.termination) == expected
        assert record_errors(game) == []
        assert (game.first, game.second) == ("one.zip", "two.zip")
    event = end.rpartition(",")[2] if "," in end else ""
    assert game.more.get("event", "") == ("" if event.isdigit() else event)


def test_the_second_player_can_have_moved_first() -> None:
    game = read_game(FIVE, "-1\n2,Freestyle15_1", head="Piskvorky 15x15, 11:11, 1")
    assert (game.first, game.second, game.result) == ("two.zip", "one.zip", "1-0")


def test_a_board_of_twenty_has_the_same_rules() -> None:
    for rule, variant in (("Freestyle", "gomoku20"), ("Standard", "gomoku:exact:20"), ("Renju", "renju:20")):
        assert read_game(FIVE, f"-1\n1,{rule}20_1", head="Piskvorky 20x20, 11:11, 0").variant == variant


@pytest.mark.parametrize("end", ["-1", "0\n1,MyCup"])
def test_an_unknown_rule_is_refused_if_the_game_shows_another_one(end: str) -> None:
    won = f"{MOVE_AFTER_SIX} 1,9,1 9,10,1 2,9,1 9,11,1 3,9,1 9,12,1 4,9,1 8,15,1 5,9,1"
    with pytest.raises(RecordError) as refused:
        read_game(won if end == "-1" else MOVE_AFTER_SIX, end)
    assert "got a game without a rule in which six in a row did not win" in str(refused.value)
    assert refused.value.fix == "Name the variant: --assume-variant gomoku:exact."
    assert read_game(MOVE_AFTER_SIX, end, assumed="gomoku:exact").variant == "gomoku:exact"


def test_a_named_variant_stays_also_with_a_wrong_result() -> None:
    game = read_game("1,6,0 2,6,0", "0\n1,connect4 cup", head="Piskvorky 7x6, 11:11, 0")
    assert (game.variant, game.result, game.more) == ("connect4", "1-0", {"event": "cup"})


def test_a_rule_without_the_board_is_refused() -> None:
    with pytest.raises(RecordError, match="got a game of renju on 9x9, expected a variant with such a board"):
        read_game("1,1,0", "-1\n2,Renju", head="Piskvorky 9x9, 11:11, 0")
