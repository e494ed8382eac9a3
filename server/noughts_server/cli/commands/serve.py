"""`noughts serve`: a server that runs until it is stopped."""

import shlex
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_proto.security import host_of
from noughts_proto.transport import DEFAULT_SERVER
from noughts_referee.clock import NETWORK_CAP_US
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.config_file import Configuration
from noughts_server.cli.errors import INTERRUPTED, Problem, UsageProblem
from noughts_server.cli.extras import has_extra, require_extra
from noughts_server.cli.options.bus import BusOptions
from noughts_server.cli.options.database import DatabaseOption, read_database
from noughts_server.cli.options.limits import (
    INACTIVITY_TIMEOUT,
    RECONNECT_TIMEOUT,
    DefaultMarginOption,
    InactivityTimeoutOption,
    ReconnectTimeoutOption,
    SetLimitOption,
    read_inactivity_timeout,
    read_limits,
)
from noughts_server.cli.options.listening import (
    DEFAULT_TRACE_SLOW,
    CertificateOption,
    InsecureServerOption,
    KeyOption,
    ListenOption,
    MetricsOption,
    ProxyOption,
    TraceOption,
    TraceSlowOption,
    open_listener,
    read_identity,
    read_proxies,
    read_trace,
    require_private_metrics,
    require_protected_server,
)
from noughts_server.cli.options.logs import LogOptions
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.submissions import PythonPackagesOption, read_acceptance
from noughts_server.cli.options.time import DEFAULT_MARGIN, read_margin
from noughts_server.cli.options.website import (
    ANALYST_TIME,
    DEFAULT_WEB,
    AnalystOption,
    AnalystTimeOption,
    HttpsOption,
    PublicUrlOption,
    read_analyst,
    read_public_url,
)
from noughts_server.cli.processes.signals import run_loop
from noughts_server.core.registration import Registration
from noughts_server.core.version import software_version
from noughts_server.runtime.machine import host_name

if TYPE_CHECKING:
    from noughts_server.server import Server

_LADDER_OF_NEWCOMERS = "levels-connect4"
"""The ladder of the game that the example bots play."""
_WEBSITE_FOR_TLS = "Start it next to the server: noughts web --server NAME:PORT --tls-ca CA.pem"


