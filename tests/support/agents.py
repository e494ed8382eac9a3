"""Agents that use the tools of `noughts mcp` over pipes or HTTP, as clients of the MCP SDK."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from noughts_proto.security import Dialling
from noughts_server.agents.serving import PATH, serving_mcp
from noughts_server.agents.tool_calls import Backend
from noughts_server.cli.explanations import explain
from noughts_server.cli.options.server import HINTS
from noughts_server.web.listener import address_of, listening
from noughts_server.web.upstream import Upstream
from tests.support.background import open_in_thread

PATIENCE = 120.0
"""Seconds after which `Agent.until` fails."""
TIME_LIMIT_STEP = "keeps a short time limit"
"""Name of the step of a bot check that can fail on a busy machine."""


class ToolFailed(Exception):
    """A tool answered with an error, whose text is the message."""


class Agent:
    """A client with a token of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool as data. Raises ToolFailed."""
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(getattr(part, "text", "") for part in result.content)
        if result.is_error:
            raise ToolFailed(text)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def until(self, tool: str, state: str, **name: str) -> dict[str, Any]:
        """Call the tool until the tournament or test that it returns is in this state; return that resource."""
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(ToolFailed):  # a test cannot be resumed while games from before are still running
                    answer = await self.call(tool, **name)
                    resource: dict[str, Any] = answer["test"] if isinstance(answer.get("test"), dict) else answer
                    if resource.get("tournament", resource)["state"] == state:
                        return resource
                await asyncio.sleep(0.05)

    async def tools(self) -> dict[str, Any]:
        """All tools by name."""
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}


@asynccontextmanager
async def agent_over_pipes(address: str, token: str) -> AsyncIterator[Agent]:
    """An agent that has started `noughts mcp` with its token."""
    line = ["-m", "noughts_server.cli", "mcp", "--server", address]
    async with Client(StdioServerParameters(command=sys.executable, args=line, env={"NOUGHTS_TOKEN": token})) as client:
        yield Agent(client)


@asynccontextmanager
async def serve_tools(address: str, proxies: tuple[str, ...]) -> AsyncIterator[str]:
    """The address of the tools over HTTP, which are served in this loop."""
    upstream, listener = Upstream(address, Dialling(), HINTS), listening("127.0.0.1", 0)
    try:
        async with serving_mcp(Backend(upstream, explain), listener, proxies):
            yield f"{address_of(listener)}{PATH}"
    finally:
        await upstream.close()


def tools_over_http(address: str, proxies: tuple[str, ...] = ()) -> AbstractContextManager[str]:
    """The address of the tools over HTTP, which are served in a thread of their own."""
    return open_in_thread(serve_tools(address, proxies))


@asynccontextmanager
async def agent_over_http(url: str, token: str = "", mode: str = "auto") -> AsyncIterator[Agent]:
    """An agent that sends its token with each request; `mode` "legacy" is the protocol before 2026."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield Agent(client)
