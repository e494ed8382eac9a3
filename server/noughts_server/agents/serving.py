"""The MCP server, over pipes or HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from noughts_server.agents.bot_tools import BotTools
from noughts_server.agents.players import Players
from noughts_server.agents.route_tools import route_tools
from noughts_server.agents.rules_tools import doc_resources, read_docs, rules, show_position
from noughts_server.agents.tools import Backend
from noughts_server.version import software_version
from noughts_server.web.serving import serving_http
from noughts_server.web.visitors import SiteLimits

PATH = "/mcp"
_LARGEST_REQUEST = 4 << 20
_HOSTS = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
"""Addresses that requests may be for, so that no page in a browser can reach the server by another name."""
_INSTRUCTIONS = """\
Noughts runs tournaments between bots that play k-in-a-row games. Read with the tools get_... and list_...
To write a bot: show_position for the rules, new_bot, check_bot, submit_bot, create_test; explain_game for lost games.
To play yourself: connect_player, create_challenge or join_tournament, then wait_for_turn and play until it is over.
"""


@asynccontextmanager
async def mcp_server(backend: Backend) -> AsyncIterator[tuple[MCPServer[object], Players]]:
    """Return the server with all tools, and the players, which must be closed before the end of the block."""
    async with asyncio.TaskGroup() as tasks:
        bots, players = BotTools(backend), Players(backend, tasks)
        knowing = (show_position, read_docs, bots.new_bot, bots.explain_game)
        reading = [backend.tool(each, read_only_hint=True) for each in knowing]
        acting = [backend.tool(each) for each in (bots.check_bot, bots.submit_bot, *players.tools)]
        server = MCPServer[object](
            "noughts",
            "Noughts",
            instructions=_INSTRUCTIONS,
            version=software_version(),
            tools=[*route_tools(backend), *reading, *acting],
            resources=[*doc_resources()],
            log_level="ERROR",
        )
        server.resource("noughts://rules/{variant}", mime_type="application/json")(rules)
        yield server, players


async def serve_pipes(backend: Backend) -> None:
    """Serve the only client on standard input and output, until it closes them."""
    async with mcp_server(backend) as (server, players):
        await server.run_stdio_async()
        players.close()


@asynccontextmanager
async def serving_mcp(backend: Backend, listener: socket.socket) -> AsyncIterator[None]:
    """Serve clients over HTTP inside the block, on the socket, which it takes over. No client has a session."""
    origins = [f"http://{host}" for host in _HOSTS]
    async with mcp_server(backend) as (server, players):
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=_LARGEST_REQUEST,
            transport_security=TransportSecuritySettings(allowed_hosts=_HOSTS, allowed_origins=origins),
        )
        async with server.session_manager.run(), serving_http(app, listener, SiteLimits()):
            try:
                yield
            finally:
                players.close()
