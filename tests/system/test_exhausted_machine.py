"""A server whose machine lacks disk space or file descriptors reports it, and continues as soon as it has some."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.mounts import Disk, small_disk
from tests.support.processes import PROGRAM, environment, eventually, first_line, json_of, run_here, started

from .test_database_outages import events, fill, short_error

SERVE = ("serve", "--no-web", "--listen", "127.0.0.1:0", "--format", "json", "--log-format", "json", "--db")
BOT = """from noughts_bots import Bot

class Mine(Bot):
    def choose(self, position):
        return position.free[0]
"""


def logging_to(log: Path, before: str = "") -> tuple[str, ...]:
    """Return a command that runs a program with its stderr in this file, after the shell command `before`."""
    return ("sh", "-c", f'{before}exec "$@" 2>"{log}"', "sh")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 8 MiB."""
    with small_disk(tmp_path / "disk", "size=8m,mode=1777") as mounted:
        yield mounted


def test_a_full_temporary_folder_refuses_uploads_with_a_reason(disk: Disk, tmp_path: Path) -> None:
    database, bot, log = tmp_path / "x.db", tmp_path / "mine.py", tmp_path / "log"
    bot.write_text(BOT)
    env, ballast = environment(TMPDIR=str(disk.folder)), disk.own_path / "ballast"
    program = (*disk.enter, *logging_to(log), *PROGRAM)
    with started([*SERVE, str(database), "--accept", "py"], env, program) as server:
        address = json.loads(first_line(server))["grpc"]
        token = json_of(f"token create --owner ada --scope submit --db {database}", environment())["token"]
        env = environment(NOUGHTS_SERVER=address, NOUGHTS_TOKEN=token)
        fill(ballast)
        refusal = short_error(run_here(["bot", "submit", str(bot)], env, code=1).stderr)
        assert "the server cannot do this now: a disk of its machine is full" in refusal
        ballast.unlink()
        run_here(["bot", "submit", str(bot)], env)
    text = log.read_text()
    assert "Traceback" not in text
    assert [event["problem"] for event in events(text, "machine_trouble")] == ["a disk of its machine is full"]


def test_a_server_without_free_descriptors_logs_it_and_recovers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    limited = (*logging_to(log, "ulimit -n 128; "), *PROGRAM)
    with started([*SERVE, str(tmp_path / "x.db")], environment(), limited) as server:
        address = json.loads(first_line(server))["grpc"]
        host, _, port = address.rpartition(":")
        with ExitStack() as connections:
            for _ in range(128):
                connections.enter_context(socket.create_connection((host, int(port))))
            (event,) = eventually(lambda: events(log.read_text(), "files_exhausted"), bool)
            assert event["problem"] == "it has opened as many files as it can"
        eventually(lambda: events(log.read_text(), "files_available"), bool)
        assert json_of("health", environment(NOUGHTS_SERVER=address))["status"] == "serving"


def test_a_server_without_free_descriptors_closes_idle_connections(tmp_path: Path) -> None:
    log = tmp_path / "log"
    limited = (*logging_to(log, "ulimit -n 128; "), *PROGRAM)
    with started([*SERVE, str(tmp_path / "x.db")], environment(), limited) as server, ExitStack() as connections:
        address = json.loads(first_line(server))["grpc"]
        host, _, port = address.rpartition(":")
        for _ in range(128):
            connections.enter_context(socket.create_connection((host, int(port))))
        assert eventually(lambda: events(log.read_text(), "idle_connections_closed"), bool)
        eventually(lambda: events(log.read_text(), "files_available"), bool)
        assert json_of("health", environment(NOUGHTS_SERVER=address))["status"] == "serving"
