"""`noughts rules check`: a line of JSON for each line of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import invoke

DOUBLE_THREE = [110, 0, 111, 14, 82, 210, 97, 224, 112]
ROW = [0, 30, 1, 31, 2, 32, 3, 33, 4]
LINES = [
    ({"variant": "renju", "moves": DOUBLE_THREE}, ("illegal_move", "double-three", 9)),
    ({"variant": "caro", "moves": DOUBLE_THREE}, ("open", None, 9)),
    ({"variant": "renju", "moves": ROW, "first": "a field that -o also writes"}, ("line", None, 9)),
    ({"variant": "renju", "moves": [*ROW, 4]}, ("illegal_move", None, 10)),
    ({"variant": "tictactoe", "moves": [0, 1, 2, 4, 3, 5, 7, 6, 8]}, ("board_full", None, 9)),
    ({"variant": "connect4", "moves": []}, ("open", None, 0)),
]
"""Games, and the expected outcome, kind of a forbidden move, and number of the last ply."""


def test_each_line_of_a_file_or_of_standard_input_is_answered(tmp_path: Path) -> None:
    text = "".join(json.dumps(line) + "\n" for line, _ in LINES)
    file = tmp_path / "positions.jsonl"
    file.write_text(text)
    expected = [{"outcome": outcome, "kind": kind, "ply": ply} for _, (outcome, kind, ply) in LINES]
    for result in (invoke(["rules", "check", str(file)]), invoke(["rules", "check", "-"], stdin=text)):
        assert [json.loads(line) for line in result.stdout.splitlines()] == expected
        assert result.stderr == ""
    text_lines = invoke(["rules", "check", str(file), "--format", "text"]).stdout.splitlines()
    assert text_lines[:3] == ["ply 9: illegal_move (double-three)", "ply 9: open", "ply 9: line"]


def test_wrong_bytes_of_standard_input_are_reported_with_their_line() -> None:
    good_line = json.dumps(LINES[0][0]).encode()
    result = invoke(["rules", "check", "-"], stdin=good_line + b'\r\n{"variant": "ren\xff"}\r\n', code=2)
    assert result.stdout.count("\n") == 1
    assert 'standard input, line 2: got \'{"variant": "ren\ufffd"}\', expected' in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("x", "got 'x', expected a variant and its moves, e.g. {"),
        ("[1, 2]", "got '[1, 2]', expected a variant and its moves"),
        ('{"variant": "renju"}', "expected a variant and its moves"),
        ('{"variant": "renju", "moves": {}}', "expected a variant and its moves"),
        ('{"variant": "renju", "moves": [1.0]}', "expected a variant and its moves"),
        ('{"variant": "renju", "moves": [true]}', "expected a variant and its moves"),
        ('{"variant": [], "moves": [1]}', "expected a variant and its moves"),
        ('{"variant": "renjo", "moves": [1]}', "got variant 'renjo', expected one of"),
        (
            '{"variant": "renju", "moves": [1, 1, 2]}',
            "got cell 1 as move 2, which is occupied, expected different cells",
        ),
    ],
)
def test_an_unreadable_line_is_reported_after_the_earlier_answers(line: str, complaint: str) -> None:
    good_line = json.dumps(LINES[0][0])
    result = invoke(["rules", "check", "-"], stdin=f"{good_line}\n{good_line}\n{line}\n{good_line}\n", code=2)
    assert result.stdout.count("\n") == 2
    assert result.stderr.startswith("Error: standard input, line 3: got ")
    assert complaint in " ".join(result.stderr.split())
    assert "Correct the line" in result.stderr


def test_missing_and_undecodable_files_are_reported(tmp_path: Path) -> None:
    missing = invoke(["rules", "check", str(tmp_path / "none.jsonl")], code=2)
    assert "No such file or directory, expected a file of JSON lines" in " ".join(missing.stderr.split())
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    assert "line 1: got " in " ".join(invoke(["rules", "check", str(tmp_path / "bytes")], code=2).stderr.split())
