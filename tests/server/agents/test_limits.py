"""Limits of the tools over HTTP, so that one agent cannot stop the others."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from noughts_proto.security import Dialling
from noughts_proto.v1 import bots_pb2
from noughts_server.agents import rules_tools
from noughts_server.agents.http_bodies import OWNER_LONG_BODIES, SMALL_BODY, CompleteBodies
from noughts_server.agents.tool_calls import TOKEN_CALLS, Backend
from noughts_server.cli.explanations import explain
from noughts_server.cli.options.server import HINTS
from noughts_server.testing import ServerUnderTest
from noughts_server.web.upstream import GUEST, Upstream
from tests.support.agents import Agent, ToolFailed, agent_over_http, tools_over_http
from tests.support.patience import PATIENCE

PROXY = "127.0.0.1"
SLOW_BODIES = 70
"""More than the requests of one address that the tools read at once."""
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@contextmanager
def slow_bodies(url: str, address: str) -> Iterator[None]:
    """Keep requests of this address, as a proxy reports it, open without sending their bodies."""
    parts = urlsplit(url)
    head = f"POST /mcp HTTP/1.1\r\nhost: {parts.netloc}\r\nx-real-ip: {address}\r\ncontent-type: application/json\r\n"
    with ExitStack() as stack:
        for _ in range(SLOW_BODIES):
            connection = stack.enter_context(socket.create_connection((parts.hostname, parts.port)))
            connection.sendall(f"{head}accept: {ACCEPT['accept']}\r\ncontent-length: 100\r\n\r\n".encode())
        yield


@pytest.fixture(scope="module")
def proxied_url(server: ServerUnderTest) -> Iterator[str]:
    """The URL of tools that take the addresses of clients from a proxy on this machine."""
    with tools_over_http(server.address, (PROXY,)) as url:
        yield url


async def test_slow_bodies_of_one_address_do_not_stop_another(proxied_url: str) -> None:
    with slow_bodies(proxied_url, "192.0.2.1"):
        async with httpx2.AsyncClient(timeout=60) as http:
            answer = await http.post(proxied_url, json=CALL, headers={"x-real-ip": "192.0.2.2", **ACCEPT})
        assert answer.status_code < 500


LONG_BODY = {**CALL, "params": {"_meta": {"note": "x" * SMALL_BODY}}}
# A body of many values costs far more memory than its bytes: its limit is lower, whatever the token.
MANY_VALUES = {**CALL, "params": {"_meta": {"notes": [{}] * SMALL_BODY}}}


@pytest.mark.parametrize(
    "scopes, body, status",
    [
        ((), LONG_BODY, 413),
        (("play",), LONG_BODY, 413),
        (("submit",), LONG_BODY, 200),
        (("submit",), MANY_VALUES, 413),
    ],
)
async def test_long_body_needs_texts_and_a_token_that_can_submit(
    server: ServerUnderTest, url: str, scopes: tuple[str, ...], body: object, status: int
) -> None:
    token = {"authorization": f"Bearer {server.token('ada', *scopes)}"} if scopes else {}
    async with httpx2.AsyncClient(timeout=60) as http:
        answer = await http.post(url, json=body, headers={**ACCEPT, **token})
    assert answer.status_code == status, answer.text


async def test_long_bodies_of_one_owner_are_limited(server: ServerUnderTest) -> None:
    end = asyncio.Event()

    async def answer_at_the_end(scope: Scope, receive: Receive, send: Send) -> None:
        await end.wait()
        await Response()(scope, receive, send)

    token = {"authorization": f"Bearer {server.token('ada', 'submit')}"}
    upstream = Upstream(server.address, Dialling(), HINTS)
    transport = httpx2.ASGITransport(CompleteBodies(answer_at_the_end, Backend(upstream, explain)))
    async with asyncio.timeout(PATIENCE), httpx2.AsyncClient(transport=transport, base_url="http://here") as http:
        async with asyncio.TaskGroup() as tasks:
            posts = [
                tasks.create_task(http.post("/", json=LONG_BODY, headers=token)) for _ in range(OWNER_LONG_BODIES + 1)
            ]
            await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
            end.set()
        assert sorted(post.result().status_code for post in posts) == [*[200] * OWNER_LONG_BODIES, 429]
    await upstream.close()


async def test_agents_without_a_token_take_turns(server: ServerUnderTest) -> None:
    upstream, order = Upstream(server.address, Dialling(), HINTS), list[str]()

    async def ask(address: str) -> None:
        GUEST.set(address)
        await upstream.call(upstream.bots.ListBots, bots_pb2.ListBotsRequest())
        order.append(address)

    async with asyncio.TaskGroup() as tasks:
        for address in ["192.0.2.1"] * 20 + ["192.0.2.2"]:
            tasks.create_task(ask(address))
    # The second address sent its call last, after 20 calls of the first one.
    assert order.index("192.0.2.2") < 10
    await upstream.close()


async def test_positions_are_set_up_outside_the_event_loop(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_names, set_up = list[str](), rules_tools._position

    def set_up_and_note_thread(*arguments: Any) -> Any:
        thread_names.append(threading.current_thread().name)
        return set_up(*arguments)

    monkeypatch.setattr(rules_tools, "_position", set_up_and_note_thread)
    async with agent_over_http(url) as agent:
        await agent.call("show_position", variant="tictactoe", moves=[4])
    assert [name.partition("_")[0] for name in thread_names] == ["positions"]


async def test_waits_of_one_token_are_limited(server: ServerUnderTest, url: str) -> None:
    token, other = server.token("ada"), server.token("eve")
    async with (
        agent_over_http(url, token) as agent,
        agent_over_http(url, other) as neighbour,
        asyncio.TaskGroup() as tasks,
    ):
        await agent.call("connect_player", bot="waiting")
        waits = [tasks.create_task(_wait_until_refused(agent)) for _ in range(TOKEN_CALLS + 1)]
        done, waiting = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        assert f"{TOKEN_CALLS} calls with this token are running" in await done.pop()
        assert len(waiting) == TOKEN_CALLS
        assert await neighbour.call("list_bots")
        for wait in waits:
            wait.cancel()


async def _wait_until_refused(agent: Agent) -> str:
    """Wait for a turn; return the error, or "" if the wait was not refused."""
    try:
        await agent.call("wait_for_turn", bot="waiting", seconds=60)
    except ToolFailed as failed:
        return str(failed)
    return ""


async def test_a_client_cannot_open_a_stream_that_never_ends(url: str) -> None:
    async with httpx2.AsyncClient() as http:
        answer = await http.get(url, headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("header", ["host", "origin"])
async def test_header_with_a_user_name_before_the_host_is_refused(url: str, header: str) -> None:
    host = urlsplit(url).netloc + "@example.org"
    value = host if header == "host" else f"http://{host}"
    async with httpx2.AsyncClient() as http:
        answer = await http.post(url, json=CALL, headers={**ACCEPT, header: value})
    assert answer.status_code == 400
