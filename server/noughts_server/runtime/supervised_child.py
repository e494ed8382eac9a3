"""A child process of a server that is restarted when it ends, such as its website."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import structlog

from noughts_proto.interpreter import environment, python
from noughts_server.runtime.endless_work import running

logger = structlog.get_logger("noughts.server")

# The wait before a restart: the first one, and the limit up to which it doubles.
_FIRST_WAIT = 0.2
_LONGEST_WAIT = 30.0
_HEALTHY_SECONDS = 10.0
"""After a child that ran at least this long, the wait before the restart is the first one again."""
_CLOSING_SECONDS = 5.0
"""Seconds in which the child must end."""


@asynccontextmanager
async def supervised_child(
    arguments: Sequence[str], first_line: str, on_end: Callable[[int, float], None], pass_fds: Sequence[int] = ()
) -> AsyncIterator[None]:
    """Run `python -m ARGUMENTS` inside the block. The child must end at the end of its stdin.

    The first line of its stdin can hold secrets, which other users could read in arguments. `on_end` gets the exit code
    of each child that has ended by itself, and the seconds until the next one starts.
    """
    async with running(_supervise(arguments, first_line, on_end, pass_fds)):
        yield


async def _supervise(
    arguments: Sequence[str], first_line: str, on_end: Callable[[int, float], None], pass_fds: Sequence[int]
) -> None:
    wait = _FIRST_WAIT
    clock = asyncio.get_running_loop().time
    while True:
        start = clock()
        try:
            code = await _run_child(arguments, first_line, pass_fds)
        except OSError as error:  # the machine has no processes, open files or memory left
            wait = min(2 * wait, _LONGEST_WAIT)
            logger.warning("child_not_started", module=arguments[0], error=str(error), seconds=round(wait, 1))
        else:
            wait = _FIRST_WAIT if clock() - start >= _HEALTHY_SECONDS else min(2 * wait, _LONGEST_WAIT)
            on_end(code, wait)
        await asyncio.sleep(wait)


async def _run_child(arguments: Sequence[str], first_line: str, pass_fds: Sequence[int]) -> int:
    """Run one child until it ends, and return its exit code. If this task is cancelled, end the child."""
    child = await asyncio.create_subprocess_exec(
        *python("-m", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=pass_fds,
        env=environment(),
    )
    try:
        assert child.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # the child has already ended, and the pipe is closed
            child.stdin.write(f"{first_line}\n".encode())
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
