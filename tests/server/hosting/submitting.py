"""A server that accepts submitted bots, and calls that submit bots to it."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.core.limits import Limits
from noughts_server.hosting.submitted import Acceptance, SubmittedBots, submitted_bots_of_server
from noughts_server.server import Server
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import bots, programs, submissions
from tests.support.client import Client, bearer, client_of
from tests.support.patience import PATIENCE

BOT_TEMPLATE = "from noughts_bots import Bot\n\n\nclass Mine(Bot):\n    def choose(self, position):\n        {}\n"

RANDOM_BOT = BOT_TEMPLATE.format("return position.rng().choice(position.free)")

FIRST_CELL_BOT = BOT_TEMPLATE.format("return position.free[0]")

ALL_SCOPES = ("play", "organise", "submit")


@asynccontextmanager
async def hosting(
    folder: Path, kinds: tuple[str, ...] = ("wasm", "py"), limits: Limits | None = None, **settings_fields: Any
) -> AsyncIterator[tuple[Client, SubmittedBots]]:
    """A client of a server that accepts submitted bots of these kinds, and the part of the server that hosts them.

    `settings_fields` are further ones of its `ServerSettings`.
    """
    settings = {"limits": limits or Limits(submissions=1000), "rate_own_games": True, **settings_fields}
    submitted_bots: list[SubmittedBots] = []
    async with submitted_bots_of_server(Acceptance(kinds)) as host:

        def host_and_remember(server: Server) -> SubmittedBots:
            submitted_bots.append(host(server))
            return submitted_bots[0]

        async with client_of(folder / "x.sqlite", host_and_remember, **settings) as client:
            yield client, submitted_bots[0]


async def submit(
    client: Client, token: str, bot: str, content: bytes | str, kind: str = "py", /, **fields: object
) -> pb.SubmitBotResponse:
    """Submit a file; `fields` are changed fields of the submission's first message."""
    data = content.encode() if isinstance(content, str) else content
    submission = pb.Submission(bot=bot, kind=kind, size=len(data), sha256=hashlib.sha256(data).digest())
    submission.MergeFrom(pb.Submission(**fields))  # type: ignore[arg-type]  # of the message

    async def requests() -> AsyncIterator[pb.SubmitBotRequest]:
        yield pb.SubmitBotRequest(submission=submission)
        for start in range(0, len(data), 50_000):
            yield pb.SubmitBotRequest(chunk=data[start : start + 50_000])

    return await client.bots.SubmitBot(requests(), metadata=bearer(token), timeout=2 * PATIENCE)


async def stored_counts(client: Client) -> tuple[int, int, int]:
    """Return the numbers of stored bots, programs and submissions."""

    def read(connection: Connection) -> tuple[int, int, int]:
        bot_rows = connection.execute(bots.select()).all()
        program_rows = connection.execute(programs.select()).all()
        submission_rows = connection.execute(submissions.select()).all()
        return len(bot_rows), len(program_rows), len(submission_rows)

    return await client.server.store.read(read)


T = TypeVar("T")


async def wait_for(read: Callable[[], Awaitable[T]], is_expected: Callable[[T], bool]) -> None:
    """Read a value again and again until it is as expected."""
    async with asyncio.timeout(120):
        while not is_expected(await read()):  # noqa: ASYNC110  # another process changes the value
            await asyncio.sleep(0.05)


async def online_bots(client: Client) -> list[str]:
    """Return the bots that are online, or that the server would start for a game."""
    return [bot.name for bot in (await client.bots.ListBots(pb.ListBotsRequest(online_only=True))).bots]
