"""Agents: clients of the SDK that use the tools of `noughts mcp`, over pipes or HTTP."""

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
"""Seconds after which a tournament that should end has failed to."""
TIME_LIMIT_STEP = "keeps a short time limit"
"""Name of the step of a bot check that can fail on a busy machine."""


class ToolFailed(Exception):
    """The error of a tool."""


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
        """The tournament or test, as soon as the tool answers that it is in this state."""
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(ToolFailed):  # a test cannot be resumed while games from before are still running
                    found = await self.call(tool, **name)
                    shown: dict[str, Any] = found["test"] if isinstance(found.get("test"), dict) else found
                    if shown.get("tournament", shown)["state"] == state:
                        return shown
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
async def running_tools(address: str, proxies: tuple[str, ...]) -> AsyncIterator[str]:
    """The address of the tools over HTTP, which are served in this loop."""
    upstream, listener = Upstream(address, Dialling(), HINTS), listening("127.0.0.1", 0)
    try:
        async with serving_mcp(Backend(upstream, explain), listener, proxies):
            yield f"{address_of(listener)}{PATH}"
    finally:
        await upstream.close()


def tools_over_http(address: str, proxies: tuple[str, ...] = ()) -> AbstractContextManager[str]:
    """The address of the tools over HTTP, which are served in a thread of their own."""
    return open_in_thread(running_tools(address, proxies))


@asynccontextmanager
async def agent_over_http(url: str, token: str = "", mode: str = "auto") -> AsyncIterator[Agent]:
    """An agent that sends its token with each request; `mode` "legacy" is the protocol before 2026."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield Agent(client)
