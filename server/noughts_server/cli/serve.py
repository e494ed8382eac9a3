"""`noughts serve`: a server until it is told to stop."""

from ipaddress import ip_address
from typing import Annotated

import typer

from noughts_server.cli import options
from noughts_server.cli.output import Format
from noughts_server.cli.problems import INTERRUPTED, UsageProblem

ListenOption = Annotated[
    str, typer.Option("--listen", metavar="HOST:PORT", help="Where bots and people dial in; port 0: any free one.")
]
GraceOption = Annotated[
    float,
    typer.Option(
        "--grace", min=0, max=86_400, metavar="SECONDS", help="How long a lost bot may stay away before it loses."
    ),
]
PlaintextOption = Annotated[
    bool,
    typer.Option(
        "--allow-plaintext", help="Listen beyond this machine without encryption: tokens can be read on the way."
    ),
]
ReflectionOption = Annotated[
    bool,
    typer.Option(
        "--reflection/--no-reflection", help="Tell callers, e.g. grpcurl, which services and messages there are."
    ),
]


def serve(
    listen: ListenOption = options.DEFAULT_ADDRESS,
    database: options.DatabaseOption = None,
    margin: options.MarginOption = "50ms",
    grace: GraceOption = 30.0,
    allow_plaintext: PlaintextOption = False,
    reflection: ReflectionOption = True,
    log_level: Annotated[
        options.LogLevel, typer.Option("--log-level", help="What to log on stderr.")
    ] = options.LogLevel.INFO,
    log_format: Annotated[
        options.LogFormat, typer.Option("--log-format", help="auto: console on a terminal, else logfmt.")
    ] = options.LogFormat.AUTO,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Runs a server until Ctrl-C: the first finishes the games that are running, the second stops at once.

    JSON: {"grpc": "HOST:PORT", "web": null}, one line, once the server is ready.
    """
    _check_reach(listen, allow_plaintext)
    margin_us = options.read_margin(margin)
    from noughts_bots.loop import run_loop
    from noughts_server.cli.logs import configure_logs
    from noughts_server.cli.serving import serve_until_stopped
    from noughts_server.server import ServerSettings

    configure_logs(log_level, log_format)
    settings = ServerSettings(
        listen=listen,
        database=options.read_database(database),
        margin_us=margin_us,
        grace=grace,
        reflection=reflection,
    )
    if not run_loop(serve_until_stopped(settings, output_format)):
        raise typer.Exit(INTERRUPTED)


def _check_reach(listen: str, allow_plaintext: bool) -> None:
    host, _ = options.read_address(listen, "--listen")
    if allow_plaintext or _is_loopback(host):
        return
    raise UsageProblem(
        f"--listen {listen!r}: reaches beyond this machine, and connections are not encrypted;"
        " expected a loopback address, e.g. 127.0.0.1:7450",
        "Forward the port through SSH or a proxy that speaks TLS, or accept the risk with --allow-plaintext.",
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name: who knows where it leads
        return False
