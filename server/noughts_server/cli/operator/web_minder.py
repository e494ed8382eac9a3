"""The site that `noughts serve` starts and minds: a child process, started again when it dies."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog

from noughts_proto.interpreter import environment, python
from noughts_proto.security import host_of
from noughts_server.runtime.endless_work import running

logger = structlog.get_logger("noughts.server")

_FIRST_WAIT, _LONGEST_WAIT = 0.2, 30.0
_HEALTHY_SECONDS = 10.0
"""A child that lived for so long is started again at once."""
_CLOSING_SECONDS = 5.0
_CHILD = "noughts_server.cli.operator.web_child"
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # where it listens, not we


@asynccontextmanager
async def minding_site(server: str, listener: socket.socket, options: Mapping[str, Any]) -> AsyncIterator[None]:
    """A site of the server at this address answers on the socket inside the block; `options` as of `running_site`.

    The socket stays open here: browsers that call while no child is there wait for the next one.
    """
    async with running(_mind(dialled(server), listener, json.dumps(options))):
        yield


async def _mind(server: str, listener: socket.socket, options: str) -> None:
    wait = _FIRST_WAIT
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        code = await _live(server, listener, options)
        wait = _FIRST_WAIT if clock() - began >= _HEALTHY_SECONDS else min(2 * wait, _LONGEST_WAIT)
        logger.warning("website_restarted", code=code, seconds=round(wait, 1))
        await asyncio.sleep(wait)


async def _live(server: str, listener: socket.socket, options: str) -> int:
    """One child, to its end or ours: its exit code."""
    child = await asyncio.create_subprocess_exec(
        *python("-m", _CHILD, server, str(listener.fileno())),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=(listener.fileno(),),
        env=environment(),
    )
    try:
        assert child.stdin is not None
        # Not in its environment or arguments, where others may read the token.
        with contextlib.suppress(OSError, RuntimeError):  # it was killed already: the pipe is closed
            child.stdin.write(f"{options}\n".encode())
        return await child.wait()
    finally:
        if child.returncode is None:
            await _end(child)
        # Its pipe can still be open, and the event loop can close before it finds out.
        child._transport.close()  # type: ignore[attr-defined]


async def _end(child: asyncio.subprocess.Process) -> None:
    # The child ends when its stdin does.
    assert child.stdin is not None
    child.stdin.close()
    try:
        async with asyncio.timeout(_CLOSING_SECONDS):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def dialled(address: str) -> str:
    """Where a process of this machine reaches a server that listens there."""
    host = host_of(address)
    return f"{_ANYWHERE[host]}:{address.rpartition(':')[2]}" if host in _ANYWHERE else address
