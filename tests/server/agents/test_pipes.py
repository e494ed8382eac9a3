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
INVALID_LINES: dict[bytes, tuple[int, object]] = {
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
"""Lines that are not messages, with the code and the id of the error that answers each."""


async def read_answers(address: str, lines: list[bytes], count: int) -> list[Any]:
    """Send these lines to a new `noughts mcp`; return its answers, of which there must be exactly `count`."""
    arguments = ["-m", "noughts_server.cli", "mcp", "--server", address]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=PIPE, stdout=PIPE)
    assert process.stdin
    assert process.stdout
    async with asyncio.timeout(120):
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        answers = [json.loads(await process.stdout.readline()) for _ in range(count)]
        process.stdin.close()
        assert await process.stdout.read() == b""
        await process.wait()
    return answers


async def test_a_line_that_is_not_a_message_is_answered(server: ServerUnderTest) -> None:
    lines = [b"", *INVALID_LINES, json.dumps(HELLO).encode()]
    *errors, hello = await read_answers(server.address, lines, len(INVALID_LINES) + 1)
    assert [(error["error"]["code"], error["id"]) for error in errors] == list(INVALID_LINES.values())
    assert all(len(error["error"]["message"]) < 300 for error in errors)
    assert hello["result"]["serverInfo"]["name"] == "noughts"
