"""The site as a running HTTP server."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from noughts_proto.security import Dialling
from noughts_server.web.app import site
from noughts_server.web.live import Hub, LiveSettings
from noughts_server.web.upstream import Upstream

_CLOSING_SECONDS = 2


@asynccontextmanager
async def running_site(
    server: str, dialling: Dialling, listener: socket.socket, settings: LiveSettings | None = None
) -> AsyncIterator[Hub]:
    """The site of the server at this address; inside the block it answers on the socket, which it takes over."""
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server, dialling)
        hub = Hub(upstream, tasks, settings)
        http = _Http(
            uvicorn.Config(
                site(upstream, hub),
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_CLOSING_SECONDS,
            )
        )
        serving = tasks.create_task(http.serve(sockets=[listener]), name="http")
        try:
            yield hub
        finally:
            hub.close()
            http.should_exit = True
            await serving
            await upstream.close()


class _Http(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are those of whoever runs the site."""
        yield
