"""The compose file, and this machine in place of its containers."""

import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from tests.support.processes import environment
from tests.support.root import ROOT

COMPOSE = ROOT / "docker-compose.yml"
FILE: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
CLUSTER_SERVICES = ("member", "referee", "site")
"""Services of Noughts in the profile `cluster`."""
FOREIGN_SERVICES = ("postgres", "nats", "proxy")
"""Services whose image is of another project."""
BOTS = sorted(set(SERVICES) - {"server", *CLUSTER_SERVICES, *FOREIGN_SERVICES})
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::?-(?P<default>[^}]*))?\}")
_ADDRESS = re.compile(r"(?:server|0\.0\.0\.0|127\.0\.0\.1):(?P<port>\d+)")


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments; continued lines are joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, rest in lines]


def arguments(instruction: str) -> list[str]:
    """Return the arguments of each instruction of this kind."""
    return [rest for name, rest in dockerfile() if name == instruction]


class Host:
    """This machine in place of the containers: it replaces their paths, ports and host names by local ones."""

    def __init__(self, folder: Path) -> None:
        self.variables: dict[str, str] = {}
        self.replacements: dict[str, str] = {}
        """Further texts of the file, such as addresses of the database and of NATS, and their local replacements."""
        self._folder = folder
        self._ports: dict[str, str] = {}

    def value(self, text: str) -> str:
        """Return a value of the file with its variables and replacements replaced."""
        text = _VARIABLE.sub(self._value_of_variable, text)
        for container_text, local_text in self.replacements.items():
            text = text.replace(container_text, local_text)
        text = text.replace("/data", str(self._folder))
        return _ADDRESS.sub(lambda match: self.address(match["port"]), text)

    def _value_of_variable(self, match: re.Match[str]) -> str:
        return self.variables.get(match["name"]) or match["default"] or ""

    def address(self, port: str) -> str:
        """Return the local address for this port of the containers."""
        if port not in self._ports:
            # The kernel assigns other programs ports from 32,768. The process id keeps test workers apart.
            for number in range(10_000 + os.getpid() % 10_000, 32_768):
                with socket.socket() as free, suppress(OSError):
                    free.bind(("127.0.0.1", number))
                    if str(number) not in self._ports.values():
                        self._ports[port] = str(number)
                        break
        return f"127.0.0.1:{self._ports[port]}"

    def environment(self, service: str) -> dict[str, str]:
        """Return the variables of the image and of the service."""
        image = [part.split("=", 1) for part in " ".join(arguments("ENV")).split()]
        variables = {name: value for name, value in image if name != "PATH"} | SERVICES[service].get("environment", {})
        return environment(**{name: self.value(value) for name, value in variables.items()})

    def command(self, service: str) -> list[str]:
        """Return the command of the service, after the entry point."""
        return [self.value(argument) for argument in SERVICES[service]["command"]]
