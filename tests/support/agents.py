"""Agents: clients of the SDK that use the tools of `noughts mcp`, over pipes or HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from noughts_proto.security import Dialling
from noughts_server.agents.serving import PATH, serving_mcp
from noughts_server.agents.tools import Backend
from noughts_server.cli.client import HINTS
from noughts_server.cli.errors import explain
from noughts_server.web.listener import address_of, listening
from noughts_server.web.upstream import Upstream


class ToolFailed(Exception):
    """What a tool reports as an error."""


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

    async def tools(self) -> dict[str, Any]:
        """All tools by name."""
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}


@asynccontextmanager
async def over_pipes(address: str, token: str) -> AsyncIterator[Agent]:
    """An agent that has started `noughts mcp` with its token."""
    line = ["-m", "noughts_server.cli", "mcp", "--server", address]
    async with Client(StdioServerParameters(command=sys.executable, args=line, env={"NOUGHTS_TOKEN": token})) as client:
        yield Agent(client)


@contextmanager
def tools_over_http(address: str) -> Iterator[str]:
    """The address of the tools over HTTP, which are served in a thread of their own."""
    started: Future[tuple[str, Callable[[], object]]] = Future()

    async def serve() -> None:
        upstream, listener = Upstream(address, Dialling(), HINTS), listening("127.0.0.1", 0)
        stop, loop, place = asyncio.Event(), asyncio.get_running_loop(), f"{address_of(listener)}{PATH}"
        async with serving_mcp(Backend(upstream, explain), listener):
            started.set_result((place, partial(loop.call_soon_threadsafe, stop.set)))
            await stop.wait()
        await upstream.close()

    with ThreadPoolExecutor(1, "tools") as pool:
        ended = pool.submit(asyncio.run, serve())
        both: list[Future[Any]] = [started, ended]
        wait(both, return_when=FIRST_COMPLETED)
        if ended.done():
            ended.result()
        url, stop = started.result()
        try:
            yield url
        finally:
            stop()
            ended.result()


@asynccontextmanager
async def over_http(url: str, token: str = "", mode: str = "auto") -> AsyncIterator[Agent]:
    """An agent that sends its token with each request; `mode` "legacy" is the protocol before 2026."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield Agent(client)
