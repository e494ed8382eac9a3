"""A game that is written to a file and read again is the same, as far as the file's format can hold it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import Thought
from noughts_referee.rules.thoughts import LARGEST_NODES, LONGEST_US
from noughts_server.records.csv_rows import read_csv
from noughts_server.records.data_set import Rows
from noughts_server.records.formats import read_games, writing_games
from noughts_server.records.json_lines import json_document, json_line, read_json_lines
from noughts_server.records.parquet import lines_of
from noughts_server.records.pgn import read_pgn
from noughts_server.records.recorded_game import RecordError, comments_by_ply, score_column, thoughts_by_ply
from noughts_server.records.replay import record_errors
from noughts_server.records.sgf import read_sgf, sgf_text
from noughts_server.tables.recorded_game import RecordedGame
from tests.server.records.strategies import (
    DATES,
    FLAT_VARIANTS,
    HOSTILE_NAMES,
    LAYERED_VARIANTS,
    NAMES,
    played_games,
    write_all,
)
from tests.support.settings import examples


@examples(80)
@given(record=played_games((*FLAT_VARIANTS, *LAYERED_VARIANTS)))
def test_json_lines_lose_nothing(record: RecordedGame) -> None:
    (placed,) = read_json_lines([json_line(record)])
    read_game = placed.game
    assert isinstance(read_game, RecordedGame)
    added = ("winning_cells", "seed_text", "fault")
    assert (
        replace(read_game, more={name: value for name, value in read_game.more.items() if name not in added}) == record
    )
    assert json_line(read_game) == json_line(record)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)

COLUMN = st.sampled_from([column.name for column in Rows.GAMES.columns])

END_TIMES = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)

MORE_KEYS = ("first_time", "second_time", "termination")  # must be text

MORE_COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "event": NAMES,
        "date": DATES,
        "game": NAMES,
        "end_time": END_TIMES | JSON,
        "scores": st.lists(st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)) | JSON,
        "winning_cells": JSON,
        "opening": st.fixed_dictionaries({"rule": NAMES, "opener": NAMES, "stones": st.integers()}),
        "fault": JSON,
    },
)

FIXED_COLUMNS = {"variant", "first", "second", "result", "moves", "seed", "times_ms"}

OTHER_COLUMNS = st.dictionaries(
    COLUMN.filter(lambda name: name not in FIXED_COLUMNS) | st.text(max_size=4), JSON, max_size=3
)


@examples(150)
@given(
    games=st.lists(
        st.tuples(played_games((*FLAT_VARIANTS, *LAYERED_VARIANTS)), MORE_COLUMNS, OTHER_COLUMNS), max_size=3
    )
)
def test_parquet_keeps_all_columns_of_a_game(games: list[tuple[RecordedGame, dict[str, Any], dict[str, Any]]]) -> None:
    lines = []
    for game, more, others in games:
        other_columns = {key: value for key, value in others.items() if key not in MORE_KEYS}
        lines.append(json.dumps({**json_document(game), **more, **other_columns}))
    games_to_write = [placed.game for placed in read_json_lines(lines) if isinstance(placed.game, RecordedGame)]
    with TemporaryDirectory() as folder:
        write_all(f"{folder}/games.parquet", games_to_write)
        with open(f"{folder}/games.parquet", "rb") as file:
            read_games_again = [placed.game for placed in read_json_lines(lines_of(file))]
    documents = [json_document(game) for game in read_games_again if isinstance(game, RecordedGame)]
    assert documents == [json_document(game) for game in games_to_write]


@examples(80)
@given(record=played_games(), draw=st.data())
def test_scores_are_kept_in_json_lines_and_sgf(record: RecordedGame, draw: st.DataObject) -> None:
    plies = len(record.moves)
    numbers = st.floats(-3e38, 3e38) | st.integers(-(10**6), 10**6)
    scores = draw.draw(st.dictionaries(st.integers(0, plies - 1), numbers)) if plies else {}
    scored = replace(record, more={**record.more, **score_column(scores, plies)})
    (line,) = read_json_lines([json_line(scored)])
    (tree,) = read_sgf(sgf_text(scored).splitlines(keepends=True))
    for placed in (line, tree):
        assert isinstance(placed.game, RecordedGame)
        assert placed.game.scores == scored.scores == ([scores.get(ply) for ply in range(plies)] if scores else [])


THOUGHTS = st.builds(
    Thought,
    depth=st.integers(0, 65_535),
    nodes=st.integers(0, LARGEST_NODES),
    time_us=st.integers(0, LONGEST_US),
    pv=st.lists(st.integers(0, 8), unique=True).map(tuple),
).filter(any)

REMARKS = st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(" \n\\]["), min_size=1)


@examples(80)
@given(record=played_games(), draw=st.data())
def test_thoughts_and_comments_are_kept_in_json_lines_and_sgf(record: RecordedGame, draw: st.DataObject) -> None:
    plies = st.integers(0, len(record.moves) - 1)
    thoughts = draw.draw(st.dictionaries(plies, THOUGHTS)) if record.moves else {}
    comments = draw.draw(st.dictionaries(plies, REMARKS)) if record.moves else {}
    annotated = replace(record, more={**record.more, **comments_by_ply(comments), **thoughts_by_ply(thoughts)})
    (line,) = read_json_lines([json_line(annotated)])
    (tree,) = read_sgf(sgf_text(annotated).splitlines(keepends=True))
    for placed in (line, tree):
        assert isinstance(placed.game, RecordedGame)
        assert (placed.game.thoughts, placed.game.comments) == (thoughts, comments)
        assert placed.game.times_ms == record.times_ms


@pytest.mark.parametrize(
    "thought", [None, 5, [], {"depth": "9"}, {"depth": True}, {"pv": [1.5]}, {"pv": "h8"}, {"time_ms": 1e300}, {}]
)
def test_thoughts_in_the_form_of_another_program_are_left_out(thought: object) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), more={"thoughts": {"0": thought}})
    assert record.thoughts == {}
    assert "depth" not in sgf_text(record)


def test_comments_of_bots_are_not_taken_for_times_or_openings() -> None:
    comments = {0: "opening move", 1: "it seems 9ms"}
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), more=comments_by_ply(comments))
    (placed,) = read_sgf(sgf_text(record).splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.comments, placed.game.times_ms, placed.game.opening_plies) == (comments, (), 0)


def test_a_line_with_a_row_of_very_many_digits_ends_before_it() -> None:
    (placed,) = read_sgf([f"(;GM[4]AP[Noughts]SZ[15]RU[gomoku];B[hh]N[depth 3 pv h8 h{'9' * 5_000}])"])
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.thoughts == {0: Thought(depth=3, pv=(112,))}


def test_thoughts_of_a_game_are_read_once_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Counter[str]()

    def count(record: RecordedGame) -> dict[int, Thought]:
        reads["thoughts"] += 1
        return {ply: Thought(depth=1) for ply in range(len(record.moves))}

    monkeypatch.setattr(RecordedGame, "thoughts", property(count))
    assert sgf_text(RecordedGame("gomoku", "ada", "bob", "*", tuple(range(100)))).count("depth 1") == 100
    assert reads["thoughts"] == 1


@examples(60)
@given(record=played_games((*FLAT_VARIANTS, *LAYERED_VARIANTS)))
def test_played_games_have_no_errors(record: RecordedGame) -> None:
    assert record_errors(record) == []


def test_fields_that_other_programs_add_to_a_line_are_kept() -> None:
    line = (
        '{"variant":"tictactoe","first":"a","second":"b","moves":[0,3,1,4,2],"result":"1-0","termination":"line",'
        '"winning_cells":[0,1,2],"opening":{"rule":"swap","opener":"a","stones":3},"event":"cup","n":[1,{"x":null}]}\n'
    )
    (placed,) = read_json_lines([line])
    assert isinstance(placed.game, RecordedGame)
    assert json_line(placed.game) == line


def test_the_name_of_a_file_decides_its_format(tmp_path: Path) -> None:
    games = [
        RecordedGame("gomoku", "a", "b", "1-0", (0, 15, 1, 16, 2, 17, 3, 18, 4), "line", times_ms=(1.0,) * 9),
        RecordedGame("gomoku", "b", "a", "*", (7,), "void"),
    ]
    for name in ("games.jsonl", "games.sgf", f"{tmp_path}/games.psq/"):
        file = name if name.startswith("/") else str(tmp_path / name)
        with writing_games(file) as write:
            for game in games:
                write(game)
        games_of_file = [placed.game for placed in read_games(file)]
        assert [game.moves for game in games_of_file if isinstance(game, RecordedGame)] == [
            game.moves for game in games
        ]
    assert sorted(file.name for file in (tmp_path / "games.psq").iterdir()) == ["000001.psq", "000002.psq"]


@pytest.mark.parametrize("suffix", [".sgf", ".pgn"])
@pytest.mark.parametrize(
    "more",
    [{}, {"event": "Spring [cup]"}, {"date": "2026-11-24"}, {"event": '"x"', "date": "2026"}, {"date": "2026-11"}],
)
def test_event_and_date_are_written_and_read_back(tmp_path: Path, suffix: str, more: dict[str, str]) -> None:
    file = tmp_path / f"games{suffix}"
    write_all(str(file), [RecordedGame("gomoku", "a", "b", "*", (7,), "void", more=more)])
    (placed,) = read_games(str(file))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.more == more


def test_events_and_dates_of_other_programs_are_read() -> None:
    (pgn,) = read_pgn(
        '[Event "?"]\n[Date "2022.01.??"]\n[White "a"]\n[Black "b"]\n[Result "*"]\n'.splitlines(keepends=True)
    )
    (sgf,) = read_sgf(["(;SZ[15]EV[y x x]DT[2022.01.03 17:04:09])"])
    assert isinstance(pgn.game, RecordedGame)
    assert isinstance(sgf.game, RecordedGame)
    assert (pgn.game.more, sgf.game.more) == ({"date": "2022-01"}, {"event": "y x x", "date": "2022-01-03"})


@pytest.mark.parametrize("name", ["games.jsonl", "games.sgf", "games.psq", "games.pgn", "games.csv"])
@examples(60)
@given(record=played_games(("gomoku", "mnk:30,6,5")), first=HOSTILE_NAMES, second=HOSTILE_NAMES)
def test_every_format_keeps_hostile_names_or_refuses_them(
    tmp_path_factory: pytest.TempPathFactory, name: str, record: RecordedGame, first: str, second: str
) -> None:
    file = str(tmp_path_factory.mktemp("records") / name)
    game = replace(record, first=first, second=second)
    try:
        write_all(file, [game])
    except RecordError:
        assert name != "games.jsonl"
        return
    (placed,) = read_games(file)
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.first, placed.game.second) == (first, second)
    if not name.endswith((".pgn", ".csv")):
        assert placed.game.moves == game.moves


@pytest.mark.parametrize("name", ["games.jsonl", "games.sgf", "games.psq", "games.pgn", "games.csv"])
@pytest.mark.parametrize("first", ["a\tb", "a  b", "a\u00a0b"])
def test_names_with_unusual_spaces_are_kept_or_refused(tmp_path: Path, name: str, first: str) -> None:
    game = RecordedGame("gomoku", first, "c", "*", (7, 8))
    try:
        write_all(str(tmp_path / name), [game])
    except RecordError:
        assert "\t" in first
        return
    (placed,) = read_games(str(tmp_path / name))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.first == first


def test_a_file_that_could_not_be_written_completely_is_deleted(tmp_path: Path) -> None:
    games = [RecordedGame(name, "a", "b", "*", (7,), "void") for name in ("gomoku", "qubic")]
    with pytest.raises(RecordError, match="expected a flat board"):
        write_all(f"{tmp_path}/x.sgf", games)
    assert list(tmp_path.iterdir()) == []


def test_text_without_games_is_an_error_but_an_empty_file_is_not() -> None:
    for read in (read_sgf, read_pgn):
        (placed,) = read(["no game\n", "at all\n"])
        assert isinstance(placed.game, RecordError)
        assert list(read([])) == list(read(["\n"])) == []


def test_a_heading_of_csv_orders_the_columns() -> None:
    (placed,) = read_csv(["round,Black,White,Result\n", "1,bob,ada,1-0\n"])
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.first, placed.game.second, placed.game.result) == ("ada", "bob", "1-0")


def test_invalid_csv_is_reported() -> None:
    *_, placed = read_csv(["ada,bob,1-0\n", "a" * 200_000])
    assert isinstance(placed.game, RecordError)
    assert placed.line == 2


@pytest.mark.parametrize("suffix", [".csv", ".pgn", ".sgf", ".psq"])
def test_written_files_contain_no_control_characters(tmp_path: Path, suffix: str) -> None:
    control_characters, file = "a\x1b]0;x\x07\x9b31m\u202eb", tmp_path / f"games{suffix}"
    game = RecordedGame(
        "gomoku",
        "ada",
        "bob",
        "1-0",
        (112,),
        "resigned",
        more={"event": control_characters, "round": control_characters},
    )
    with writing_games(str(file)) as write:
        write(game)
        with pytest.raises(RecordError, match="expected no control characters"):
            write_all(str(tmp_path / f"other{suffix}"), [replace(game, first=control_characters)])
    text = file.read_text("utf-8")
    assert "a\ufffd]0;x" in text or "a\ufffd\\]0;x" in text
    assert all(letter.isprintable() for letter in text if letter != "\n")
