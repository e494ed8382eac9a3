"""Results of games, read from CSV files and files of games."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from noughts_server.competition.score import Score
from noughts_server.records.formats import writing_games
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.results_file import ResultsError, read_results
from noughts_server.tables.recorded_game import RecordedGame

GAME = '{"variant": "tictactoe", "first": "a", "second": "b", "moves": [], "result": "1-0"}'


def write_file(folder: Path, text: str) -> Path:
    path = folder / "results"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_games_with_or_without_a_heading(tmp_path: Path) -> None:
    rows = "a,b,1-0\n\n a , b ,1/2-1/2\nb,a,0\nb,a,*\na,b,1-0\n"
    expected = {("a", "b"): Score(2, 1, 0), ("b", "a"): Score(0, 0, 1)}
    for text in (rows, "white,black,result\n" + rows, "\ufeffWhite, Black, Result\r\n" + rows.replace("\n", "\r\n")):
        results, void = read_results(write_file(tmp_path, text))
        assert results.independent_scores == expected
        assert (results.games, void, list(results.labels)) == (4, 1, ["a", "b"])


def test_a_heading_can_order_the_columns_and_mark_forfeits(tmp_path: Path) -> None:
    text = "result,round,black,white,termination\n1-0,1,b,a,timeout\n0-1,1,b,a,line\n"
    assert read_results(write_file(tmp_path, text))[0].faults == {"b": {"timeout": 1}}
    results, _ = read_results(write_file(tmp_path, text), forfeits=False)
    assert results.independent_scores == {("a", "b"): Score(0, 0, 1)}
    assert results.faults == {"b": {"timeout": 1}}


@pytest.mark.parametrize("text", ["\n\na,b,1-0\n" + "b,a,1-0\n" * 20_000, f"\n{GAME}\n" * 2_000])
def test_results_are_read_from_a_pipe(tmp_path: Path, text: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    results, _ = read_results(pipe)
    writer.join()
    assert results.games == text.count("1-0")


@pytest.mark.parametrize(
    "text, line, got",
    [
        ("a,b,1-0\na,b,2-0\n", 2, "the result '2-0'"),
        ("a,b,1-0\n" + "a" * 200_000 + ",b,1-0\n", 2, "invalid CSV (field larger than field limit (131072))"),
        ("a,b,1-0\na,b\n", 2, "'a,b'"),
        ("a,b,1-0\na,a,1-0\n", 2, "'a' against itself"),
        (",b,1-0\n", 1, "',b,1-0'"),
        (f"{GAME}\n" + '{"first": "a"}\n', 2, "no 'variant'"),
        (GAME.replace("1-0", "3-0"), 1, "the result '3-0'"),
        (GAME.replace('"b"', "7"), 1, "7 as 'second'"),
        (GAME.replace('"b"', '""'), 1, "a game between players without names"),
        (GAME.replace("[]", "7"), 1, "'moves' that are not a list of cells"),
        ('{"first": "a"\n', 1, "broken JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_with_its_number(tmp_path: Path, text: str, line: int, got: str) -> None:
    with pytest.raises(ResultsError) as caught:
        read_results(write_file(tmp_path, text))
    assert caught.value.line == line
    assert caught.value.got == got


def json_line_of(first: str, second: str, moves: list[int], result: str = "1-0", **more: Any) -> str:
    return json.dumps(
        {
            "variant": "tictactoe",
            "first": first,
            "second": second,
            "moves": moves,
            "result": result,
            "termination": "line",
        }
        | more
    )


def test_a_game_that_is_always_the_same_counts_once(tmp_path: Path) -> None:
    lines = [
        *[json_line_of("a", "b", [4, 0, 3, 1, 5])] * 5,
        *[json_line_of("b", "a", [0, 1], "0-1")] * 3,
        json_line_of("c", "a", [8]),
    ]
    results, _ = read_results(write_file(tmp_path, "\n".join(lines)))
    assert results.independent_scores == {("a", "b"): Score(1), ("b", "a"): Score(0, 0, 1), ("c", "a"): Score(1)}
    assert (results.games, results.repeats) == (9, 6)


def test_equal_games_of_bots_with_random_moves_count_separately(tmp_path: Path) -> None:
    lines = [*[json_line_of("a", "b", [4, 0, 3, 1, 5])] * 5, json_line_of("a", "b", [4, 8, 3, 1, 5])]
    results, _ = read_results(write_file(tmp_path, "\n".join(lines)))
    assert results.independent_scores == {("a", "b"): Score(6)}
    assert results.repeats == 0


def test_games_from_different_openings_are_not_repeats(tmp_path: Path) -> None:
    one = json_line_of("a", "b", [4, 0, 3, 1, 5], opening=[4, 0])
    other = json_line_of("a", "b", [5, 0, 3, 1, 4], opening=[5, 0])
    results, _ = read_results(write_file(tmp_path, "\n".join([one, other, one])))
    assert results.independent_scores == {("a", "b"): Score(2)}
    assert results.repeats == 1


def test_crashes_are_not_repeats(tmp_path: Path) -> None:
    results, _ = read_results(write_file(tmp_path, "\n".join([json_line_of("a", "b", [], termination="crashed")] * 4)))
    assert results.independent_scores == {("a", "b"): Score(4)}
    assert results.faults == {"b": {"crashed": 4}}


def test_games_of_two_variants_are_not_mixed(tmp_path: Path) -> None:
    lines = [json_line_of("a", "b", [4]), json_line_of("a", "b", [4], variant="gomoku")]
    with pytest.raises(ResultsError, match="line 2: got a game of gomoku after games of tictactoe"):
        read_results(write_file(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize("name", ["games.jsonl", "games.sgf", "games.psq", "games.pgn", "games.csv", "games"])
def test_games_are_read_in_every_format(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    source = [RecordedGame("gomoku", "ada", "bob", "1-0", (112, 0, 113, 1, 114, 2, 115, 3, 116), "line")]
    with writing_games(f"{file}.jsonl" if name == "games" else str(file)) as write:
        for game in source:
            write(game)
    if name == "games":
        Path(f"{file}.jsonl").rename(file)
    assert read_results(file)[0].independent_scores == {("ada", "bob"): Score(1)}


def test_a_folder_of_games_names_the_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "games.psq").mkdir()
    (tmp_path / "games.psq" / "1.psq").write_text("no game")
    with pytest.raises(ResultsError, match=r"^1\.psq, line 1: got "):
        read_results(tmp_path / "games.psq")


def test_games_without_names_cannot_be_written_as_results(tmp_path: Path) -> None:
    for name in ("games.pgn", "games.csv"):
        with (
            pytest.raises(RecordError, match="got a game between players without names"),
            writing_games(str(tmp_path / name)) as write,
        ):
            write(RecordedGame("tictactoe", "ada", "", "1-0"))
        assert not (tmp_path / name).exists()
