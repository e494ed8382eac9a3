"""Damaged and hostile files: readers report their errors, and games that they accept can be written and read again."""

from __future__ import annotations

import json
import re
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import parse_variant
from noughts_server.openings.reading import OpeningsFileError, read_openings_file
from noughts_server.openings.settings import Openings
from noughts_server.records.formats import FORMATS, WITHOUT_MOVES, read_games, writing_games
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.replay import check_games
from noughts_server.records.sampling import samples
from noughts_server.tables.recorded_game import RecordedGame
from tests.support.settings import examples

GAMES = [
    RecordedGame("gomoku", "ada", "bob", "1-0", (0, 15, 1, 16, 2, 17, 3, 18, 4), "line", 7, 2, (0.0, 0.0, *(1.5,) * 7)),
    RecordedGame("mnk:9,7,4", "bob", "ada", "0-1", (4, 0), "timeout", 8, 0, (1.0, 2.0, 9.0), "1+0", "1+0", "was late"),
    RecordedGame(
        "gomoku+swap2", "a", "b", "*", (1, 2, 3), "void", 9,
        more={"opening": {"rule": "swap2", "opener": "a", "stones": 3}, "event": "cup"},
    ),
]  # fmt: skip
DIGITS = [b"9" * 400, b"9" * 5000, b"-" + b"1" * 5000, b"1" * 19, b"-1", b"00"]
FRAGMENTS = st.sampled_from(
    [
        *DIGITS, b"NaN", b"Infinity", b"-Infinity", b"1e300", b"1e999", b"\\ud800", b"\\u0000", b"\\n", b"null", b"{}",
        b"[" * 3000, b"]", b"[", b"(", b")", b"(;", b";", b'"', b",", b"\n", b"\r", b"\x00", b"\xff", b"\\", b"=", b"-",
        "²٣".encode(), "\u2028".encode(), b"mnk:", b"seed: ", b"C[1e300ms]", b"SZ[99:1]", b"mnk:99,99,9", b"true",
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


def write_file(file: Path, games: list[RecordedGame]) -> bytes:
    with writing_games(str(file)) as write:
        for game in games:
            write(game)
    return file.read_bytes()


@st.composite
def damaged(draw: st.DrawFn, text: bytes) -> bytes:
    """Replace some spans of the text, most often numbers and words."""
    for _ in range(draw(st.integers(1, 3))):
        part = draw(st.sampled_from([rb"\d+", rb"\d+|[A-Za-z]+|\W"]))
        spans = [found.span() for found in re.finditer(part, text)] or [(0, 0)]
        start, end = draw(st.sampled_from(spans))
        keep = draw(st.sampled_from([b"", text[start:end]]))
        text = text[:start] + keep + draw(st.sampled_from(DIGITS) | FRAGMENTS | st.just(b"")) + text[end:]
    return text


def errors_of(file: Path) -> list[str]:
    findings = check_games(read_games(str(file)), with_moves=file.suffix not in WITHOUT_MOVES)
    return [finding.error for file_findings in findings for finding in file_findings]


# Parquet has its own tests: a sandboxed process reads it, which takes too long for so many files.
TEXT_FORMATS = tuple(form for form in FORMATS if form != ".parquet")


@pytest.mark.at_length
@pytest.mark.parametrize("form", TEXT_FORMATS)
@examples(60)
@given(data=st.data())
def test_a_damaged_file_is_read_or_its_errors_are_reported(folder: Path, form: str, data: st.DataObject) -> None:
    file = folder / f"damaged{form}"
    file.write_bytes(data.draw(damaged(write_file(file, GAMES[:1] if form == ".psq" else GAMES))))
    errors_of(file)
    for placed in read_games(str(file)):
        if isinstance(placed.game, RecordedGame) and placed.game not in GAMES:
            write_everywhere(folder, placed.game, with_moves=form not in WITHOUT_MOVES)


def write_everywhere(folder: Path, game: RecordedGame, *, with_moves: bool) -> None:
    """Check that every format refuses the game or writes it without adding errors."""
    was_valid = write_and_check(folder / "game.jsonl", game)
    try:
        list(samples(game))
    except RecordError:
        assert not (was_valid and with_moves)
    for form in TEXT_FORMATS if with_moves else WITHOUT_MOVES:
        try:
            is_valid = write_and_check(folder / f"game{form}", game)
        except RecordError:
            continue
        assert is_valid or not was_valid


def write_and_check(file: Path, game: RecordedGame) -> bool:
    """Does `records check` accept the game in this file?"""
    write_file(file, [game])
    assert all(isinstance(placed.game, RecordedGame) for placed in read_games(str(file)))
    return not errors_of(file)


GAME_AS_JSON = {"variant": "gomoku", "first": "a", "second": "b", "moves": [0], "result": "*", "termination": "void"}
NINES = "9" * 5000


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("games.sgf", f"(;SZ[15]GC[seed: {NINES}])", ""),
        ("games.sgf", f"(;SZ[15]GC[agreed by: swap, {NINES} stones, begun by a])", ""),
        ("games.sgf", "(;SZ[15];B[hh]C[1e300ms])", "got the time 1e300ms, expected milliseconds"),
        ("games.sgf", f"(;SZ[{NINES}];B[hh])", "got the size SZ[999"),
        ("games.psq", f"Piskvorky 15x15, 11:11, 0\n1,1,{'9' * 400}\na\nb\n-1\n", "got the time 999"),
        ("games.psq", f"Piskvorky 15x15, 11:11, 0\n1,1,{NINES}\na\nb\n-1\n", "got the time 999"),
        ("games.jsonl", json.dumps({**GAME_AS_JSON, "event": float("nan")}), "Out of range float values"),
        ("games.jsonl", json.dumps(GAME_AS_JSON)[:-1] + ', "event": [1e999]}', "Out of range float values"),
        ("games.jsonl", json.dumps({**GAME_AS_JSON, "first": "a\ud800"}), "surrogates not allowed"),
        ("games.jsonl", json.dumps({**GAME_AS_JSON, "fault": {"reason": "\udfff"}}), "surrogates not allowed"),
    ],
)
def test_hostile_values_are_read_or_their_errors_reported(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    (placed,) = read_games(str(file))
    assert isinstance(placed.game, RecordError if message else RecordedGame)
    assert message in str(placed.game)
    assert len(str(placed.game)) < 500


@examples(60)
@given(data=st.data())
def test_a_damaged_file_of_openings_is_read_or_refused(folder: Path, data: st.DataObject) -> None:
    text = b'8,-3, 6,-4, 5,-4\nh8i9g7\n[112, 128]\n{"variant": "gomoku", "moves": [112, 128]}\n'
    file = folder / "openings.txt"
    file.write_bytes(data.draw(damaged(text)))
    with suppress(OpeningsFileError):
        read_openings_file(Openings(), file, parse_variant("gomoku20"))


def test_an_openings_file_with_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text(f"1,{NINES}\n")
    with pytest.raises(OpeningsFileError, match=r"line 1: got '9{60}\.\.\.' among the offsets, expected whole numbers"):
        read_openings_file(Openings(), file, parse_variant("gomoku"))


@pytest.mark.parametrize(
    "name, text",
    [
        ("game.sgf", "(;GM[4]C[" + "x" * 1_000_000 + "])"),
        ("game.sgf", "(;GM[4]C[" + "\\x" * 500_000 + "])"),
        ("game.sgf", "(;GM[4]" + ";" * 1_000_000 + ")"),
        ("game.pgn", '[White "' + "x" * 1_000_000 + '"]\n'),
    ],
)
def test_long_texts_and_many_nodes_take_little_memory(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    tracemalloc.start()
    games = list(read_games(str(file)))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(games) == 1
    assert peak_bytes < 40 << 20
