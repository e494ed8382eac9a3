"""Attacks that hold resources which other callers need: places in queues, memory, streams and connections."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mcp.shared.exceptions import MCPError

from noughts_proto.v1 import feed_pb2, games_pb2, leaderboards_pb2
from tests.chaos.http2 import RawClient, raw_client
from tests.support.agents import ToolFailed, agent_over_http

_SOURCES = ("127.0.0.3", "127.0.0.4")
# Concurrent calls, streams and connections of each attack.
_CALLS, _STREAMS, _CONNECTIONS = 50, 250, 2_500
_ADDRESSES, _ANCHORS = 6, 500
_WAITS, _BODIES = 40, 80
_PAUSE = 0.2
"""Seconds before an attempt is repeated."""


async def unread_answers(target: Any) -> None:
    """Two addresses request long lists, and read no byte of the answers."""
    request = games_pb2.ListGamesRequest(parent="tournaments/fast", page_size=1_000).SerializeToString()

    def ask(client: RawClient) -> None:
        for _ in range(_CALLS):
            client.call("GameService/ListGames", request)

    await _run_clients(target, [(source, False) for source in _SOURCES], ask)


async def waiting_calls(target: Any) -> None:
    """A few addresses request batch ratings, which the server computes one at a time, some with the most anchors."""
    anchors = {f"bots/{'x' * 50}{number}": 1.0 for number in range(_ANCHORS)}
    ratings = leaderboards_pb2.GetBatchRatingsRequest(variant="gomoku").SerializeToString()
    anchored = leaderboards_pb2.GetBatchRatingsRequest(variant="gomoku", anchors=anchors).SerializeToString()

    def ask(client: RawClient) -> None:
        for request in (ratings, anchored) * (_CALLS // 2):
            client.call("LeaderboardService/GetBatchRatings", request)

    await _run_clients(target, [(f"127.0.1.{number}", True) for number in range(_ADDRESSES)], ask)


async def feed_streams(target: Any) -> None:
    """Two addresses open as many streams of the feed as they can, on connections of which some do not read."""
    request = feed_pb2.WatchRequest(name="tournaments/fast").SerializeToString()

    def watch(client: RawClient) -> None:
        for _ in range(_STREAMS):
            client.call("FeedService/Watch", request)

    await _run_clients(target, [(source, reads) for source in _SOURCES for reads in (True, True, False)], watch)


async def idle_connections(target: Any) -> None:
    """One address opens connections, and makes no call on them."""
    await _run_clients(target, [(_SOURCES[0], True)] * _CONNECTIONS, lambda client: None)


async def agent_waits(target: Any) -> None:
    """An agent makes many concurrent calls that wait for its turn; other requests never send their bodies."""
    url = f"http://{target.site}/mcp"

    async def wait_for_turns(agent: Any) -> None:
        while True:
            try:
                await agent.call("wait_for_turn", bot="idler", seconds=60)
            except (ToolFailed, MCPError) as failed:
                target.counts[str(failed)[:40]] += 1
            await asyncio.sleep(_PAUSE)

    async with agent_over_http(url, target.token) as agent, asyncio.TaskGroup() as tasks:
        await agent.call("connect_player", bot="idler")
        for _ in range(_WAITS):
            tasks.create_task(wait_for_turns(agent))
        for _ in range(_BODIES):
            tasks.create_task(_open_requests_without_body(target))


async def _open_requests_without_body(target: Any) -> None:
    """Send the head of one request after the other, and wait for the server to give up."""
    host, _, port = target.site.rpartition(":")
    head = f"POST /mcp HTTP/1.1\r\nhost: {target.site}\r\nx-real-ip: 192.0.2.1\r\ncontent-length: 1000\r\n\r\n"
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head.encode())
            target.counts[f"slow body: {(await reader.read(12))[9:].decode() or 'closed'}"] += 1
            writer.transport.abort()
        await asyncio.sleep(_PAUSE)


async def _run_clients(target: Any, clients: list[tuple[str, bool]], act: Callable[[RawClient], None]) -> None:
    """Run a client for each (address, whether it reads), and let each `act`. A closed connection is opened again."""

    async def run_client(source: str, reads: bool) -> None:
        while True:
            with suppress(OSError):
                async with raw_client(target.address, source, reads=reads) as client:
                    act(client)
                    await client.closed.wait()
                    target.counts["connections closed"] += 1
                    target.counts["headers of answers"] += client.header_frames
            await asyncio.sleep(_PAUSE)

    async with asyncio.TaskGroup() as tasks:
        for source, reads in clients:
            tasks.create_task(run_client(source, reads))