class HouseBots(StrEnum):
    """The bots that a server keeps online."""

    NONE = "none"
    LEVELS = "levels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of a server, as the operator types them."""

    listen: ListenOption = DEFAULT_SERVER
    database: DatabaseOption = None
    margin: DefaultMarginOption = DEFAULT_MARGIN
    network_cap: Annotated[
        str, Option("--network-cap", metavar="DURATION", help="Maximum network delay not charged to a move; 0: none")
    ] = f"{NETWORK_CAP_US // 1_000}ms"
    reconnect_timeout: ReconnectTimeoutOption = RECONNECT_TIMEOUT
    tls_cert: CertificateOption = None
    tls_key: KeyOption = None
    tls_client_ca: Annotated[
        Path | None,
        Option("--tls-client-ca", metavar="FILE", help="Require client certificates issued by these authorities (PEM)"),
    ] = None
    insecure: InsecureServerOption = False
    metrics: MetricsOption = None
    trace: TraceOption = None
    trace_slow: TraceSlowOption = DEFAULT_TRACE_SLOW
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
    puzzle_search: Annotated[
        bool,
        Option(
            "--puzzle-search/--no-puzzle-search", help="Search games for puzzles, in a process of the lowest priority"
        ),
    ] = True
    analysis: Annotated[
        bool,
        Option("--analysis/--no-analysis", help="Analyse games on request, in a process of the lowest priority"),
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
    registration: Annotated[
        Registration,
        Option("--registration", help="Registration without your help: by anyone, by invitation, or by nobody"),
    ] = Registration.CLOSED
    house_bots: Annotated[
        HouseBots, Option("--house-bots", help="Opponents for newcomers: `levels` of known ratings, in open ladders")
    ] = HouseBots.NONE
    inactivity_timeout: InactivityTimeoutOption = INACTIVITY_TIMEOUT
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
    limit: SetLimitOption = None
    proxy: ProxyOption = None
    public_url: PublicUrlOption = None
    analyst: AnalystOption = None
    analyst_time: AnalystTimeOption = ANALYST_TIME


@command(
    example="""
$ noughts serve --db league.db
Noughts ... serves at 127.0.0.1:7450
Look at it:         http://127.0.0.1:7480
Make a token:       noughts token create --owner YOU --db ...
...
""",
    extra="server",
)
def serve(
    options: ServeOptions, bus: BusOptions, logs: LogOptions, configuration: Configuration, output: OutputOptions
) -> None:
    """Run a server until Ctrl-C. It then lets running games finish; a second Ctrl-C stops it at once."""

    if options.house_bots is HouseBots.LEVELS and options.tls_cert is not None:
        raise UsageProblem(
            "--house-bots levels: got a server that uses TLS, expected one without TLS",
            "Put a reverse proxy with TLS in front of the server, or run bots: noughts bot run level:elo=1500",
        )

    @asynccontextmanager
    async def announced(server: "Server", site: str | None) -> AsyncIterator[None]:
        async with _house_bots(server, options.house_bots) as ladders:
            _announce(output, options, server, site, ladders)
            yield

    run_server(output, options, announced, bus=bus, logs=logs)


@asynccontextmanager
async def _house_bots(server: "Server", kind: HouseBots) -> AsyncIterator[list[str]]:
    """Keep the house bots online inside the block. Yield the names of their ladders."""
    if kind is HouseBots.NONE:
        yield []
        return
    from noughts_server.leagues.level_bots import playing_levels

    async with playing_levels(server) as ladders:
        yield ladders


def run_server(
    output: OutputOptions,
    options: ServeOptions,
    playing: "Callable[[Server, str | None], AbstractAsyncContextManager[None]]",
    *,
    bus: BusOptions = BusOptions(),
    logs: LogOptions = LogOptions(),
) -> None:
    """Run a server with these options until a signal; `playing` as in `serve_until_stopped`. Raise SystemExit."""
    identity = read_identity(options.tls_cert, options.tls_key)
    if options.tls_client_ca is not None and identity is None:
        raise UsageProblem("--tls-client-ca: got no server certificate, expected --tls-cert and --tls-key too")
    require_protected_server(options.listen, protected=identity is not None or options.insecure)
    require_private_metrics(options.metrics, protected=options.insecure)
    if options.web is not None and options.no_web:
        raise UsageProblem("--web and --no-web: got both, expected at most one of them")
    if options.analyst is not None and options.no_web:
        raise UsageProblem("--analyst and --no-web: got both, expected at most one of them")
    bus_settings = bus.read("noughts serve --bus", options.database, insecure=options.insecure)
    acceptance = read_acceptance("noughts serve", options.accept, options.python_packages)
    from noughts_server.cli.processes.serving import serve_until_stopped
    from noughts_server.settings import ServerSettings
    from noughts_server.web.site_settings import SiteSettings

    logs.configure()
    settings = ServerSettings(
        listen=options.listen,
        database=read_database(options.database),
        bus=bus_settings,
        machine=host_name(),
        margin_us=read_margin(options.margin),
        network_cap_us=read_margin(options.network_cap, "--network-cap"),
        reconnect_timeout=options.reconnect_timeout,
        reflection=options.reflection,
        identity=identity,
        client_authorities=options.tls_client_ca,
        metrics=options.metrics,
        trace=read_trace("noughts serve", options.trace, options.trace_slow),
        registration=options.registration,
        inactivity_timeout=read_inactivity_timeout(options.inactivity_timeout),
        rate_own_games=options.rate_own_games,
        limits=read_limits(options.limit),
        explorer=options.explorer,
        puzzle_search=options.puzzle_search,
        analysis=options.analysis,
        private_webhooks=options.private_webhooks,
        proxies=read_proxies(options.proxy),
    )
    listener = None if options.no_web else _website_listener(options.web, encrypted=identity is not None)
    site = SiteSettings(
        https=options.https,
        insecure=options.insecure,
        public_url=read_public_url(options.public_url),
        analyst=read_analyst(options.analyst, options.analyst_time),
    )
    if not run_loop(serve_until_stopped(output, settings, listener, playing, acceptance, site=site)):
        raise SystemExit(INTERRUPTED)


def _website_listener(address: str | None, *, encrypted: bool) -> socket.socket | None:
    """Return the socket of the website; None if there will be none. Raises UsageProblem, Problem."""
    if address is None:
        if not has_extra("web"):
            return None
        if encrypted:
            printing.note(f"No website: `serve` starts one only without TLS. {_WEBSITE_FOR_TLS}")
            return None
        try:
            return open_listener(DEFAULT_WEB, "--web")
        except Problem as problem:
            printing.note(f"No website: {problem}. Choose another port with --web, or none with --no-web.")
            return None
    if encrypted:
        raise UsageProblem(f"--web {address!r}: got a server that uses TLS, expected one without TLS", _WEBSITE_FOR_TLS)
    require_extra("noughts serve --web", "web")
    return open_listener(address, "--web")


def _announce(
    output: OutputOptions, options: ServeOptions, server: "Server", site: str | None, ladders: Sequence[str]
) -> None:
    address, database = server.address, read_database(options.database)
    # An address with a password in it must not stay on the screen.
    database_option = ""
    if database is not None:
        database_option = " --db URL" if "@" in database else f" --db {shlex.quote(database)}"
    # Clients on other machines cannot call 0.0.0.0 or [::], so print HOST for the server's name.
    reachable_address = address if host_of(address).strip("[]0.:") else "HOST" + address[address.rindex(":") :]
    server_option = "" if address == DEFAULT_SERVER else f" --server {reachable_address}"
    trust = ""
    if options.tls_cert is not None:
        server_option += " --tls-ca CA.pem"
        trust = (
            "\nCA.pem is the certificate of the authority that signed the server's. If clients trust it anyway, "
            "write --tls instead."
        )
    invite = ""
    if site and options.registration is not Registration.CLOSED:
        ladder = f" --tournament {_LADDER_OF_NEWCOMERS}" if ladders else ""
        link = f" --site {options.public_url or site}"
        invite = f"Invite newcomers:   noughts invite create --uses 30{ladder}{database_option}{link}\n"
    output.announce(
        {"grpc": address, "web": site, "metrics": server.metrics_address},
        f"Noughts {software_version()} serves at {address}",
        (f"Look at it:         {site}\n" if site else "")
        + f"Make a token:       noughts token create --owner YOU{database_option}\n"
        + invite
        + f"Connect a bot:      NOUGHTS_TOKEN=... noughts bot run minimax --name mybot{server_option}\n"
        f"Run a tournament:   noughts tournament create spring{server_option}   (then join, start, show)\n"
        + (f"Join a ladder:      noughts tournament join {ladders[0]} --bot mybot{server_option}\n" if ladders else "")
        + f"Stop:               Ctrl-C{trust}",
    )
