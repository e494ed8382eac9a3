"""Servers whose database is unavailable, on disks that are full, read-only or failing; and a server without memory."""

import json
import resource
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import psutil
import pytest

from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import tournaments_pb2, tournaments_pb2_grpc
from tests.support.background import bots_online
from tests.support.mounts import Disk, small_disk
from tests.support.processes import (
    PROGRAM,
    environment,
    eventually,
    exit_code_and_errors,
    first_line,
    json_of,
    run_here,
    started,
)
from tests.support.root import ROOT
from tests.support.tools import compiler, run

if TYPE_CHECKING:
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceStub

PATIENCE = 120.0
SERVE = ("serve", "--no-web", "--listen", "127.0.0.1:0", "--format", "json", "--log-format", "json", "--db")


def short_error(errors: str) -> str:
    """Check that an error is short and has no traceback, and return it as one line."""
    assert "Traceback" not in errors, errors
    lines = errors.strip().splitlines()
    assert len(lines) <= 3, errors
    return " ".join(line.strip() for line in lines)


@contextmanager
def server_with_games(
    database: Path, program: tuple[str, ...]
) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    """Run a server on this database, with two bots that play a tournament which does not end."""
    with ExitStack() as stack:
        server = stack.enter_context(started([*SERVE, str(database)], environment(), program))
        address = json.loads(first_line(server))["grpc"]
        process = subprocess.run(
            [*program, "token", "create", "--owner", "ada", "--db", str(database), "--format", "json"],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        token = json.loads(process.stdout)["token"]
        env = environment(NOUGHTS_SERVER=address, NOUGHTS_TOKEN=token)
        stack.enter_context(bots_online(address, token, left="random", right="first-free"))
        json_of("tournament create long --games 1000000 --concurrency 16", env)
        for name in ("left", "right"):
            json_of(f"tournament join long --bot {name}", env)
        json_of("tournament start long", env)
        eventually(lambda: json_of("status", env)["games"], lambda games: games > 0, PATIENCE)
        yield server, env


def wait_for_outage(env: dict[str, str]) -> dict[str, Any]:
    """Wait until the server reports its database as unavailable and runs no game; return its status."""
    return eventually(
        lambda: json_of("status", env), lambda now: now["database_trouble"] and not now["games_in_flight"]
    )


def wait_for_recovery(env: dict[str, str], games: int) -> None:
    """Wait until the server has stored 100 more games than this, and is healthy."""
    expected_games = games + 100
    eventually(
        lambda: json_of("status", env),
        lambda now: not now["database_trouble"] and now["games"] > expected_games,
        PATIENCE,
    )
    assert json_of("health", env)["status"] == "serving"


def fill(ballast: Path) -> None:
    """Fill the disk with this file."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def events(log: str, word: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.splitlines() if word in line]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 8 MiB."""
    with small_disk(tmp_path / "disk", "size=8m,mode=700") as mounted:
        yield mounted


def test_a_full_disk_is_reported_and_games_resume_with_space(disk: Disk) -> None:
    database, ballast = disk.folder / "noughts.db", disk.own_path / "ballast"
    program = (*disk.enter, *PROGRAM)
    with server_with_games(database, program) as (server, env):
        fill(ballast)
        status = wait_for_outage(env)
        assert status["database_trouble"] == "its disk is full"
        errors = run_here(["health"], env, code=1).stderr
        assert "its disk is full" in short_error(errors)
        # The server refuses requests that it cannot store.
        errors = run_here(["tournament", "create", "other"], env, code=1).stderr
        assert "its disk is full" in short_error(errors)
        assert json_of("status", env)["games"] == status["games"]
        ballast.unlink()
        wait_for_recovery(env, status["games"])
        assert len(json_of("tournament list", env)["tournaments"]) == 1
        fill(ballast)
        status = wait_for_outage(env)
        server.kill()
        _, log = exit_code_and_errors(server)
    assert [event["reason"] for event in events(log, "database_unavailable")] == ["DATABASE_FULL", "DATABASE_FULL"]
    assert len(events(log, "database_available")) == 1
    assert "Traceback" not in log
    ballast.unlink()
    with started([*SERVE, str(database)], environment(), program) as server:
        env["NOUGHTS_SERVER"] = json.loads(first_line(server))["grpc"]
        assert json_of("tournament show long", env)["games"] == status["games"]


def test_a_full_disk_is_reported_at_the_start(disk: Disk) -> None:
    database = disk.folder / "noughts.db"
    fill(disk.own_path / "ballast")
    with started([*SERVE, str(database)], environment(), (*disk.enter, *PROGRAM)) as server:
        code, errors = exit_code_and_errors(server)
    assert code == 1
    assert f"database {database}: its disk is full" in short_error(errors)
    assert [file.name for file in disk.own_path.iterdir()] == ["ballast"]


def test_a_read_only_disk_is_reported_at_the_start(disk: Disk) -> None:
    database = disk.folder / "noughts.db"
    program = (*disk.enter, *PROGRAM)
    create_token = [*program, "token", "create", "--owner", "ada", "--db", database]
    subprocess.run(create_token, check=True, capture_output=True)
    disk.remount("ro")
    with started([*SERVE, str(database)], environment(), program) as server:
        code, errors = exit_code_and_errors(server)
    assert code == 1
    assert f"database {database}:" in short_error(errors)
    assert "read-only" in errors.lower()


def test_a_failing_disk_is_reported_and_games_resume(tmp_path: Path) -> None:
    database = tmp_path / "noughts.db"
    with server_with_games(database, PROGRAM) as (server, env):
        # The system refuses to write files beyond this size.
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (16_384, resource.RLIM_INFINITY))
        status = wait_for_outage(env)
        assert "its disk reports an error (SQLITE_" in status["database_trouble"]
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_for_recovery(env, status["games"])
        server.send_signal(signal.SIGTERM)
        code, log = exit_code_and_errors(server)
    assert code == 0, log
    assert [event["reason"] for event in events(log, "database_unavailable")] == ["DATABASE_FAILING"]


