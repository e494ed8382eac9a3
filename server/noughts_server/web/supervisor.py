"""The website that `noughts serve` starts: a child process, which is restarted when it ends."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from noughts_proto.interpreter import environment, python
from noughts_proto.security import local_address
from noughts_server.runtime.endless_work import running
from noughts_server.web.site_settings import SiteSettings

logger = structlog.get_logger("noughts.server")

_FIRST_WAIT, _LONGEST_WAIT = 0.2, 30.0
"""The wait before a restart: the first one, and the limit up to which it doubles."""
_HEALTHY_SECONDS = 10.0
"""After a child that ran at least this long, the wait before the restart is the first one again."""
_CLOSING_SECONDS = 5.0
"""Seconds in which the website must end."""
_CHILD = "noughts_server.web.child"


@asynccontextmanager
async def supervised_site(server: str, listener: socket.socket, settings: SiteSettings) -> AsyncIterator[None]:
    """Serve the website of the server at this address on the socket inside the block.

    The socket stays open here: browsers that call while no child runs wait for the next one.
    """
    async with running(_supervise(local_address(server), listener, settings.line())):
        yield


async def _supervise(server: str, listener: socket.socket, settings: str) -> None:
    wait = _FIRST_WAIT
    clock = asyncio.get_running_loop().time
    while True:
        start = clock()
        code = await _run_child(server, listener, settings)
        wait = _FIRST_WAIT if clock() - start >= _HEALTHY_SECONDS else min(2 * wait, _LONGEST_WAIT)
        logger.warning("website_restarted", code=code, seconds=round(wait, 1))
        await asyncio.sleep(wait)


async def _run_child(server: str, listener: socket.socket, settings: str) -> int:
    """Run one child until it ends, and return its exit code. If this task is cancelled, end the child."""
    child = await asyncio.create_subprocess_exec(
        *python("-m", _CHILD, server, str(listener.fileno())),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=(listener.fileno(),),
        env=environment(),
    )
    try:
        assert child.stdin is not None
        # The settings contain a token, which other users could read in arguments.
        with contextlib.suppress(OSError, RuntimeError):  # the child has already ended, and the pipe is closed
            child.stdin.write(f"{settings}\n".encode())
        return await child.wait()
    finally:
        if child.returncode is None:
            await _end(child)
        # Close its pipe now, because the event loop can end before it does so.
        child._transport.close()  # type: ignore[attr-defined]


async def _end(child: asyncio.subprocess.Process) -> None:
    # The child ends at the end of its stdin.
    assert child.stdin is not None
    child.stdin.close()
    try:
        async with asyncio.timeout(_CLOSING_SECONDS):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
