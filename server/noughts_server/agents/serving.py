"""The MCP server, over pipes or HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files

from mcp.server.mcpserver import MCPServer
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noughts_server.agents.bot_tools import BotTools
from noughts_server.agents.organising_tools import OrganisingTools
from noughts_server.agents.pipes import serve_connection
from noughts_server.agents.players import Players
from noughts_server.agents.reading_tools import ReadingTools
from noughts_server.agents.rules_tools import all_pages, docs, read_docs, rules, show_position
from noughts_server.agents.tools import Backend
from noughts_server.core.version import software_version
from noughts_server.web.serving import serving_http
from noughts_server.web.visitors import SiteLimits

PATH = "/mcp"
_LIMITS = SiteLimits(address_writes=64, body_seconds=5.0, body_bytes_a_second=1_000_000)
_LONGEST_BODY = 4 << 20
_TOO_LONG = PlainTextResponse(f"The body has more than {_LONGEST_BODY:,} bytes.\n", 413)
_NO_STREAM = PlainTextResponse("This server sends no events of its own. Send POST requests.\n", 405, {"allow": "POST"})


@asynccontextmanager
async def mcp_server(backend: Backend) -> AsyncIterator[tuple[MCPServer[object], Players]]:
    """Return the server with all tools, and the players, which are disconnected at the end of the block."""
    async with asyncio.TaskGroup() as tasks:
        organising, bots, players = OrganisingTools(backend), BotTools(backend), Players(backend, tasks)
        reading = (*ReadingTools(backend).tools, show_position, read_docs, bots.new_bot, bots.explain_game)
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
        server.resource("noughts://rules/{variant}", mime_type="application/json")(rules)
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
        async with server.session_manager.run(), serving_http(_only_calls(app), listener, _LIMITS, proxies):
            try:
                yield
            finally:
                players.close()  # while clients that wait can still be answered


def _only_calls(app: ASGIApp) -> ASGIApp:
    """Pass on only complete calls.

    A client without a session can open a stream of events, but none would come, and the stream would not end. The SDK
    logs a traceback for each body that ends early.
    """

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD"):
            await _NO_STREAM(scope, receive, send)
            return
        body = bytearray()
        arriving = True
        while arriving and len(body) <= _LONGEST_BODY:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            arriving = message.get("more_body", False)
        if arriving or len(body) > _LONGEST_BODY:
            await _TOO_LONG(scope, receive, send)
            return
        whole = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def received() -> Message:
            return whole.pop() if whole else await receive()

        await app(scope, received, send)

    return answered