def test_a_disk_that_becomes_read_only_stops_games_until_it_is_writable(tmp_path: Path) -> None:
    library, flag, folder = tmp_path / "read_only.so", tmp_path / "flag", tmp_path / "disk"
    run(*compiler("cc"), "-shared", "-fPIC", "-o", library, ROOT / "tests/support/read_only.c", "-ldl")
    folder.mkdir()
    variables = {"LD_PRELOAD": library, "READ_ONLY_FOLDER": folder, "READ_ONLY_FLAG": flag}
    program = ("env", *(f"{name}={value}" for name, value in variables.items()), *PROGRAM)
    with server_with_games(folder / "noughts.db", program) as (server, env):
        flag.touch()
        status = wait_for_outage(env)
        assert "its disk reports an error (SQLITE_" in status["database_trouble"]
        errors = run_here(["tournament", "create", "other"], env, code=1).stderr
        assert "its disk reports an error" in short_error(errors)
        flag.unlink()
        wait_for_recovery(env, status["games"])
        server.send_signal(signal.SIGTERM)
        code, log = exit_code_and_errors(server)
    assert code == 0, log
    assert len(events(log, "database_available")) == 1
    assert "Traceback" not in log


@pytest.mark.at_length
def test_a_server_without_memory_loses_no_stored_game(tmp_path: Path) -> None:
    database = tmp_path / "noughts.db"
    with server_with_games(database, PROGRAM) as (server, env):
        used = psutil.Process(server.pid).memory_info().vms
        resource.prlimit(server.pid, resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
        big = tournaments_pb2.Tournament(name="tournaments/big", variant="x" * 1_000_000)

        def ask(_: int) -> None:
            options = [("grpc.use_local_subchannel_pool", 1)]
            with grpc.insecure_channel(env["NOUGHTS_SERVER"], options=options) as channel:
                stub: TournamentServiceStub = tournaments_pb2_grpc.TournamentServiceStub(channel)
                token = ((TOKEN_KEY, f"Bearer {env['NOUGHTS_TOKEN']}"),)
                with suppress(grpc.RpcError):
                    stub.CreateTournament(
                        tournaments_pb2.CreateTournamentRequest(tournament=big), timeout=5, metadata=token
                    )

        with ThreadPoolExecutor(40) as callers:
            list(callers.map(ask, range(80)))
        # The server ends, or refuses calls for which it has no memory. Here it is killed and started again.
        server.kill()
        exit_code_and_errors(server)
    checked = json.loads(run_here(["db", "check", "--db", str(database), "--format", "json"], environment()).stdout)
    assert checked["errors"] in (0, [])
    with started([*SERVE, str(database)], environment()) as server:
        env["NOUGHTS_SERVER"] = json.loads(first_line(server))["grpc"]
        assert json_of("tournament show long", env)["games"] == checked["games"] > 0
