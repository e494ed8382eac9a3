"""Servers and bots in threads of this process, for tests of their clients."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, TypeVar

from noughts_bots import Bot
from noughts_bots.connection.events import Online
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from tests.support.patience import PATIENCE

Entered = TypeVar("Entered")


@contextmanager
def open_in_thread(context: AbstractAsyncContextManager[Entered]) -> Iterator[Entered]:
    """Enter an asynchronous context in the event loop of a new thread; leave it at the end of this block."""
    entered: Future[Entered] = Future()
    leave = asyncio.Event()

    async def stay() -> None:
        async with context as value:
            entered.set_result(value)
            await leave.wait()

    def run() -> None:
        try:
            runner.run(stay())
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=run, name="noughts-test-background")
        thread.start()
        try:
            yield entered.result(PATIENCE)
        finally:
            loop.call_soon_threadsafe(leave.set)
            thread.join(PATIENCE)


@asynccontextmanager
async def _running_server(database: str, listen: str, fields: Mapping[str, Any]) -> AsyncIterator[str]:
    settings = ServerSettings(listen=listen, database=database, inactivity_timeout=600, **fields)
    async with running_server(settings) as server:
        yield server.address


def server_in_thread(database: str, *, listen: str = "127.0.0.1:0", **fields: Any) -> AbstractContextManager[str]:
    """A server on the database at this URL, in a thread of its own; the block gets its HOST:PORT.

    `fields` are those of its settings.
    """
    return open_in_thread(_running_server(database, listen, fields))


@asynccontextmanager
async def _online(address: str, token: str, bots: Mapping[str, str | Bot]) -> AsyncIterator[None]:
    news: asyncio.Queue[object] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        sessions = [
            tasks.create_task(
                play(
                    make_bot(parse_spec(bot)) if isinstance(bot, str) else bot,
                    Login(address, token, name),
                    news.put_nowait,
                )
            )
            for name, bot in bots.items()
        ]
        try:
            online = 0
            while online < len(sessions):
                # A bot also reports that it waits for tournaments, and lost connections.
                online += isinstance(await asyncio.wait_for(news.get(), PATIENCE), Online)
            yield
        finally:
            for session in sessions:
                session.cancel()


def bots_online(address: str, token: str, **bots: str | Bot) -> AbstractContextManager[None]:
    """Bots by name (or specs of reference bots) that are logged in and play, in a thread, while the block runs."""
    return open_in_thread(_online(address, token, bots))
