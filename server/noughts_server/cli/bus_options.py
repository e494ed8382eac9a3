"""Where the bus of a cluster is: options of `serve` and `referee`."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from typer import Option

from noughts_proto.security import is_loopback
from noughts_server.cli.errors import UsageProblem, require_extra
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.errors import BadBusUrl

BusOption = Annotated[
    str | None, Option("--bus", metavar="URL", help="Bus of a cluster, e.g. nats://HOST:4222 (several: with commas)")
]
CredentialsOption = Annotated[Path | None, Option("--bus-creds", help="NATS credentials file, as nsc writes it")]
AuthoritiesOption = Annotated[
    Path | None, Option("--bus-ca", help="Certificate authorities of the bus (PEM); turns TLS on")
]
CertificateOption = Annotated[Path | None, Option("--bus-cert", help="Client certificate for the bus (PEM)")]
KeyOption = Annotated[Path | None, Option("--bus-key", help="Private key of --bus-cert (PEM)")]


def read_bus(
    command: str,
    url: str,
    database: str | None,
    credentials: Path | None,
    authorities: Path | None,
    certificate: Path | None,
    key: Path | None,
    *,
    insecure: bool,
) -> BusSettings:
    """The bus as the options have it. Raises UsageProblem where no cluster could be made of it."""
    require_extra(command, "cluster")
    if database is None or not database.startswith("postgres"):
        got = "none" if database is None else repr(database)
        raise UsageProblem(
            f"--db: got {got} with --bus, expected a PostgreSQL database, which all processes of a cluster share",
            "For example --db postgresql+psycopg://noughts@db.example/noughts",
        )
    if (certificate is None) is not (key is None):
        raise UsageProblem("--bus-cert and --bus-key: got one of them, expected both or none")
    settings = BusSettings(url, credentials, authorities, certificate, key)
    for option, path in (("--bus-creds", credentials), ("--bus-ca", authorities), ("--bus-cert", certificate)):
        if path is not None and not path.is_file():
            raise UsageProblem(f"{option} {str(path)!r}: got no file there, expected one")
    try:
        is_open = any(not is_loopback(urlsplit(each).hostname or "") and "@" not in each for each in settings.urls)
    except BadBusUrl as error:
        raise UsageProblem(f"--bus: got {error.got!r}, expected {error.expected}") from error
    if is_open and not (insecure or credentials or certificate):
        raise UsageProblem(
            f"--bus {settings.place}: got a bus on another machine without credentials, expected credentials",
            "Anyone who can reach it can play under any name. Use --bus-creds, --bus-cert or nats://USER:PASSWORD@HOST,"
            " or accept the risk on a private network with --insecure.",
        )
    return settings
