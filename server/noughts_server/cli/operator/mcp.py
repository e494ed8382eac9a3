"""`noughts mcp`: the tools of a server for language models and agents."""

import os
import socket
from typing import Annotated

from typer import Option

from noughts_proto.security import Dialling, is_loopback
from noughts_server.cli import connection_options
from noughts_server.cli.client import HINTS, AtServer
from noughts_server.cli.errors import UsageProblem, explain, require_extra
from noughts_server.cli.former_command import command
from noughts_server.cli.operator.proxies import read_proxies
from noughts_server.cli.operator.web import web_listener
from noughts_server.cli.options.listening import ProxyOption
from noughts_server.cli.signals import announced, run_loop, until_terminated
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
    at: AtServer = AtServer(),
) -> None:
    """Give agents tools to use a server, by the Model Context Protocol (MCP), until they disconnect.

    An agent starts this command and calls the server with your token. With --listen it runs until Ctrl-C, and each
    agent sends its own token in the header `Authorization: Bearer TOKEN`.
    """
    require_extra("noughts mcp", "web")
    address, token, listener = connection_options.read_server(at.server), None, None
    proxies = read_proxies(proxy)
    if listen is None:
        if proxies:
            raise UsageProblem("--proxy: expected --listen as well, because nothing else has a reverse proxy before it")
        token = connection_options.read_token(at.token, at.token_file)
    else:
        if at.token is not None or at.token_file is not None:
            raise UsageProblem("--listen: got a token as well, expected none, because each agent sends its own")
        if not is_loopback(connection_options.read_address(listen, "--listen")[0]):
            raise UsageProblem(
                f"--listen {listen!r}: expected an address of this machine, e.g. 127.0.0.1:7490",
                "A reverse proxy with HTTPS can make it public.",
            )
        listener = web_listener(listen, "--listen")
    run_loop(
        until_terminated(_serve(address, connection_options.dialling(address, token or ""), token, listener, proxies))
    )


async def _serve(
    address: str, dialling: Dialling, token: str | None, listener: socket.socket | None, proxies: tuple[str, ...]
) -> None:
    os.environ.setdefault("PYDANTIC_ERRORS_INCLUDE_URL", "0")  # errors about wrong arguments stay short
    from noughts_server.agents.serving import PATH, serve_pipes, serving_mcp
    from noughts_server.agents.tools import Backend
    from noughts_server.web.upstream import Upstream

    upstream = Upstream(address, dialling, HINTS)
    backend = Backend(upstream, explain, token)
    try:
        if listener is None:
            await serve_pipes(backend)
            return
        async with serving_mcp(backend, listener, proxies):
            place = f"{address_of(listener)}{PATH}"
            await announced({"mcp": place}, f"The tools of the server at {address} are at {place}")
    finally:
        await upstream.close()
