"""The MCP server, over pipes or HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files

from mcp.server.mcpserver import MCPServer

from noughts_server.agents.bot_tools import BotTools
from noughts_server.agents.http_bodies import CompleteBodies
from noughts_server.agents.organising_tools import OrganisingTools
from noughts_server.agents.pipes import serve_connection
from noughts_server.agents.players import Players
from noughts_server.agents.reading_tools import ReadingTools
from noughts_server.agents.rules_tools import PositionTools, all_pages, docs, read_docs
from noughts_server.agents.tool_calls import Backend
from noughts_server.core.version import software_version
from noughts_server.web.serving import serving_http
from noughts_server.web.visitors import SiteLimits

PATH = "/mcp"
_LIMITS = SiteLimits(address_writes=64, body_seconds=5.0, body_bytes_a_second=1_000_000)


@asynccontextmanager
async def mcp_server(backend: Backend) -> AsyncIterator[tuple[MCPServer[object], Players]]:
    """Create the server with all tools, and the players. At the end of the block the players are disconnected."""
    async with asyncio.TaskGroup() as tasks:
        organising = OrganisingTools(backend)
        bots = BotTools(backend)
        players = Players(backend, tasks)
        positions = PositionTools()
        reading = (*ReadingTools(backend).tools, positions.show_position, read_docs, bots.new_bot, bots.explain_game)
        changing = (*organising.changing, bots.check_bot, bots.submit_bot, *players.tools)
        server = MCPServer[object](
            "noughts",
            "Noughts",
            instructions=(files(__package__) / "instructions.txt").read_text(),
            version=software_version(),
            tools=[
                *(backend.tool(tool, reads_only=True) for tool in reading),
                *(backend.tool(tool) for tool in changing),
                *(backend.tool(tool, destroys=True) for tool in organising.destroying),
            ],
            log_level="ERROR",
        )
        server.resource("noughts://docs/llms.txt", name="pages", mime_type="text/markdown")(all_pages)
        server.resource("noughts://rules/{variant}", mime_type="application/json")(positions.rules)
        server.resource("noughts://docs/{+page}", mime_type="text/markdown")(docs)
        try:
            yield server, players
        finally:
            players.close()


async def serve_pipes(backend: Backend) -> None:
    """Serve the only client on standard input and output, until it closes them."""
    async with mcp_server(backend) as (server, _):
        await serve_connection(server)


@asynccontextmanager
async def serving_mcp(backend: Backend, listener: socket.socket, proxies: Collection[str] = ()) -> AsyncIterator[None]:
    """Serve clients over HTTP inside the block, on the socket, which it takes over. No client has a session.

    `proxies` are the addresses of trusted reverse proxies, whose `x-real-ip` names the client.
    """
    async with mcp_server(backend) as (server, players):
        app = server.streamable_http_app(streamable_http_path=PATH, stateless_http=True)
        async with server.session_manager.run(), serving_http(CompleteBodies(app, backend), listener, _LIMITS, proxies):
            try:
                yield
            finally:
                players.close()  # while clients that wait can still be answered
