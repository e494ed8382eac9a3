"""The cluster of the compose file without containers: its commands as processes, on a real PostgreSQL and NATS."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cluster.cluster import NATS_SERVER
from tests.support.databases import POSTGRESQL, databases_of, make_database
from tests.support.patience import PATIENCE
from tests.support.processes import eventually, exit_code_and_errors, first_line, json_of, run_noughts, started

from .compose import CLUSTER_SERVICES, SERVICES, Host

pytestmark = pytest.mark.at_length

DATABASE, BUS = "postgresql://noughts@postgres/noughts", "nats://nats:4222"


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[str]:
    """The address of a NATS that runs here by the file's command and has passed the file's health check."""
    host = Host(tmp_path)
    command = [re.sub(r"port=(\d+)", lambda found: "port=" + _port(host, found[1]), word) for word in _command("nats")]
    check = SERVICES["nats"]["healthcheck"]["test"][-1]
    with subprocess.Popen([NATS_SERVER, *(word.replace("0.0.0.0", "127.0.0.1") for word in command)]) as process:
        eventually(lambda: _healthy(host.value(check)), bool)
        yield f"nats://localhost:{_port(host, '4222')}"
        process.terminate()


def _command(service: str) -> list[str]:
    command: list[str] = SERVICES[service]["command"]
    return command


def _port(host: Host, port: str) -> str:
    return host.address(port).rpartition(":")[2]


def _healthy(url: str) -> bool:
    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_two_servers_and_two_referees_play_under_one_name(tmp_path: Path, bus: str) -> None:
    with databases_of(POSTGRESQL), ExitStack() as stack:
        replacements = {DATABASE: make_database(tmp_path / "league"), BUS: bus}
        # Each container has its own ports. On this machine, clients of `server` use those of `member-1`.
        hosts = {f"{name}-{number}": Host(tmp_path) for name in CLUSTER_SERVICES for number in (1, 2)}
        for host in hosts.values():
            host.replacements = replacements
        front = hosts["member-1"]
        running = {}
        for name in ("member-1", "member-2", "referee-1", "referee-2"):
            service, host = name.partition("-")[0], hosts[name]
            running[name] = stack.enter_context(started(host.command(service), host.environment(service)))
            assert "serves at" in (line := first_line(running[name])) or "plays" in line, line
            run_noughts(_check(service, host), host.environment(service))
        running["site"] = stack.enter_context(started(front.command("site"), front.environment("site")))
        assert "http://" in first_line(running["site"])
        probe = [sys.executable, *(front.value(word) for word in SERVICES["site"]["healthcheck"]["test"][2:])]
        # Docker repeats the health check, too: on a busy machine the first page can take longer than its 4 s.
        eventually(lambda: subprocess.run(probe, timeout=20, check=False).returncode, lambda code: code == 0)

        beside = front.environment("member")
        owner = ["token", "create", "--owner", "me", f"--db={replacements[DATABASE]}", "--format", "json"]
        token = json_of(" ".join(owner[:-2]), beside)["token"]
        nodes = json_of(f"nodes --db={replacements[DATABASE]}", beside)["nodes"]
        assert [node["kind"] for node in nodes] == ["server", "server", "referee", "referee"]
        for bot in ("random", "minimax"):
            front.variables["NOUGHTS_TOKEN"] = token
            running[bot] = stack.enter_context(started(front.command(bot), front.environment(bot)))
            assert first_line(running[bot]) == f"online as bots/{bot}/versions/1\n"
        me = {**beside, "NOUGHTS_TOKEN": token}
        json_of("tournament create cup --games 20", me)
        for bot in ("random", "minimax"):
            json_of(f"tournament join cup --bot {bot}", me)
        json_of("tournament start cup", me)
        # By the other server.
        other = hosts["member-2"].environment("member")
        eventually(lambda: json_of("tournament show cup", other)["state"], lambda state: state == "finished")

        for process in running.values():
            process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        codes = {name: exit_code_and_errors(process) for name, process in running.items()}
        assert {name: code for name, (code, _) in codes.items()} == dict.fromkeys(running, 0), codes
        assert time.monotonic() - began < 60


def _check(service: str, host: Host) -> list[str]:
    """Return the words of a service's health check after `noughts`."""
    check = SERVICES[service]["healthcheck"]["test"]
    assert check[:2] == ["CMD", "noughts"]
    return [host.value(word) for word in check[2:]]
