"""A reference bot's process: it loads its modules and makes its bot at once, and plays when it gets an address."""

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


class _Ending(asyncio.SubprocessProtocol):
    """Keeps the last that the process wrote, and knows when it has ended."""

    def __init__(self) -> None:
        self.said = b""
        self.ended = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.said = (self.said + data)[-_KEPT_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


class BotProcess:
    """A process that waits to be told where to play. Made by `bot_process`."""

    def __init__(self, transport: asyncio.SubprocessTransport, ending: _Ending) -> None:
        self._transport = transport
        self._ending = ending

    async def play(self, address: str, ticket: str) -> int:
        """Lets it play on the server until it ends. Returns its exit code, negative: the signal."""
        pipe = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        # One that has ended already is not told anything.
        pipe.write(f"{address} {ticket}\n".encode())
        pipe.close()
        await self._ending.ended.wait()
        code = self._transport.get_returncode()
        assert code is not None
        return code

    @property
    def lines(self) -> list[str]:
        """The last that it wrote to stderr."""
        return [line.rstrip() for line in self._ending.said.decode(errors="replace").splitlines()[-_KEPT_LINES:]]

    async def stop(self) -> None:
        """Ends it: asked first, killed when that takes too long. May be called again."""
        if self._transport.get_returncode() is None:
            self._transport.terminate()
            try:
                await asyncio.wait_for(self._ending.ended.wait(), _STOP_SECONDS)
            except TimeoutError:
                self._transport.kill()
                await self._ending.ended.wait()
        self._transport.close()


@asynccontextmanager
async def bot_process(spec: BotSpec, max_games: int, patience: StartRetry) -> AsyncIterator[BotProcess]:
    """The process of a reference bot that plays so many games at once. It is gone when the block is left."""
    loop = asyncio.get_running_loop()
    start = partial(
        loop.subprocess_exec,
        _Ending,
        *python("-m", "noughts_bots.reference", str(spec), str(max_games)),
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=None if spec.asks_an_endpoint else PIPE,  # people see at once that it waits for its endpoint
        env={
            **(_without_token() if spec.asks_an_endpoint else environment()),
            PARENT_VARIABLE: str(os.getpid()),
            # We may start processes while gRPC's threads run: there is nothing for them to do at a fork.
            "GRPC_ENABLE_FORK_SUPPORT": "0",
        },
        # A Ctrl-C in the terminal is for us; the bots finish their games.
        start_new_session=True,
    )
    transport, ending = await patience.until_possible(start)
    process = BotProcess(transport, ending)
    try:
        yield process
    finally:
        await process.stop()


def _without_token() -> dict[str, str]:
    """Return all our variables but the token: those of a language model have names that its user chooses."""
    return {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
