"""`noughts serve`: a server that runs until it is stopped."""

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_proto.security import Identity, is_loopback
from noughts_proto.transport import DEFAULT_SERVER
from noughts_referee.clock import GRACE_SECONDS, NETWORK_CAP_US
from noughts_server.cli import connection_options, printing
from noughts_server.cli.errors import INTERRUPTED, Problem, UsageProblem, has_extra, problems_with, require_extra
from noughts_server.cli.former_command import command
from noughts_server.cli.logs import LogOptions
from noughts_server.cli.operator.proxies import PublicUrlOption, read_proxies, read_public_url
from noughts_server.cli.operator.web import DEFAULT_WEB, web_listener
from noughts_server.cli.options.bus import BusOptions
from noughts_server.cli.options.database import DatabaseOption, read_database
from noughts_server.cli.options.listening import (
    CertificateOption,
    DefaultMarginOption,
    HttpsOption,
    InsecureServerOption,
    KeyOption,
    ListenOption,
    ProxyOption,
    PythonPackagesOption,
)
from noughts_server.cli.options.time import MARGIN, read_margin
from noughts_server.cli.signals import run_loop
from noughts_server.cli.times import Seconds, read_duration, seconds_option
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.limits import ABSENCE_SECONDS, Limits

if TYPE_CHECKING:
    from noughts_server.hosting.submitted import Acceptance
    from noughts_server.server import Server

LimitOption = Annotated[
    list[str] | None,
    Option(
        "--set-limit",
        "--limit",
        metavar="N",
        help="Maximum number of rows. Default: 50; all in JSON",
        rich_help_panel="Output",
    ),
]
GraceOption = Annotated[
    float, seconds_option("--reconnect-timeout", "--grace", least=0, most=86_400, help="Reconnect timeout of a bot")
]
AbsenceOption = Annotated[
    str, Option("--inactivity-timeout", "--absence", metavar="DURATION", help="Inactivity timeout of an entry; 0: none")
]


GRACE = Seconds(GRACE_SECONDS)
ABSENCE = f"{ABSENCE_SECONDS / 60:g}m"
_WEBSITE_FOR_TLS = "Start it next to the server: noughts web --server NAME:PORT --tls-ca CA.pem"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What an operator chooses for a server, as it is typed."""

    listen: ListenOption = DEFAULT_SERVER
    database: DatabaseOption = None
    margin: DefaultMarginOption = MARGIN
    network_cap: Annotated[
        str, Option("--network-cap", metavar="DURATION", help="Maximum network delay not charged to a move; 0: none")
    ] = f"{NETWORK_CAP_US // 1_000}ms"
    grace: GraceOption = GRACE
    tls_cert: CertificateOption = None
    tls_key: KeyOption = None
    tls_client_ca: Annotated[
        Path | None,
        Option("--tls-client-ca", metavar="FILE", help="Require client certificates issued by these authorities (PEM)"),
    ] = None
    insecure: InsecureServerOption = False
    metrics: Annotated[
        str | None, Option("--metrics", metavar="HOST:PORT", help="Address for Prometheus metrics. Default: off")
    ] = None
    reflection: Annotated[
        bool, Option("--reflection/--no-reflection", help="Service descriptions via gRPC reflection, e.g. for grpcurl")
    ] = True
    explorer: Annotated[
        bool,
        Option(
            "--explorer/--no-explorer",
            help="Count the openings of games for the opening explorer, and the blunders of bots",
        ),
    ] = True
    private_webhooks: Annotated[
        bool, Option("--allow-private-webhooks", help="Webhooks on this machine, in its local networks and at any port")
    ] = False
    web: Annotated[
        str | None,
        Option("--web", metavar="HOST:PORT", help="Address of the website. Default: 127.0.0.1:7480, if free"),
    ] = None
    no_web: Annotated[bool, Option("--no-web", help="Do not start the website")] = False
    https: HttpsOption = False
    absence: AbsenceOption = ABSENCE
    rate_own_games: Annotated[
        bool, Option("--rate-own-games", help="Also rate games between bots of the same owner")
    ] = False
    accept: Annotated[
        str | None,
        Option(
            "--accept",
            metavar="KINDS",
            help="Kinds of bots to accept: wasm, py, wasm,py or none. Default: wasm if installed",
        ),
    ] = None
    python_packages: PythonPackagesOption = ""
    limit: Annotated[
        list[str] | None,
        Option(
            "--set-limit",
            "--limit",
            metavar="NAME=NUMBER",
            help="Limit to change (docs/reference/limits.md; repeatable)",
        ),
    ] = None
    proxy: ProxyOption = None
    public_url: PublicUrlOption = None


@command(
    example="""
