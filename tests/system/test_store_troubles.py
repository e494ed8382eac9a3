"""The store in trouble, seen from outside: on disks that are really full, read-only or failing."""

import json
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.background import online
from tests.support.mounts import Disk, small_disk
from tests.support.processes import PROGRAM, asked, ended, environment, eventually, first_line, started, told

SERVE = ("serve", "--no-web", "--listen", "127.0.0.1:0", "--format", "json", "--log-format", "json", "--db")


def one_line(errors: str) -> str:
    """What went wrong, without a traceback: a line, and what to do next."""
    assert "Traceback" not in errors, errors
    lines = errors.strip().splitlines()
    assert len(lines) <= 3, errors
    return " ".join(line.strip() for line in lines)


@contextmanager
def played_there(database: Path, program: tuple[str, ...]) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    """A server on this database at which two bots play a tournament that is too long to end."""
    with ExitStack() as stack:
        server = stack.enter_context(started([*SERVE, str(database)], environment(), program))
        address = json.loads(first_line(server))["grpc"]
        made = subprocess.run(
            [*program, "token", "create", "--owner", "ada", "--db", str(database), "--format", "json"],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        token = json.loads(made.stdout)["token"]
        env = environment(NOUGHTS_SERVER=address, NOUGHTS_TOKEN=token)
        stack.enter_context(online(address, token, left="random", right="first-free"))
        asked("tournament create long --games 1000000 --concurrency 16", env)
        for name in ("left", "right"):
            asked(f"tournament join long --bot {name}", env)
        asked("tournament start long", env)
        yield server, env


def in_trouble(env: dict[str, str]) -> dict[str, Any]:
    """The status of a server that holds its games."""
    return eventually(lambda: asked("status", env), lambda now: now["database_trouble"] and not now["games_in_flight"])


def goes_on(env: dict[str, str], games: int) -> None:
    """Waits until the server stores more games than that, and says that it serves."""
    eventually(lambda: asked("status", env), lambda now: not now["database_trouble"] and now["games"] > games + 100)
    eventually(lambda: asked("health", env)["status"], lambda status: status == "serving")


def fill(ballast: Path) -> None:
    """Leaves no room on the disk."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def events(log: str, word: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.splitlines() if word in line]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 1.5 MiB, which a tournament fills in a moment."""
    with small_disk(tmp_path / "disk", "size=1500k,mode=700") as mounted:
        yield mounted


def test_full_disk_holds_games_is_told_and_goes_on_when_there_is_room(disk: Disk) -> None:
    database = disk.folder / "noughts.db"
    program = (*disk.enter, *PROGRAM)
    with played_there(database, program) as (server, env):
        held = in_trouble(env)
        assert held["database_trouble"] == "its disk is full"
        refused = told(["health"], env, code=1).stderr
        assert "its disk is full" in one_line(refused)
        # What cannot be stored is not acknowledged.
        refused = told(["tournament", "create", "other"], env, code=1).stderr
        assert "its disk is full" in one_line(refused)
        assert asked("status", env)["games"] == held["games"]
        disk.remount("size=64m")
        goes_on(env, held["games"])
        assert len(asked("tournament list", env)["tournaments"]) == 1
        asked("tournament cancel long", env)
        played = asked("tournament show long", env)["games"]
        server.send_signal(signal.SIGTERM)
        code, log = ended(server)
    assert code == 0, log
    assert played >= held["games"]
    (held_up,) = events(log, "no game begins")
    assert held_up["reason"] == "DATABASE_FULL"
    assert len(events(log, "games begin again")) == 1
    assert "Traceback" not in log


def test_server_that_is_killed_while_its_disk_is_full_goes_on_later(disk: Disk) -> None:
    database = disk.folder / "noughts.db"
    program = (*disk.enter, *PROGRAM)
    with played_there(database, program) as (server, env):
        held = in_trouble(env)
        server.kill()
    disk.remount("size=64m")
    with started([*SERVE, str(database)], environment(), program) as server:
        env["NOUGHTS_SERVER"] = json.loads(first_line(server))["grpc"]
        assert asked("tournament show long", env)["games"] == held["games"]


def test_full_disk_is_told_at_the_start(disk: Disk) -> None:
    database = disk.folder / "noughts.db"
    fill(disk.here / "ballast")
    with started([*SERVE, str(database)], environment(), (*disk.enter, *PROGRAM)) as server:
        code, errors = ended(server)
    assert code == 1
    assert f"database {database}: its disk is full" in one_line(errors)
    assert [file.name for file in disk.here.iterdir()] == ["ballast"]


@pytest.mark.parametrize("there", [False, True], ids=["nothing there", "a database there"])
def test_read_only_disk_is_told_at_the_start(disk: Disk, there: bool) -> None:
    database = disk.folder / "noughts.db"
    program = (*disk.enter, *PROGRAM)
    if there:
        subprocess.run(
            [*program, "token", "create", "--owner", "ada", "--db", database], check=True, capture_output=True
        )
    disk.remount("ro")
    with started([*SERVE, str(database)], environment(), program) as server:
        code, errors = ended(server)
    assert code == 1
    assert f"database {database}:" in one_line(errors)
    assert "read-only" in errors.lower()


def test_disk_that_fails_holds_games_is_told_and_goes_on(tmp_path: Path) -> None:
    database = tmp_path / "noughts.db"
    with played_there(database, PROGRAM) as (server, env):
        # Beyond this size the system refuses to write.
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (16_384, resource.RLIM_INFINITY))
        held = in_trouble(env)
        assert held["database_trouble"] == "its disk fails"
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        goes_on(env, held["games"])
        server.send_signal(signal.SIGTERM)
        code, log = ended(server)
    assert code == 0, log
    assert [each["reason"] for each in events(log, "no game begins")] == ["DATABASE_FAILING"]


def test_database_that_is_deleted_ends_the_server_with_one_line(tmp_path: Path) -> None:
    database = tmp_path / "noughts.db"
    with started([*SERVE, str(database)], environment()) as server:
        first_line(server)
        database.unlink()
        code, log = ended(server)
    assert code == 1
    assert "its file was deleted or moved while it was open" in log
    assert "Traceback" not in log
