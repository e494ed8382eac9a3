"""`noughts mcp` over standard input and output, without the SDK's client."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from typing import Any

from noughts_server.testing import ServerUnderTest

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
}}  # fmt: skip
NOT_MESSAGES: dict[bytes, tuple[int, object]] = {
    b'{"jsonrpc": "2.0", "id": 3, ': (-32700, None),
    b"hello": (-32700, None),
    b'{"id": 1} {"id": 2}': (-32700, None),
    b"\xff\xfe": (-32700, None),
    b"[" * 5000: (-32700, None),
    b"[1, 2]": (-32600, None),
    b'"text"': (-32600, None),
    b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}': (-32600, 7),
    b'{"jsonrpc": "2.0", "id": "x"}': (-32600, "x"),
}


async def answers(address: str, lines: list[bytes], count: int) -> list[Any]:
    """The first answers to these lines."""
    words = ["-m", "noughts_server.cli", "mcp", "--server", address]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=PIPE, stdout=PIPE)
    assert process.stdin
    assert process.stdout
    async with asyncio.timeout(120):
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        found = [json.loads(await process.stdout.readline()) for _ in range(count)]
        process.stdin.close()
        assert await process.stdout.read() == b""
        await process.wait()
    return found


async def test_a_line_that_is_not_a_message_is_answered(server: ServerUnderTest) -> None:
    sent = [b"", *NOT_MESSAGES, json.dumps(HELLO).encode()]
    *refused, greeted = await answers(server.address, sent, len(NOT_MESSAGES) + 1)
    assert [(each["error"]["code"], each["id"]) for each in refused] == list(NOT_MESSAGES.values())
    assert all(len(each["error"]["message"]) < 300 for each in refused)
    assert greeted["result"]["serverInfo"]["name"] == "noughts"
