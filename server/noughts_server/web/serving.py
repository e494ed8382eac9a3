"""The website as a running HTTP server."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from noughts_proto.security import Dialling, is_loopback
from noughts_server.core.repeated_errors import RepeatedErrors
from noughts_server.web.analyst import AnalystSettings, running_analyst
from noughts_server.web.app import site
from noughts_server.web.event_streams import Hub, LiveSettings
from noughts_server.web.http_play.session import PlaySettings
from noughts_server.web.http_play.sessions import HttpPlay
from noughts_server.web.play_tables import PlayTables, TableSettings
from noughts_server.web.traffic import Traffic
from noughts_server.web.upstream import Upstream
from noughts_server.web.visitors import Connections, SiteLimits, Visitors

_CLOSING_SECONDS = 2


@asynccontextmanager
async def running_site(
    server: str,
    dialling: Dialling,
    listener: socket.socket,
    settings: LiveSettings | None = None,
    *,
    https: bool = False,
    insecure: bool = False,
    token: str = "",
    tables: TableSettings | None = None,
    play: PlaySettings | None = None,
    analyst: AnalystSettings | None = None,
    limits: SiteLimits | None = None,
    proxies: Collection[str] = (),
    public_url: str = "",
    traffic: Traffic | None = None,
) -> AsyncIterator[Hub]:
    """Serve the website of the server at this address inside the block. It closes the socket at the end.

    Visitors can sign in only if others cannot read their tokens in transit: on this machine, or through a proxy that
    uses HTTPS with browsers (`https`). With `insecure`, the operator accepts the risk. Visitors can play if the
    website has a `token`; `tables` limits the games. `play` limits the bots that play over HTTP. `analyst` judges
    positions of games. `proxies` are the addresses of trusted reverse proxies, whose header `x-real-ip` names the
    visitor. `public_url` is the address that visitors use (default: that of each request); an address with HTTPS
    implies `https`. `traffic` counts the responses.
    """
    https = https or public_url.startswith("https:")
    site_limits = limits or SiteLimits()
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # A line for each bad form would fill the disk.
    signing_in = https or insecure or is_loopback(listener.getsockname()[0])
    async with asyncio.TaskGroup() as tasks, running_analyst(analyst) as position_analyst:
        upstream = Upstream(server, dialling, site_token=token)
        hub = Hub(upstream, tasks, settings)
        play_tables = PlayTables(upstream, tasks, token, tables) if token else None
        http_play = HttpPlay(upstream, tasks, play)
        app = site(
            upstream,
            hub,
            play_tables,
            http_play,
            position_analyst,
            secure=https,
            signing_in=signing_in,
            public_url=public_url,
        )
        async with serving_http(app, listener, site_limits, proxies, traffic):
            try:
                yield hub
            finally:
                hub.close()
                await http_play.close()
                if play_tables is not None:
                    await play_tables.close()
        await upstream.close()


@asynccontextmanager
async def serving_http(
    app: ASGIApp,
    listener: socket.socket,
    limits: SiteLimits,
    proxies: Collection[str] = (),
    traffic: Traffic | None = None,
) -> AsyncIterator[None]:
    """Serve an application with limits for its visitors inside the block. It closes the socket at the end."""
    limited: ASGIApp = Visitors(app, proxies, limits)
    http = _Http(
        uvicorn.Config(
            limited if traffic is None else traffic.counting(limited),
            http=Connections(limits, proxies),  # type: ignore[arg-type]  # uvicorn accepts any factory
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # lower levels log a line for each bad request
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
    )
    repeated_errors = RepeatedErrors()
    log = logging.getLogger("uvicorn.error")
    log.addFilter(repeated_errors)
    async with asyncio.TaskGroup() as tasks:
        server_task = tasks.create_task(http.serve(sockets=[listener]), name="http")
        try:
            yield
        finally:
            http.should_exit = True
            await server_task
            log.removeFilter(repeated_errors)


class _Http(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process that runs the website."""
        yield
