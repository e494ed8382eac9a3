"""Durations, sizes, sparklines and bars of a server's status."""

from __future__ import annotations

import pytest

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli.drawing import server_status


@pytest.mark.parametrize(
    "seconds, text",
    [(0, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (18_180, "5 h 03 min"), (187_200, "2 d 4 h")],
)
def test_duration_is_written_with_two_units(seconds: float, text: str) -> None:
    assert server_status.duration(seconds) == text


@pytest.mark.parametrize("count, text", [(0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (25_690_112, "24.5 MiB")])
def test_size_is_written_in_its_unit(count: int, text: str) -> None:
    assert server_status.size(count) == text


def test_sparkline_is_full_at_the_highest_value() -> None:
    line = server_status.sparkline([0, 5, 10])
    assert len(line) == 3
    assert len(set(line)) == 3
    assert server_status.sparkline([]) == server_status.sparkline([0, 0]) == "-"
    assert len(server_status.sparkline(range(100))) == 30


def test_time_left_follows_from_the_rate_and_is_unknown_without_one() -> None:
    tournament = pb.RunningTournament(games_done=40, games_total=100, games_per_second=2)
    assert server_status.eta(tournament) == "30 s"
    assert server_status.eta(pb.RunningTournament(games_total=100)) == "-"


def test_bar_has_one_length_and_fills_with_the_progress() -> None:
    assert len({len(server_status.bar(done, 10)) for done in range(11)}) == 1
    assert server_status.bar(0, 10)[0] != server_status.bar(10, 10)[0]
    assert set(server_status.bar(0, 0)) == {server_status.bar(0, 10)[0]}
