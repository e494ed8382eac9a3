"""`noughts web`: the site of a server, as a process of its own."""

import errno
import socket
import time
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_server.cli import connection_options
from noughts_server.cli.errors import Problem
from noughts_server.cli.former_command import command
from noughts_server.cli.operator.proxies import PublicUrlOption, read_proxies, read_public_url
from noughts_server.cli.options.listening import HttpsOption, ProxyOption
from noughts_server.cli.signals import announced, run_loop
from noughts_server.web.listener import address_of, listening

DEFAULT_WEB = "127.0.0.1:7480"
_RELEASE_SECONDS = 6.0
"""A killed server's website may hold its port for so long."""


@command(
    example="""
$ noughts web --server 127.0.0.1:7450
...http://127.0.0.1:7480...
""",
    extra="web",
    configured=True,
)
def web(
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", help="Address of the website; port 0: any free port")
    ] = DEFAULT_WEB,
    https: HttpsOption = False,
    plain_sign_in: Annotated[
        bool, Option("--plain-sign-in", help="Allow sign-in without encryption: others can read tokens")
    ] = False,
    token_file: Annotated[
        Path | None,
        Option(
            "--token-file",
            metavar="FILE",
            help="File with a token for games in the browser (scopes `play`, `site`)",
            rich_help_panel="Connection",
        ),
    ] = None,
    proxy: ProxyOption = None,
    public_url: PublicUrlOption = None,
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Serve a website that shows a server's tournaments, games and ratings live, until Ctrl-C.

    Visitors sign in with their tokens, on this machine or over HTTPS. The website itself needs a token only for games
    in the browser.
    """
    address = connection_options.read_server(server)
    token = "" if token_file is None else connection_options.read_token(None, token_file)
    dialling = connection_options.dialling(address, token)
    proxies, public = read_proxies(proxy), read_public_url(public_url)
    listener = web_listener(listen, "--listen")
    from noughts_server.web.serving import running_site

    site = running_site(
        address,
        dialling,
        listener,
        https=https,
        insecure=plain_sign_in,
        token=token,
        proxies=proxies,
        public_url=public,
    )

    async def serve() -> None:
        async with site:
            place = address_of(listener)
            await announced({"web": place}, f"The website of the server at {address} is at {place}")

    run_loop(serve())


def web_listener(listen: str, option: str) -> socket.socket:
    """The socket of this option. Raises Problem where nobody can listen there."""
    host, port = connection_options.read_address(listen, option)
    latest = time.monotonic() + _RELEASE_SECONDS
    while True:
        try:
            return listening(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > latest:
                raise Problem(
                    f"{option} {listen!r}: cannot listen there: {error.strerror or error}",
                    "Is another one running there? Choose another port.",
                ) from error
        time.sleep(_RELEASE_SECONDS / 20)
