"""The ladders of `noughts live`: reference bots that play without end, slowly enough for spectators."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from grpc import StatusCode

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.unhurried import Unhurried
from noughts_proto.security import Dialling
from noughts_proto.v1.tournaments_pb2 import (
    TOURNAMENT_STATE_OPEN,
    GetTournamentRequest,
    JoinTournamentRequest,
    StartTournamentRequest,
)
from noughts_referee.clock import parse_time_control
from noughts_server.client.client import Client, connected
from noughts_server.client.failures import CallFailed
from noughts_server.competition.formats import format_named
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import NotFound
from noughts_server.core.resource_names import bot_name, tournament_name
from noughts_server.leagues.tournaments import create_tournament
from noughts_server.server import Server
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.bots import get_bot
from noughts_server.store.people.tokens import HOUSE_OWNER, temporary_token

_LABEL = "noughts live"
_BOARDS = 2
"""Concurrent games of a ladder of `noughts live`, so that a page can show all of them."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """A tournament that does not end, and its bots."""

    name: str
    title: str
    variant: str
    time: str
    bots: tuple[str, ...]
    """The specs of the bots."""
    boards: int = _BOARDS

    @property
    def settings(self) -> TournamentSettings:
        return TournamentSettings(
            title=self.title, variant=self.variant, time=parse_time_control(self.time),
            schedule=format_named("ladder"), concurrency=self.boards,
        )  # fmt: skip


LADDERS = (
    Ladder(
        name="noughts-and-crosses",
        title="Noughts and crosses",
        variant="tictactoe",
        time="60+5",
        bots=("random", "three-stage", "coursework", "pascal", "nextstep"),
    ),
    Ladder(
        name="four-in-a-row",
        title="Four in a row",
        variant="connect4",
        time="120+5",
        bots=("random", "nextstep", "minimax:depth=3", "first-free"),
    ),
    Ladder(
        name="five-in-a-row",
        title="Five in a row",
        variant="gomoku",
        time="300+5",
        bots=("random", "fives", "threats:nodes=200"),
    ),
    Ladder(
        name="in-a-cube",
        title="Four in a row in a cube",
        variant="qubic",
        time="300+5",
        bots=("random", "nextstep", "fives"),
    ),
)


@asynccontextmanager
async def playing_ladders(server: Server, pace: float) -> AsyncIterator[str]:
    """Inside the block, reference bots play on the server, and wait `pace` seconds before each move.

    Yield a token with which another bot can log in.
    """
    async with temporary_token(server.store, owner=HOUSE_OWNER, label=_LABEL) as token, asyncio.TaskGroup() as tasks:
        names = await server.store.read(_names)
        bots = {
            name: Unhurried(make_bot(parse_spec(text)), pace, max_games=len(LADDERS)) for text, name in names.items()
        }
        bot_tasks = await log_in(tasks, server.address, token, bots)
        await asyncio.to_thread(start_ladders, server.address, token, LADDERS, names)
        try:
            yield token
        finally:
            for bot_task in bot_tasks:
                bot_task.cancel()


def _names(connection: Connection) -> dict[str, str]:
    """Return the name of each bot by its spec."""
    specs = {text: parse_spec(text) for ladder in LADDERS for text in ladder.bots}
    return {text: usable_name(connection, spec.short) for text, spec in specs.items()}


def usable_name(connection: Connection, name: str) -> str:
    """Return a name for a bot of the house: `house-minimax` if `minimax` belongs to another owner."""
    try:
        return name if get_bot(connection, name).owner == HOUSE_OWNER else f"{HOUSE_OWNER}-{name}"
    except NotFound:
        return name


async def log_in(
    group: asyncio.TaskGroup, address: str, token: str, bots: Mapping[str, Bot]
) -> list[asyncio.Task[None]]:
    """Start the bots, by name. Return their tasks when all of them are online."""
    tasks = []
    waits = []
    for name, bot in bots.items():
        online = asyncio.Event()

        def on_event(event: SessionEvent, online: asyncio.Event = online) -> None:
            if isinstance(event, Online):
                online.set()

        login = Login(address, token, name, "1")
        tasks.append(group.create_task(play(bot, login, on_event), name=name))
        waits.append(online.wait())
    await asyncio.gather(*waits)
    return tasks


def start_ladders(address: str, token: str, ladders: Iterable[Ladder], names: Mapping[str, str]) -> None:
    """Create and start the ladders that have not started. The others continue by themselves.

    `names` has the name of each bot by its spec.
    """
    with connected(address, token, Dialling()) as client:
        for ladder in ladders:
            name = create_tournament(client, ladder.settings, ladder.name) or _unstarted(client, ladder)
            if name is None:
                continue
            for bot in ladder.bots:
                joining = JoinTournamentRequest(name=name, bot=bot_name(names[bot]))
                with _ignoring(StatusCode.ALREADY_EXISTS):
                    client.call(client.tournaments.JoinTournament, joining)
            try:
                client.call(client.tournaments.StartTournament, StartTournamentRequest(name=name))
            except CallFailed:
                # Another server of a cluster can have started it in the meantime.
                if _unstarted(client, ladder):
                    raise


def _unstarted(client: Client, ladder: Ladder) -> str | None:
    """Return the name of the ladder if an earlier attempt to start it was interrupted."""
    request = GetTournamentRequest(name=tournament_name(ladder.name))
    tournament = client.call(client.tournaments.GetTournament, request).tournament
    is_unstarted = tournament.owner == HOUSE_OWNER and tournament.state == TOURNAMENT_STATE_OPEN
    return request.name if is_unstarted else None


@contextmanager
def _ignoring(code: StatusCode) -> Iterator[None]:
    try:
        yield
    except CallFailed as failure:
        if failure.code is not code:
            raise
