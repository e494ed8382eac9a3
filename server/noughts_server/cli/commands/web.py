"""`noughts web`: the website of a server, as a process of its own."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_bots.connection.process import tune_collector
from noughts_server.cli.command import command
from noughts_server.cli.config_file import Configuration
from noughts_server.cli.connection import read_token
from noughts_server.cli.options.listening import (
    MetricsOption,
    ProxyOption,
    open_listener,
    read_proxies,
    require_private_metrics,
)
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
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
from noughts_server.cli.processes.signals import announce_until_stopped, run_loop
from noughts_server.web.listener import address_of


@command(
    example="""
$ noughts web --server 127.0.0.1:7450
...http://127.0.0.1:7480...
""",
    extra="web",
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
    analyst: AnalystOption = None,
    analyst_time: AnalystTimeOption = ANALYST_TIME,
    metrics: MetricsOption = None,
    *,
    server: AddressOptions,
    configuration: Configuration,
    output: OutputOptions,
) -> None:
    """Serve a website that shows a server's tournaments, games and ratings live, until Ctrl-C.

    Visitors sign in with their tokens, on this machine or over HTTPS. The website itself needs a token only for games
    in the browser.
    """
    address = server.address
    token = "" if token_file is None else read_token(None, token_file)
    dialling = server.dialling(token)
    proxies = read_proxies(proxy)
    parsed_public_url = read_public_url(public_url)
    analyst_settings = read_analyst(analyst, analyst_time)
    require_private_metrics(metrics, protected=server.insecure)
    listener = open_listener(listen, "--listen")
    from noughts_server.monitoring.prometheus import WebsiteMetrics, serving_metrics
    from noughts_server.web.serving import running_site
    from noughts_server.web.traffic import Traffic

    tune_collector()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            traffic = Traffic()
            metrics_address = None
            if metrics is not None:
                serving = serving_metrics([WebsiteMetrics(traffic)], metrics, lambda: None)
                metrics_address = await stack.enter_async_context(serving)
            site = running_site(
                address,
                dialling,
                listener,
                https=https,
                insecure=plain_sign_in,
                token=token,
                analyst=analyst_settings,
                proxies=proxies,
                public_url=parsed_public_url,
                traffic=traffic,
            )
            await stack.enter_async_context(site)
            place = address_of(listener)
            document = {"web": place, "metrics": metrics_address}
            await announce_until_stopped(output, document, f"The website of the server at {address} is at {place}")

    run_loop(serve())
