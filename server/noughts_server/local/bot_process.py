"""A reference bot's process: it loads its modules and creates its bot at once, and plays when it gets an address."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress

from noughts_bots.reference.registry import REFERENCE_BOTS
from noughts_bots.reference.specs import BotSpec
from noughts_proto.fork_server import ForkedProcess, ForkServer
from noughts_proto.interpreter import environment
from noughts_proto.transport import TOKEN_VARIABLE
from noughts_referee.children.start_retry import StartRetry
from noughts_server.local.plan import LocalError

_STOP_SECONDS = 2.0
_KEPT_BYTES = 8_192
_KEPT_LINES = 40
_STDERR = 2

_SERVER = ForkServer("noughts_bots.reference")
"""Forks the reference bots of all runs of this process."""


def load_reference_bots() -> None:
    """Let the process that forks reference bots import what they need now, unless the machine refuses a process."""
    with suppress(OSError):  # the first bot waits until it can start
        _SERVER.load()


class _Output(asyncio.Protocol):
    """Keeps the last lines that the process wrote."""

    def __init__(self) -> None:
        self.tail = b""
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_KEPT_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


class BotProcess:
    """A process that waits for an address at which to play. `bot_process` creates it."""

    def __init__(self, process: ForkedProcess, output: _Output | None) -> None:
        self._process = process
        self._output = output

    @property
    def pid(self) -> int:
        return self._process.pid

    async def play(self, address: str, ticket: str) -> int:
        """Play on the server until the process ends. Return its exit code, or a signal as a negative number."""
        # A process that has already ended gets no address.
        self._process.stdin.write(f"{address} {ticket}\n".encode())
        self._process.stdin.close()
        code = await self._process.ended()
        if self._output is not None:
            await self._output.ended.wait()
        return code

    @property
    def lines(self) -> list[str]:
        """Return the last lines that it wrote to stderr."""
        text = self._output.tail.decode(errors="replace") if self._output is not None else ""
        return [line.rstrip() for line in text.splitlines()[-_KEPT_LINES:]]

    async def stop(self) -> None:
        """End the process: terminate it, then kill it after a timeout. Can be called repeatedly."""
        if not self._process.has_ended:
            self._process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self._process.ended(), _STOP_SECONDS)
            except TimeoutError:
                self._process.send_signal(signal.SIGKILL)
                await self._process.ended()
        self._process.close()


@asynccontextmanager
async def bot_process(spec: BotSpec, max_games: int, retry: StartRetry) -> AsyncIterator[BotProcess]:
    """Yield the process of a reference bot with this capacity. It has ended at the end of the block.

    Raises LocalError if it does not start in time.
    """
    try:
        process = await retry.until_possible(lambda: _start(spec, max_games))
    except TimeoutError as error:
        raise LocalError(f"{spec}: {error}", "try again when this machine has less work") from None
    try:
        yield process
    finally:
        await process.stop()


async def _start(spec: BotSpec, max_games: int) -> BotProcess:
    arguments = [str(spec), str(max_games)]
    if spec.asks_an_endpoint:  # the user sees at once that it waits for its endpoint
        return BotProcess(await _SERVER.start(arguments, _without_token(), stderr=_STDERR), None)
    stderr, child_stderr = os.pipe()
    with ExitStack() as ends:
        reading = ends.enter_context(os.fdopen(stderr, "rb", buffering=0))
        try:
            module = REFERENCE_BOTS[spec.target].module
            process = await _SERVER.start(arguments, environment(), stderr=child_stderr, needs=module)
        finally:
            os.close(child_stderr)
        _, output = await asyncio.get_running_loop().connect_read_pipe(_Output, reading)
        ends.pop_all()
    return BotProcess(process, output)


def _without_token() -> dict[str, str]:
    """Return all environment variables except the token. A language model needs variables with any name."""
    return {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
