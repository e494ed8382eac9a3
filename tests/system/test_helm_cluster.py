"""The Helm chart without Kubernetes: the commands of its pods as processes, on a real PostgreSQL and NATS."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.cluster.cluster import Nats
from tests.support.chart import containers, rendered
from tests.support.databases import POSTGRESQL, databases_of, make_database
from tests.support.patience import PATIENCE
from tests.support.processes import environment, eventually, exit_code_and_errors, json_of, run_noughts, started

from .compose import Host

pytestmark = pytest.mark.at_length

PODS = ("servers", "referees", "website")
DATABASE, BUS, SERVERS = "postgresql://noughts@postgres/noughts", "nats://nats:4222", "league-noughts-servers:7450"


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Nats]:
    nats = Nats(tmp_path)
    try:
        nats.start()
        yield nats
    finally:
        nats.kill()


class Pods:
    """The pods of the chart as processes of this machine, each with ports of its own."""

    def __init__(self, folder: Path, database: str, bus: Nats) -> None:
        self._containers = {container.component: container for container in containers(rendered("plain"))}
        self._hosts = {name: Host(folder) for name in self._containers}
        self.server = self.address("servers", "grpc")
        port = self.server.rpartition(":")[2]
        # Hosts replace 127.0.0.1 by addresses of their own.
        replacements = {
            DATABASE: database,
            BUS: f"nats://localhost:{bus.port}",
            SERVERS: f"localhost:{port}",
        }
        for host in self._hosts.values():
            host.replacements = replacements

    def command(self, pod: str) -> list[str]:
        """Return the command of a pod, after `noughts`."""
        return [self._hosts[pod].value(argument) for argument in self._containers[pod].arguments]

    def address(self, pod: str, port: str) -> str:
        """Return the local address for a port of a pod."""
        return self._hosts[pod].address(str(self._containers[pod].ports[port]))

    def status(self, pod: str, probe: str) -> int:
        """Return the status with which a pod answers a probe; 0 if it does not answer."""
        request = self._containers[pod].spec[probe]["httpGet"]
        return status_of(f"http://{self.address(pod, request['port'])}{request['path']}")

    def wait_until_ready(self, pod: str) -> None:
        for probe in ("startupProbe", "readinessProbe"):
            eventually(lambda: self.status(pod, probe), lambda status: status == 200)  # noqa: B023
        assert self.status(pod, "livenessProbe") == 200


def status_of(url: str) -> int:
    """Return the status of an answer; 0 if there is none."""
    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except OSError:
        return 0


def online(variables: Mapping[str, str]) -> set[str]:
    return {row["name"] for row in json_of("bot list --online", variables)["bots"]}


def test_pods_of_the_chart_play_a_tournament(tmp_path: Path, bus: Nats) -> None:
    with databases_of(POSTGRESQL), ExitStack() as stack:
        database = make_database(tmp_path / "league", empty=True)
        pods = Pods(tmp_path, database, bus)
        beside = environment(NOUGHTS_SERVER=pods.server)
        assert "created" in run_noughts(pods.command("migrations"), beside).stdout
        running = {}
        for pod in PODS:
            running[pod] = stack.enter_context(started(pods.command(pod), beside))
            pods.wait_until_ready(pod)
        run_noughts(pods.command("test"), beside)
        # The job of the next upgrade: the schema is the same, so it changes nothing while the nodes run.
        assert "nothing to do" in run_noughts(pods.command("migrations"), beside).stdout

        me = {**beside, "NOUGHTS_TOKEN": json_of(f"token create --owner me --db {database}", beside)["token"]}
        for bot in ("random", "minimax"):
            running[bot] = stack.enter_context(started(["bot", "run", bot], me))
        eventually(lambda: online(me), lambda names: names == {"random", "minimax"})
        json_of("tournament create cup --games 20", me)
        for bot in ("random", "minimax"):
            json_of(f"tournament join cup --bot {bot}", me)
        json_of("tournament start cup", me)
        eventually(lambda: json_of("tournament show cup", me)["state"], lambda state: state == "finished")
        assert status_of(f"http://{pods.address('website', 'http')}/tournaments/cup") == 200

        bus.kill()
        # Without the bus, a referee is not ready. A restart would not help, so it counts as alive.
        eventually(lambda: pods.status("referees", "readinessProbe"), lambda status: status == 503)
        assert pods.status("referees", "livenessProbe") == 200
        bus.start()
        eventually(lambda: pods.status("referees", "readinessProbe"), lambda status: status == 200)

        for process in running.values():
            process.send_signal(signal.SIGTERM)
        codes = {name: exit_code_and_errors(process) for name, process in running.items()}
        assert {name: code for name, (code, _) in codes.items()} == dict.fromkeys(running, 0), codes
