"""Frames as JSON, one per line."""

from __future__ import annotations

import json

import pytest

from noughts_proto.pipes import LARGEST_FROM_BOT
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.framing import InvalidFrame, JsonLines


def test_a_frame_is_a_line_with_the_names_of_the_proto_files() -> None:
    frame = pb.PlayResponse(frame=3, turns=pb.Turns(game=[1 << 60], ply=[2], cell=[0]))
    line = JsonLines().encode(frame)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"frame": "3", "turns": {"game": [str(1 << 60)], "ply": [2], "cell": [0]}}


@pytest.mark.parametrize(
    "line",
    [
        '{"done_through": "7", "moves": {"game": ["5"], "ply": [0], "cell": [4]}}',
        '{"doneThrough": 7, "moves": {"game": [5], "ply": [0], "cell": [4]}, "heartbeat": null}',
    ],
)
def test_json_names_and_large_numbers_are_read_in_both_forms(line: str) -> None:
    expected = pb.PlayRequest(done_through=7, moves=pb.Moves(game=[5], ply=[0], cell=[4]))
    assert JsonLines().read(line.encode()) == expected


def test_lines_arrive_in_pieces_and_empty_ones_are_skipped() -> None:
    framing, buffer = JsonLines(), bytearray(b'\n \r\n{"hello":')
    assert framing.take(buffer) is None
    assert not framing.has_message(buffer)
    buffer += b" {}}\r\nmore"
    assert framing.has_message(buffer)
    assert framing.take(buffer) == b'{"hello": {}}'
    assert framing.take(buffer) is None
    assert buffer == b"more"


def test_a_line_longer_than_a_frame_is_refused() -> None:
    for end in (b"", b"\n"):
        with pytest.raises(InvalidFrame, match="wrote a line of more than 2,097,152 bytes"):
            JsonLines().take(bytearray(b"x" * (LARGEST_FROM_BOT + 1) + end))
    assert JsonLines().take(bytearray(b"x" * LARGEST_FROM_BOT + b"\n")) == b"x" * LARGEST_FROM_BOT


@pytest.mark.parametrize(
    "line, reason",
    [
        (b"hello", "Expecting value"),
        (b'{"movs": {}}', 'has no field named "movs"'),
        (b'{"moves": {"cell": [-1]}}', "out of range"),
        (b"[" * 100_000, "recursion"),
        (b'{"hello": "\xff"}', "codec can't decode"),
        (b"3", ""),
    ],
)
def test_an_invalid_line_is_refused_with_the_reason(line: bytes, reason: str) -> None:
    with pytest.raises(InvalidFrame, match=r"wrote the line .*, which is not a PlayRequest in JSON: ") as raised:
        JsonLines().read(line)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 300
    assert raised.value.offending == line
