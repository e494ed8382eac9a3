"""A reference bot's process: it loads its modules and creates its bot at once, and plays when it gets an address."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

from noughts_bots.connection.process import PARENT_VARIABLE
from noughts_bots.reference.specs import BotSpec
from noughts_proto.interpreter import environment, python
from noughts_proto.transport import TOKEN_VARIABLE
from noughts_referee.children.start_retry import StartRetry

_STOP_SECONDS = 2.0
_KEPT_BYTES = 8_192
_KEPT_LINES = 40


class _Output(asyncio.SubprocessProtocol):
    """Keeps the last lines that the process wrote, and reports its end."""

    def __init__(self) -> None:
        self.tail = b""
        self.ended = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.tail = (self.tail + data)[-_KEPT_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


class BotProcess:
    """A process that waits for an address at which to play. `bot_process` creates it."""

    def __init__(self, transport: asyncio.SubprocessTransport, output: _Output) -> None:
        self._transport = transport
        self._output = output

    async def play(self, address: str, ticket: str) -> int:
        """Play on the server until the process ends. Return its exit code, or a signal as a negative number."""
        pipe = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        # A process that has already ended gets no address.
        pipe.write(f"{address} {ticket}\n".encode())
        pipe.close()
        await self._output.ended.wait()
        code = self._transport.get_returncode()
        assert code is not None
        return code

    @property
    def lines(self) -> list[str]:
        """Return the last lines that it wrote to stderr."""
        return [line.rstrip() for line in self._output.tail.decode(errors="replace").splitlines()[-_KEPT_LINES:]]

    async def stop(self) -> None:
        """End the process: terminate it, then kill it after a timeout. Can be called repeatedly."""
        if self._transport.get_returncode() is None:
            self._transport.terminate()
            try:
                await asyncio.wait_for(self._output.ended.wait(), _STOP_SECONDS)
            except TimeoutError:
                self._transport.kill()
                await self._output.ended.wait()
        self._transport.close()


@asynccontextmanager
async def bot_process(spec: BotSpec, max_games: int, retry: StartRetry) -> AsyncIterator[BotProcess]:
    """Yield the process of a reference bot with this capacity. It has ended at the end of the block."""
    loop = asyncio.get_running_loop()
    start = partial(
        loop.subprocess_exec,
        _Output,
        *python("-m", "noughts_bots.reference", str(spec), str(max_games)),
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=None if spec.asks_an_endpoint else PIPE,  # the user sees at once that it waits for its endpoint
        env={
            **(_without_token() if spec.asks_an_endpoint else environment()),
            PARENT_VARIABLE: str(os.getpid()),
            # A fork is safe although gRPC's threads run, because gRPC has nothing to do then.
            "GRPC_ENABLE_FORK_SUPPORT": "0",
        },
        # A Ctrl-C in the terminal is for this process; the bots finish their games.
        start_new_session=True,
    )
    transport, output = await retry.until_possible(start)
    process = BotProcess(transport, output)
    try:
        yield process
    finally:
        await process.stop()


def _without_token() -> dict[str, str]:
    """Return all environment variables except the token. A language model needs variables with any name."""
    return {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
