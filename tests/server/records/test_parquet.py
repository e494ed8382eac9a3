"""Parquet files: other libraries can read ours, and we read theirs in a sandboxed process."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noughts_referee.rules import Draws
from noughts_server.records import parquet
from noughts_server.records.data_set import DataSet, Rows
from noughts_server.records.formats import FormatError, read_games, writing_games
from noughts_server.records.json_lines import json_document
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.sampling import MARKS, samples
from noughts_server.tables.recorded_game import RecordedGame

pytestmark = pytest.mark.processes

GAMES = [
    RecordedGame("gomoku", "ada", "bob", "1-0", (0, 15, 1, 16, 2, 17, 3, 18, 4), "line", 7, 2, (0.0, 0.0, *(1.5,) * 7)),
    RecordedGame("mnk:9,7,4", "bob", "ada", "0-1", (4, 0), "timeout", 8, 0, (1.0, 2.0, 9.0), "1+0", "2+0", "was late"),
    RecordedGame("gomoku+swap2", "a", "b|`", "*", (1, 2, 3, 9), "void", 2**64 - 1,
                 more={"opening": {"rule": "swap2", "opener": "a", "stones": 3}, "event": "cup",
                       "scores": [None, 1.5, -2, None], "end_time": "2026-11-24T10:00:00.123000+00:00"}),
    RecordedGame("tictactoe", "Ω, \"ü\"", "\x00", "1/2-1/2", (0, 4, 8, 2, 6, 3, 5, 7, 1), "board_full"),
]  # fmt: skip


def write_file(file: Path, games: list[RecordedGame], made: DataSet = DataSet()) -> Path:
    with writing_games(str(file), made) as write:
        for game in games:
            write(game)
    return file


def read_documents(file: Path) -> list[dict[str, Any]]:
    placed = list(read_games(str(file)))
    assert [placed_game.line for placed_game in placed] == list(range(1, len(placed) + 1))
    return [json_document(placed_game.game) for placed_game in placed if isinstance(placed_game.game, RecordedGame)]


def error_of(file: Path) -> str:
    """Return the error of the last row of a file."""
    *_, last = read_games(str(file))
    assert isinstance(last.game, RecordError)
    return str(last.game)


def test_games_are_read_again_with_all_their_values(tmp_path: Path) -> None:
    assert read_documents(write_file(tmp_path / "games.parquet", GAMES)) == list(map(json_document, GAMES))


def test_rows_of_moves_have_what_searches_reported(tmp_path: Path) -> None:
    more = {
        "thoughts": {"0": {"depth": 12, "nodes": 2**40, "time_ms": 1.5, "pv": [4, 0]}, "5": {"depth": 9}},
        "comments": {"1": "so there"},
    }
    game = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), "void", more=more)
    rows = pl.read_parquet(write_file(tmp_path / "moves.parquet", [game], DataSet(Rows.MOVES)))
    reported = rows.select("depth", "nodes", "search_ms", "pv", "comment").rows()
    assert reported == [(12, 2**40, 1.5, [4, 0], None), (None, None, None, None, "so there")]
    assert read_documents(write_file(tmp_path / "games.parquet", [game])) == [json_document(game)]


def test_moves_with_long_comments_are_written_in_small_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_GROUP_CHARACTERS", 10_000)
    game = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), "void", more={"comments": {"1": "x" * 5_000}})
    file = write_file(tmp_path / "moves.parquet", [game] * 6, DataSet(Rows.MOVES))
    assert pq.ParquetFile(file).num_row_groups == 3


def test_a_file_without_games_can_be_read(tmp_path: Path) -> None:
    assert read_documents(write_file(tmp_path / "games.parquet", [])) == []


def test_polars_duckdb_and_pandas_read_the_same_values(tmp_path: Path) -> None:
    import duckdb
    import pandas as pd

    file = write_file(tmp_path / "games.parquet", GAMES * 700)
    results = Counter(game.result for game in GAMES * 700)
    moves = sum(len(game.moves) for game in GAMES * 700)
    times = sum(sum(game.times_ms) for game in GAMES * 700)
    frame = pl.read_parquet(file)
    assert dict(frame["result"].value_counts().iter_rows()) == results
    assert (frame["moves"].list.len().sum(), frame["times_ms"].list.sum().sum()) == (moves, times)
    with duckdb.connect() as connection:
        query = "SELECT count(*), sum(len(moves)), sum(list_sum(times_ms)), max(seed) FROM read_parquet(?)"
        assert connection.execute(query, [str(file)]).fetchone() == (len(GAMES) * 700, moves, times, 2**64 - 1)
    table = pd.read_parquet(file)
    assert table["result"].value_counts().to_dict() == results
    assert (table["moves"].map(len).sum(), table["number"].tolist()) == (moves, list(range(1, 2801)))
    assert table["end_time"].dropna().max() == "2026-11-24T10:00:00.123000+00:00"


def test_positions_are_the_training_samples(tmp_path: Path) -> None:
    frame = pl.read_parquet(write_file(tmp_path / "positions.parquet", GAMES, DataSet(Rows.POSITIONS)))
    expected = [
        (number, sample.board.translate(MARKS).decode(), "XO"[sample.side], sample.move, sample.result)
        for number, game in enumerate(GAMES, start=1)
        for sample in samples(game)
    ]
    assert frame.select("number", "position", "side", "move", "result").rows() == expected
    stones = [len(position) - position.count(".") for position in frame["position"]]
    assert frame["ply"].to_list() == stones


def test_rows_of_moves_have_players_times_and_results(tmp_path: Path) -> None:
    frame = pl.read_parquet(write_file(tmp_path / "moves.parquet", GAMES, DataSet(Rows.MOVES)))
    assert frame.height == sum(len(game.moves) for game in GAMES)
    columns = ("player", "side", "move", "chosen", "time_ms", "score", "result")
    assert frame.filter(pl.col("number") == 2).select(columns).rows() == [
        ("bob", "X", 4, True, 1.0, None, -1),
        ("ada", "O", 0, True, 2.0, None, 1),
    ]
    # The plies of a given opening have no time.
    assert frame.filter(pl.col("number") == 1)["time_ms"].to_list() == [None, None, *(1.5,) * 7]
    assert frame.filter(pl.col("number") == 3).select(columns).rows() == [
        ("a", "X", 1, False, None, None, None),
        ("b|`", "O", 2, False, None, 1.5, None),
        ("a", "X", 3, False, None, -2.0, None),
        ("b|`", "O", 9, True, None, None, None),
    ]


def test_moves_outside_every_board_are_refused(tmp_path: Path) -> None:
    game = RecordedGame("gomoku", "a", "b", "*", (70_000,))
    for rows in Rows:
        with pytest.raises(RecordError, match="got the number 70000, expected cells up to 65,535"):
            write_file(tmp_path / "games.parquet", [game], DataSet(rows))
    assert list(tmp_path.iterdir()) == []


def test_only_parquet_has_rows_of_moves(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"expected one that ends in \.parquet, for moves"):
        write_file(tmp_path / "moves.sgf", GAMES, DataSet(Rows.MOVES))


def test_the_card_describes_the_file(tmp_path: Path) -> None:
    made = DataSet(Rows.GAMES, "CC-BY-4.0", "my|games.jsonl")
    write_file(tmp_path / "games.parquet", GAMES, made)
    card = (tmp_path / "README.md").read_text()
    head, body = card.removeprefix("---\n").split("---\n\n# games.parquet\n", 1)
    yaml = pytest.importorskip("yaml").safe_load(head)
    assert yaml["license"] == "cc-by-4.0"
    assert yaml["configs"] == [{"config_name": "games", "data_files": "games.parquet"}]
    assert "| gomoku 1, mnk:9,7,4 1, gomoku+swap2 1, tictactoe 1 |" in body
    assert r"| source | my\|games.jsonl |" in body
    for name in pq.read_schema(tmp_path / "games.parquet").names:
        assert f"| `{name}` |" in body


def test_a_card_replaces_only_the_card_of_the_same_file(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text("# My project\n")
    write_file(tmp_path / "games.parquet", GAMES)
    assert card.read_text() == "# My project\n"
    assert "licence | not stated" in (tmp_path / "games.parquet.md").read_text()
    card.unlink()
    for count in (1, 2):
        write_file(tmp_path / "moves.parquet", GAMES[:count], DataSet(Rows.MOVES))
        assert f"games | {count} |" in card.read_text()


def test_the_handbook_and_the_card_list_the_same_columns() -> None:
    handbook = Path(__file__).parents[3] / "docs/reference/records.md"
    for rows in Rows:
        assert rows.columns_table in handbook.read_text()


def test_files_that_other_libraries_wrote_are_read(tmp_path: Path) -> None:
    import duckdb
    import pandas as pd

    write_file(tmp_path / "games.parquet", GAMES)
    pl.read_parquet(tmp_path / "games.parquet").filter(pl.col("number") > 1).write_parquet(tmp_path / "polars.parquet")
    assert read_documents(tmp_path / "polars.parquet") == list(map(json_document, GAMES[1:]))
    with duckdb.connect() as connection:
        query = "COPY (SELECT * FROM read_parquet(?) ORDER BY number DESC) TO '{}' (FORMAT parquet)"
        connection.execute(query.format(tmp_path / "duckdb.parquet"), [str(tmp_path / "games.parquet")])
    assert read_documents(tmp_path / "duckdb.parquet") == list(map(json_document, GAMES[::-1]))
    pd.read_parquet(tmp_path / "games.parquet").query("number != 3").to_parquet(tmp_path / "pandas.parquet")
    assert read_documents(tmp_path / "pandas.parquet") == [
        json_document(game) for game in GAMES if game is not GAMES[2]
    ]
    frame = pl.DataFrame({"variant": ["gomoku"], "first": ["a"], "second": ["b"], "moves": [[7]], "result": ["*"]})
    frame.write_parquet(tmp_path / "few.parquet")
    assert read_documents(tmp_path / "few.parquet") == [json_document(RecordedGame("gomoku", "a", "b", "*", (7,)))]


def game_table(**columns: Any) -> pa.Table:
    game = {"variant": "gomoku", "first": "a", "second": "b", "moves": [7], "result": "*"}
    return pa.table({name: [value] for name, value in game.items()} | columns)


def table_with_metadata(text: str) -> pa.Table:
    return game_table().replace_schema_metadata({"noughts": text})


NOT_TEXT = pa.Array.from_buffers(pa.string(), 1, [*pa.array(["a"]).buffers()[:2], pa.py_buffer(b"\xff")])


@pytest.mark.parametrize(
    "foreign_table, message",
    [
        (pa.table({"a": [1]}), "cannot be read (no column 'moves', but a), expected games as"),
        (game_table(moves=pa.array([["x"]])), "(Failed to parse string: 'x' as a scalar of type uint16)"),
        (game_table(moves=pa.array([[None]])), "got 'moves' that are not a list of cells"),
        (game_table(times_ms=pa.array([[float("nan")]])), "got 'times_ms' that are not a list of times"),
        (game_table(more=["[1]"]), "unsupported operand type"),
        (game_table(more=["{"]), "that is not a JSON object (Expecting property name"),
        (game_table(first=NOT_TEXT), "Invalid UTF8 sequence"),
        (game_table(seed=[2.0**63]), "cannot be read (its seeds are floating-point numbers, which have lost digits)"),
        (game_table().append_column("moves", pa.array([[8]])), "exists 2 times in schema"),
        (table_with_metadata("2"), "cannot be read (its schema has version 2)"),
        (table_with_metadata("[]"), "a Parquet file that cannot be read"),
    ],
)  # fmt: skip
def test_errors_of_foreign_files_are_reported(tmp_path: Path, foreign_table: pa.Table, message: str) -> None:
    pq.write_table(foreign_table, tmp_path / "foreign.parquet")
    assert message in error_of(tmp_path / "foreign.parquet")


def test_games_with_long_comments_are_read_again(tmp_path: Path) -> None:
    long = {"comments": {str(ply): "x" * 60_000 for ply in range(90)}}
    games = [RecordedGame("gomoku", "a", "b", "*", tuple(range(90)), "void", number, more=long) for number in range(8)]
    file = write_file(tmp_path / "games.parquet", games)
    assert pq.read_metadata(file).num_row_groups == 2
    assert read_documents(file) == list(map(json_document, games))


def test_a_game_of_too_many_characters_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_LONGEST_LINE", 50)
    with write_file(tmp_path / "games.parquet", GAMES).open("rb") as file:
        assert next(parquet.lines_of(file)) == '"a game of over 50 characters"\n'


def test_a_licence_needs_a_card(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"got a licence, expected a file that ends in \.parquet, which has a card"):
        write_file(tmp_path / "games.sgf", GAMES, DataSet(license="CC0-1.0"))


def test_a_small_file_that_unpacks_to_gigabytes_is_an_error(tmp_path: Path) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int8()), ['{"x": "' + "x" * 4_000_000 + '"}'])
    game = {"variant": "gomoku", "first": "a", "second": "b", "moves": [7], "result": "*"}
    table = pa.table({name: [value] * 2_000 for name, value in game.items()} | {"more": long})
    pq.write_table(table, tmp_path / "foreign.parquet", compression="zstd", store_schema=False)
    assert (tmp_path / "foreign.parquet").stat().st_size < 20_000
    assert "Parquet file that cannot be read" in error_of(tmp_path / "foreign.parquet")


@pytest.mark.at_length
@pytest.mark.long
def test_a_damaged_file_is_read_or_reported(tmp_path: Path) -> None:
    whole = write_file(tmp_path / "games.parquet", GAMES).read_bytes()
    file, draws = tmp_path / "damaged.parquet", Draws(1, 0)
    errors = 0
    for number in range(12):
        damaged = bytearray(whole[: len(whole) if number % 4 else draws.choice(range(len(whole)))])
        for _ in range(number % 4):
            damaged[draws.choice(range(len(damaged)))] = draws.choice(range(256))
        file.write_bytes(damaged)
        errors += any(isinstance(placed.game, RecordError) for placed in read_games(str(file)))
    assert errors > 6
    file.write_bytes(b"no Parquet")
    assert "Parquet magic bytes not found" in error_of(file)


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_games(str(tmp_path / "none.parquet")))


MEMORY_PROGRAM = """
import resource, sys
from noughts_server.records.parquet import lines_of

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

with open(sys.argv[1], "rb") as file:
    for number, _ in enumerate(lines_of(file)):
        if number == 15_000:
            begun = peak()
print(number + 1, peak() - begun)
"""


@pytest.mark.at_length
@pytest.mark.long
def test_memory_does_not_grow_with_the_games(tmp_path: Path) -> None:
    times = [tuple(float(number * ply % 9973) for ply in range(60)) for number in range(60)]
    moves = tuple(range(0, 180, 3))
    games = (RecordedGame("gomoku", "a", "b", "*", moves, "void", n, times_ms=times[n % 60]) for n in range(60_000))
    file = tmp_path / "games.parquet"
    with writing_games(str(file)) as write:
        for game in games:
            write(game)
    command = [sys.executable, "-c", MEMORY_PROGRAM, str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    count, growth_mib = map(int, result.stdout.split())
    assert count == 60_000
    assert growth_mib < 12  # MiB between game 15,000 and game 60,000


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "games.parquet"
    with pytest.raises(OSError, match="No space left on device") as caught, writing_games(str(file)):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(file)
    assert list(tmp_path.iterdir()) == []