$ noughts serve --db league.db
Noughts ... serves at 127.0.0.1:7450
Look at it:         http://127.0.0.1:7480
Make a token:       noughts token create --owner YOU --db ...
...
""",
    extra="server",
    configured=True,
)
def serve(chosen: ServeOptions, cluster: BusOptions, logs: LogOptions) -> None:
    """Run a server until Ctrl-C. It then lets running games finish; a second Ctrl-C stops it at once."""
    run_server(chosen, cluster, logs)


def run_server(
    chosen: ServeOptions,
    cluster: BusOptions = BusOptions(),
    logs: LogOptions = LogOptions(),
    playing: "Callable[[Server, str | None], AbstractAsyncContextManager[None]] | None" = None,
) -> None:
    """Run a server with these options until a signal; `playing` as in `serve_until_stopped`. Raise SystemExit."""
    identity = read_identity(chosen.tls_cert, chosen.tls_key)
    if chosen.tls_client_ca is not None and identity is None:
        raise UsageProblem("--tls-client-ca: got no server certificate, expected --tls-cert and --tls-key too")
    _check_reach(chosen.listen, protected=identity is not None or chosen.insecure)
    if chosen.metrics is not None:
        _check_reach(chosen.metrics, protected=chosen.insecure, option="--metrics")
    if chosen.web is not None and chosen.no_web:
        raise UsageProblem("--web and --no-web: got both, expected at most one of them")
    bus = cluster.read("noughts serve --bus", chosen.database, insecure=chosen.insecure)
    acceptance = read_acceptance("noughts serve", chosen.accept, chosen.python_packages)
    from noughts_server.cli.operator.serving import announced, serve_until_stopped
    from noughts_server.settings import ServerSettings

    logs.configure()
    same = ("listen", "grace", "reflection", "explorer", "private_webhooks", "metrics", "rate_own_games")
    settings = ServerSettings(
        **printing.picked(chosen, *same),
        database=read_database(chosen.database),
        bus=bus,
        margin_us=read_margin(chosen.margin),
        network_cap_us=read_margin(chosen.network_cap, "--network-cap"),
        identity=identity,
        client_authorities=chosen.tls_client_ca,
        absence=read_absence(chosen.absence),
        limits=read_limits(chosen.limit or []),
        proxies=read_proxies(chosen.proxy),
    )
    listener = None if chosen.no_web else _site_listener(chosen.web, encrypted=identity is not None)
    public_url = read_public_url(chosen.public_url)
    site = {"https": chosen.https, "insecure": chosen.insecure, "public_url": public_url}
    playing = playing or partial(announced, settings)
    if not run_loop(serve_until_stopped(settings, listener, playing, acceptance, site=site)):
        raise SystemExit(INTERRUPTED)


def read_absence(text: str) -> float:
    """Seconds from a duration; 0 is for ever. Raises UsageProblem."""
    return 0.0 if text == "0" else read_duration(text, "--inactivity-timeout").total_seconds()


_INSTALL = "Install them into the Python environment of this command, or leave them out."


def read_acceptance(command: str, accept: str | None, packages: str) -> "Acceptance | None":
    """Which bots are taken; None: none. A kind whose extra is missing is a Problem if it was asked for."""
    kinds = tuple(dict.fromkeys(filter(None, (part.strip() for part in (accept or "").split(",")))))
    if accept is None:
        kinds = ("wasm",) if has_extra("wasm") else ()
    elif kinds == ("none",):
        kinds = ()
    elif not kinds or not set(kinds) <= {"wasm", "py"}:
        raise UsageProblem(f"--accept {accept!r}: expected wasm, py, both separated by a comma, or none")
    names = tuple(filter(None, (part.strip() for part in packages.split(","))))
    if names and "py" not in kinds:
        raise UsageProblem("--python-packages: requires --accept py, because only Python bots import packages")
    if missing := [name for name in names if not name.isidentifier() or find_spec(name) is None]:
        expected = "import names of packages that are installed on this machine"
        raise UsageProblem(f"--python-packages: got {', '.join(missing)}, expected {expected}", _INSTALL)
    if accept is not None and "wasm" in kinds:
        require_extra(f"{command} --accept wasm", "wasm")
    if not kinds:
        return None
    from noughts_server.hosting.submitted import Acceptance

    return Acceptance(kinds, names)


def read_identity(certificate: Path | None, key: Path | None) -> Identity | None:
    """The certificate and the key of these options, if any. Raises UsageProblem if one is missing."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        given, missing = ("--tls-key", "--tls-cert") if certificate is None else ("--tls-cert", "--tls-key")
        raise UsageProblem(f"{missing}: got none, expected a PEM file, because {given} was given")
    return Identity(certificate, key)


def _site_listener(web: str | None, *, encrypted: bool) -> socket.socket | None:
    """The socket of the site; None where there will be none. What was asked for and cannot be is a Problem."""
    if web is None:
        if not has_extra("web"):
            return None
        if encrypted:
            printing.note(f"No website: `serve` starts one only without TLS. {_WEBSITE_FOR_TLS}")
            return None
        try:
            return web_listener(DEFAULT_WEB, "--web")
        except Problem as problem:
            printing.note(f"No website: {problem}. Choose another port with --web, or none with --no-web.")
            return None
    if encrypted:
        raise UsageProblem(f"--web {web!r}: got a server that uses TLS, expected one without TLS", _WEBSITE_FOR_TLS)
    require_extra("noughts serve --web", "web")
    return web_listener(web, "--web")


def read_limits(chosen: list[str]) -> Limits:
    numbers: dict[str, int] = {}
    for text in chosen:
        name, _, number = text.partition("=")
        if not (number.isascii() and number.isdecimal()):
            raise UsageProblem(f"--set-limit {text!r}: expected NAME=NUMBER, e.g. sessions=1000")
        numbers[name] = int(number)
    with problems_with("--set-limit", InvalidArgument):
        return Limits().changed(**numbers)


def _check_reach(address: str, *, protected: bool, option: str = "--listen") -> None:
    host, _ = connection_options.read_address(address, option)
    if protected or is_loopback(host):
        return
    if option == "--metrics":
        raise UsageProblem(
            (
                f"--metrics {address!r}: got an address that other machines can reach, where anyone could read "
                "the metrics; expected a loopback address, e.g. 127.0.0.1:7451"
            ),
            ("Keep them on loopback, forward the port, or accept the risk on a private network with --insecure."),
        )
    raise UsageProblem(
        (
            f"--listen {address!r}: got an address that other machines can reach, without encryption; "
            "expected a loopback address, e.g. 127.0.0.1:7450, or --tls-cert and --tls-key"
        ),
        "Give the server a certificate, forward its port through SSH, or accept the risk with --insecure.",
    )
