"""`noughts serve`: a server until it is told to stop."""

import asyncio
import shlex
from collections.abc import Coroutine
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noughts_server.cli import options, output
from noughts_server.cli.output import Format
from noughts_server.cli.problems import INTERRUPTED, UsageProblem

if TYPE_CHECKING:
    from noughts_server.server import ServerSettings

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


def serve(
    listen: ListenOption = options.DEFAULT_ADDRESS,
    database: options.DatabaseOption = None,
    margin: options.MarginOption = "50ms",
    grace: GraceOption = 30.0,
    allow_plaintext: PlaintextOption = False,
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
    from noughts_server.cli.local_run import run_loop
    from noughts_server.cli.logs import configure_logs
    from noughts_server.server import ServerSettings

    configure_logs(log_level, log_format)
    settings = ServerSettings(listen=listen, database=database, margin_us=margin_us, grace=grace)
    if not run_loop(_serve(settings, output_format)):
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


async def _serve(settings: "ServerSettings", output_format: Format) -> bool:
    """Serves until a signal; False when running games were abandoned."""
    from noughts_server.cli.local_run import two_stages
    from noughts_server.server import running_server

    stopping, aborting = asyncio.Event(), asyncio.Event()
    async with running_server(settings) as server:
        with two_stages(stopping.set, aborting.set):
            _announce(server.address, settings.database, output_format)
            await stopping.wait()
            if output_format is Format.TEXT:
                output.note("Finishing the games that are running; press Ctrl-C again to stop at once.")
            await _first_of(server.drain(), aborting.wait())
    return not aborting.is_set()


async def _first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Returns when one of them has ended; the others are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(wait) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


def _announce(address: str, database: str | None, output_format: Format) -> None:
    if output_format is Format.JSON:
        output.print_json({"grpc": address, "web": None})
        return
    from noughts_server.version import software_version

    place = "" if database is None else f" --db {_shown(database)}"
    server = "" if address == options.DEFAULT_ADDRESS else f" --server {address}"
    console = output.stdout()
    console.print(f"Noughts {software_version()} serves at {address}", style="bold", soft_wrap=True)
    console.print(
        f"Make a token:       noughts token create --owner YOU{place}\n"
        f"Connect a bot:      NOUGHTS_TOKEN=... noughts bot run minimax --name mybot{server}\n"
        f"Run a tournament:   noughts tournament create spring{server}   (then join, start, show)\n"
        "Stop:               Ctrl-C",
        soft_wrap=True,
    )
    console.file.flush()


def _shown(database: str) -> str:
    # An address with a password in it must not stay on the screen.
    return "URL" if "@" in database else shlex.quote(database)
