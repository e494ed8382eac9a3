"""The bus of a cluster: options of `serve` and `referee`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from typer import Option

from noughts_proto.security import is_loopback
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.extras import require_extra
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.core.errors import BadBusUrl


@dataclass(frozen=True, slots=True, kw_only=True)
class BusOptions:
    """The addresses of the bus, and the files that it needs to connect."""

    bus: Annotated[
        str | None,
        Option("--bus", metavar="URL", help="Bus of a cluster, e.g. nats://HOST:4222 (several: comma-separated)"),
    ] = None
    bus_creds: Annotated[
        Path | None, Option("--bus-creds", metavar="FILE", help="NATS credentials file, as nsc writes it")
    ] = None
    bus_ca: Annotated[
        Path | None, Option("--bus-ca", metavar="FILE", help="Certificate authorities of the bus (PEM); turns TLS on")
    ] = None
    bus_cert: Annotated[
        Path | None, Option("--bus-cert", metavar="FILE", help="Client certificate for the bus (PEM)")
    ] = None
    bus_key: Annotated[Path | None, Option("--bus-key", metavar="FILE", help="Private key of --bus-cert (PEM)")] = None

    def read(self, command: str, database: str | None, *, insecure: bool) -> BusSettings | None:
        """Return the bus; None if there is none. Raises UsageProblem if the options do not make a cluster."""
        if self.bus is None:
            return None
        require_extra(command, "cluster")
        if database is None or not database.startswith("postgres"):
            got = "none" if database is None else repr(database)
            raise UsageProblem(
                f"--db: got {got} with --bus, expected a PostgreSQL database, which all processes of a cluster share",
                "For example --db postgresql+psycopg://noughts@db.example/noughts",
            )
        if (self.bus_cert is None) is not (self.bus_key is None):
            raise UsageProblem("--bus-cert and --bus-key: got one of them, expected both or neither")
        settings = BusSettings(self.bus, self.bus_creds, self.bus_ca, self.bus_cert, self.bus_key)
        for option, path in (("--bus-creds", self.bus_creds), ("--bus-ca", self.bus_ca), ("--bus-cert", self.bus_cert)):
            if path is not None and not path.is_file():
                raise UsageProblem(f"{option} {str(path)!r}: there is no such file")
        try:
            is_unprotected = any(
                not is_loopback(urlsplit(url).hostname or "") and "@" not in url for url in settings.urls
            )
        except BadBusUrl as error:
            raise UsageProblem(f"--bus: got {error.subject!r}, expected {error.expected}") from error
        if is_unprotected and not (insecure or self.bus_creds or self.bus_cert):
            raise UsageProblem(
                f"--bus {settings.place}: got a bus on another machine without credentials, expected credentials",
                "Anyone who can reach it can play under any name. Use --bus-creds, --bus-cert or "
                "nats://USER:PASSWORD@HOST, or accept the risk on a private network with --insecure.",
            )
        return settings
