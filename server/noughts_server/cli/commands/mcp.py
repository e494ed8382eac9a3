"""`noughts mcp`: the tools of a server for language models and agents."""

import os
import socket
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_proto.security import Dialling, is_loopback
from noughts_server.cli.command import command
from noughts_server.cli.connection import read_address, read_token
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.explanations import explain
from noughts_server.cli.extras import require_extra
from noughts_server.cli.options.listening import ProxyOption, open_listener, read_proxies
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import HINTS, ServerOptions
from noughts_server.cli.processes.signals import announce_until_stopped, run_loop, until_terminated
from noughts_server.web.listener import address_of


@command(
    example="""
$ noughts mcp --listen 127.0.0.1:7490
The tools of the server at 127.0.0.1:7450 are at http://127.0.0.1:7490/mcp
Stop: Ctrl-C
""",
    extra="mcp",
)
def mcp(
    listen: Annotated[
        str | None,
        Option(
            "--listen", metavar="HOST:PORT", help="Local address to serve over HTTP. Default: standard input and output"
        ),
    ] = None,
    proxy: ProxyOption = None,
    site_token_file: Annotated[
        Path | None,
        Option(
            "--site-token-file",
            metavar="FILE",
            help="File with a token (scope `site`) for separate limits of each agent",
        ),
    ] = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Give agents tools to use a server, by the Model Context Protocol (MCP), until they disconnect.

    An agent starts this command and calls the server with your token. With --listen it runs until Ctrl-C, and each
    agent sends its own token in the header `Authorization: Bearer TOKEN`.
    """
    require_extra("noughts mcp", "web")
    address, proxies = server.address, read_proxies(proxy)
    if listen is None:
        if proxies:
            raise UsageProblem("--proxy: expected --listen as well, because nothing else has a reverse proxy before it")
        if site_token_file is not None:
            raise UsageProblem("--site-token-file: expected --listen as well, because nothing else has several agents")
        token = server.read_token()
        run_loop(until_terminated(_serve_pipes(address, server.dialling(token), token)))
        return
    if server.token is not None or server.token_file is not None:
        raise UsageProblem("--listen: got a token as well, expected none, because each agent sends its own")
    if not is_loopback(read_address(listen, "--listen")[0]):
        raise UsageProblem(
            f"--listen {listen!r}: expected an address of this machine, e.g. 127.0.0.1:7490",
            "A reverse proxy with HTTPS can make it public.",
        )
    site_token = "" if site_token_file is None else read_token(None, site_token_file, file_option="--site-token-file")
    dialling = server.dialling(site_token)
    listener = open_listener(listen, "--listen")
    run_loop(until_terminated(_serve_http(output, address, dialling, listener, proxies, site_token)))


async def _serve_pipes(address: str, dialling: Dialling, token: str) -> None:
    _shorten_errors()
    from noughts_server.agents.serving import serve_pipes
    from noughts_server.agents.tool_calls import Backend
    from noughts_server.web.upstream import Upstream

    upstream = Upstream(address, dialling, HINTS)
    try:
        await serve_pipes(Backend(upstream, explain, token))
    finally:
        await upstream.close()


async def _serve_http(
    output: OutputOptions,
    address: str,
    dialling: Dialling,
    listener: socket.socket,
    proxies: tuple[str, ...],
    site_token: str,
) -> None:
    _shorten_errors()
    from noughts_server.agents.serving import PATH, serving_mcp
    from noughts_server.agents.tool_calls import Backend
    from noughts_server.web.upstream import Upstream

    upstream = Upstream(address, dialling, HINTS, site_token)
    try:
        async with serving_mcp(Backend(upstream, explain, None), listener, proxies):
            place = f"{address_of(listener)}{PATH}"
            await announce_until_stopped(output, {"mcp": place}, f"The tools of the server at {address} are at {place}")
    finally:
        await upstream.close()


def _shorten_errors() -> None:
    """Leave the address of a handbook out of errors about wrong arguments, before pydantic is imported."""
    os.environ.setdefault("PYDANTIC_ERRORS_INCLUDE_URL", "0")
