"""Files of Gomocup (.psq): what they keep, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from noughts_referee.rules import Termination, last_move, parse_variant
from noughts_server.records.formats import FormatError
from noughts_server.records.json_lines import read_json_lines
from noughts_server.records.psq import psq_text, read_psq
from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.tables.recorded_game import RecordedGame
from tests.server.records.strategies import played_games, write_all
from tests.support.settings import examples


@examples(80)
@given(record=played_games())
def test_a_psq_file_keeps_moves_names_whole_milliseconds_and_the_result(record: RecordedGame) -> None:
    read_game = read_psq(psq_text(record).splitlines(keepends=True))
    assert (read_game.variant, read_game.moves) == (record.variant, record.moves)
    assert (read_game.first, read_game.second) == (record.first, record.second)
    assert read_game.times_ms in ((), tuple(float(round(time)) for time in record.times_ms[: len(record.moves)]))
    assert read_game.result == record.result
    kept_terminations = ("line", "board_full", "timeout", "adjudicated")
    assert record.termination not in kept_terminations or read_game.termination == record.termination
    assert read_game.occasion.get("event") == record.occasion.get("event")


@pytest.mark.parametrize(
    "first, second",
    [("", ""), ("", "b"), ("a", ""), ("8,9", "b"), ("a", "8,9,3"), ("2", "-1"), ("7", "b"), ("-1", "a")],
)
def test_a_psq_file_keeps_names_like_moves_and_numbers(first: str, second: str) -> None:
    game = RecordedGame("gomoku", first, second, "*", (7, 8))
    assert read_psq(psq_text(game).splitlines()) == game


@pytest.mark.parametrize(
    "end, names", [("", ("", "")), ("-1\n", ("", "")), ("a\nb\n", ("a", "b")), ("a\nb\n0\n1\n", ("a", "b"))]
)
def test_a_psq_file_of_another_program_can_lack_names_or_its_result(end: str, names: tuple[str, str]) -> None:
    game = read_psq(f"Piskvorky 15x15, 11:11, 0\n8,8,0\n9,8,0\n8,9,0\n{end}".splitlines())
    assert (len(game.moves), game.first, game.second) == (3, *names)


def test_a_psq_file_with_text_among_its_moves_is_an_error() -> None:
    with pytest.raises(RecordError, match="got 'rubbish', expected a move as in `8,8,1250`"):
        read_psq("Piskvorky 15x15, 11:11, 0\n1,1,0\nrubbish\n2,2,0\na\nb\n-1\n".splitlines())


def test_a_psq_file_holds_one_game(tmp_path: Path) -> None:
    game = RecordedGame("gomoku", "a", "b", "*", (7,), "void")
    with pytest.raises(FormatError, match="got more than one game, expected one"):
        write_all(f"{tmp_path}/x.psq", [game, game])


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "an empty file"),
        ("Gomoku 15x15\n1,1,0\n", "expected a line such as `Piskvorky 15x15, 11:11, 0`"),
        ("Piskvorky 15x15, 11:11, 0\n16,1,0\n", "got the move 16,1,0, expected cells of 15x15"),
        ("Piskvorky 15x15, 11:11, 0\n1,1,0\n1,1,0\n2,2,0\n", "which is occupied"),
    ],
)
def test_errors_of_psq_are_reported(text: str, message: str) -> None:
    with pytest.raises(RecordError) as refused:
        read_psq(text.splitlines())
    assert message in str(refused.value)


@pytest.mark.parametrize("times", ["[0, NaN]", "[0, Infinity]", "[0, -1]", f"[0, 1{'0' * 400}]", "[true]"])
def test_invalid_times_are_reported(times: str) -> None:
    line = f'{{"variant": "gomoku", "first": "a", "second": "b", "moves": [0, 1], "result": "*", "times_ms": {times}}}'
    (placed,) = read_json_lines([line])
    assert isinstance(placed.game, RecordError)
    assert "not a list of times" in str(placed.game)


def test_a_small_psq_board_needs_as_many_in_a_row_as_it_is_wide() -> None:
    game = read_psq(["Piskvorky 3x3, 11:11, 0", "1,1,0", "1,2,0", "2,1,0", "2,2,0", "3,1,0", "a", "b", "-1"])
    assert (game.moves, game.result) == ((0, 3, 1, 4, 2), "1-0")
    assert game.variant == variant_of("mnk:3,3,3").name


def test_a_won_game_of_psq_has_its_result() -> None:
    rows = ["Piskvorky 20x20, 11:11, 0"]
    rows += [f"{column},{row},{column}" for column in range(1, 5) for row in (1, 2)]
    game = read_psq([*rows, "5,1,9", "one.exe", "two.exe", "-1"])
    assert (game.first, game.second, game.result, game.termination) == ("one.exe", "two.exe", "1-0", "line")
    assert last_move(parse_variant("gomoku20"), game.moves).termination is Termination.LINE
    assert game.times_ms[-1] == 9.0
