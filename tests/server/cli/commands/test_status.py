"""`noughts status` and `noughts health`."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from typing import Any

import pytest

from noughts_proto.v1 import status_pb2 as pb
from noughts_server.cli.drawing import server_status
from tests.server.cli.conftest import Refusal


def test_status_is_printed_once_where_there_is_no_terminal(noughts: Any, server: str) -> None:
    shown = noughts(f"status --server {server}").stdout
    assert f"at {server} serving" in shown
    for name in ("games/s", "plies/s", "running", "queued", "bots online", "watchers", "commit", "loop lag"):
        assert name in shown
    assert "\x1b" not in shown


def test_status_on_a_terminal_is_refreshed_until_interrupted(server: str) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "noughts_server.cli", "status", "--server", server]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=subprocess.PIPE, env=env) as process:
        os.close(follower)
        drawn = b""
        while drawn.count(b"serving") < 3:
            drawn += os.read(leader, 65_536)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(leader)


def test_status_as_json_needs_no_token(noughts: Any, server: str) -> None:
    document = json.loads(noughts(f"status --server {server} --format json").stdout)
    assert (document["address"], document["draining"], document["bots"], document["games"]) == (server, False, [], 0)
    assert document["uptime_seconds"] > 0
    assert "uptime" not in document


def test_health_of_a_server_that_is_there_and_of_one_that_is_not(noughts: Any, refusal: Refusal, server: str) -> None:
    assert noughts("health", env={"NOUGHTS_SERVER": server}).stdout == f"{server} is serving\n"
    refusal("health --server 127.0.0.1:1", code=1)


def test_server_says_once_that_its_database_is_new(start: Any, database: str) -> None:
    def log() -> str:
        with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json") as process:
            process.stdout.readline()
            process.terminate()
            errors: str = process.communicate(timeout=30)[1]
            return errors

    assert log().count("database_created") == 1
    assert log().count("database_created") == 0


def test_wrong_address_of_the_metrics_is_a_usage_error(refusal: Refusal) -> None:
    refusal("serve --no-web --listen 127.0.0.1:0 --metrics 7451", code=2)


def test_metrics_beyond_this_machine_are_a_usage_error(refusal: Refusal) -> None:
    refusal("serve --no-web --listen 127.0.0.1:0 --metrics 0.0.0.0:0", code=2)


@pytest.mark.parametrize(
    "option, said",
    [
        ("--limit sessions", "expected NAME=NUMBER"),
        ("--limit sessions=many", "expected NAME=NUMBER"),
        ("--limit rockets=3", "got 'rockets', expected address_answer_bytes, address_bytes"),
        ("--limit sessions=0", "limit sessions"),
        ("--proxy example.org", "expected an address"),
    ],
)
def test_a_bound_or_a_proxy_that_is_none_is_a_usage_error(noughts: Any, option: str, said: str) -> None:
    assert said in noughts(f"serve --no-web --listen 127.0.0.1:0 {option}", code=2).stderr


@pytest.mark.parametrize(
    "seconds, shown",
    [(0, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (18_180, "5 h 03 min"), (187_200, "2 d 4 h")],
)
def test_duration_is_written_with_two_units(seconds: float, shown: str) -> None:
    assert server_status.duration(seconds) == shown


@pytest.mark.parametrize("count, shown", [(0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (25_690_112, "24.5 MiB")])
def test_size_is_written_in_its_unit(count: int, shown: str) -> None:
    assert server_status.size(count) == shown


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


def test_bar_is_as_long_as_the_progress() -> None:
    assert len({len(server_status.bar(done, 10)) for done in range(11)}) == 1
    assert server_status.bar(0, 10)[0] != server_status.bar(10, 10)[0]
    assert set(server_status.bar(0, 0)) == {server_status.bar(0, 10)[0]}
