"""A server in this process, the token of an owner, and calls that let bots play on the server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio

from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_proto.transport import CLIENT_OPTIONS, TOKEN_KEY
from noughts_proto.v1 import bots_pb2, bots_pb2_grpc, games_pb2, games_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc
from noughts_server.core.trace_settings import TraceSettings
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from noughts_proto.v1.bots_pb2_grpc import BotServiceAsyncStub
    from noughts_proto.v1.games_pb2_grpc import GameServiceAsyncStub
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceAsyncStub


POLL_SECONDS = 0.01


class LeagueServer:
    """A running server and calls of its owner `ada`."""

    def __init__(self, server: Server, token: str, channel: grpc.aio.Channel) -> None:
        self.address = server.address
        self._server = server
        self.token = token
        """The token of the owner `ada`."""
        self._metadata = ((TOKEN_KEY, f"Bearer {token}"),)
        self._bots: BotServiceAsyncStub = bots_pb2_grpc.BotServiceStub(channel)
        self._tournaments: TournamentServiceAsyncStub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        self._games: GameServiceAsyncStub = games_pb2_grpc.GameServiceStub(channel)

    async def start(self, slug: str, *bots: str, **fields: Any) -> None:
        """Create and start a tournament of bots that the server knows from a login."""
        name = f"tournaments/{slug}"
        tournament = tournaments_pb2.Tournament(name=name, **fields)
        await self._tournaments.CreateTournament(
            tournaments_pb2.CreateTournamentRequest(tournament=tournament), metadata=self._metadata
        )
        for bot in bots:
            await self._tournaments.JoinTournament(
                tournaments_pb2.JoinTournamentRequest(name=name, bot=f"bots/{bot}"), metadata=self._metadata
            )
        await self._tournaments.StartTournament(
            tournaments_pb2.StartTournamentRequest(name=name), metadata=self._metadata
        )

    async def until(
        self, slug: str, condition: Callable[[tournaments_pb2.Tournament], bool]
    ) -> tournaments_pb2.Tournament:
        """Wait until the condition holds, and return the tournament."""
        request = tournaments_pb2.GetTournamentRequest(name=f"tournaments/{slug}")
        async with asyncio.timeout(PATIENCE):
            while True:
                tournament = (await self._tournaments.GetTournament(request)).tournament
                if condition(tournament):
                    return tournament
                await asyncio.sleep(POLL_SECONDS)

    async def games(self, slug: str) -> list[games_pb2.Game]:
        """Wait until the tournament is finished, and return its games in the order of their numbers."""
        await self.until(slug, lambda tournament: tournament.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
        request = games_pb2.ListGamesRequest(parent=f"tournaments/{slug}", page_size=1000)
        games: list[games_pb2.Game] = []
        while True:
            page = await self._games.ListGames(request)
            games += page.games
            if not page.next_page_token:
                return games
            request.page_token = page.next_page_token

    async def until_messages_received(self, count: int) -> None:
        """Wait until the server has received this number of messages of bots. Hellos do not count."""
        async with asyncio.timeout(PATIENCE):
            while self._server.sessions.counts.frames_received < count:  # noqa: ASYNC110  # no event is set for a frame
                await asyncio.sleep(POLL_SECONDS)

    async def until_online(self, bot: str) -> None:
        """Wait until the bot is logged in."""
        request = bots_pb2.ListBotsRequest(online_only=True)
        async with asyncio.timeout(PATIENCE):
            while True:
                online = (await self._bots.ListBots(request)).bots
                if f"bots/{bot}" in [online_bot.name for online_bot in online]:
                    return
                await asyncio.sleep(POLL_SECONDS)

    @asynccontextmanager
    async def opponent(self, spec: str) -> AsyncIterator[str]:
        """A reference bot that plays while the block runs; its name is its spec."""
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(play(make_bot(parse_spec(spec)), Login(self.address, self.token, spec)))
            try:
                await self.until_online(spec)
                yield spec
            finally:
                playing.cancel()


@asynccontextmanager
async def league_server_at(
    folder: Path,
    *,
    listen: str = "127.0.0.1:0",
    token: str = "",
    heartbeat: float = 5.0,
    speed: float | None = None,
    trace: TraceSettings | None = None,
) -> AsyncIterator[LeagueServer]:
    """Run a server on the database in this folder.

    `token` is a token of `ada` that an earlier server on this database created. Default: a new one.
    `heartbeat`: seconds. `speed`: of the machine; None: measured.
    """
    database = f"sqlite:///{folder / 'noughts.sqlite'}"
    settings = ServerSettings(listen=listen, database=database, heartbeat=heartbeat, speed=speed, trace=trace)
    async with running_server(settings) as server:
        if not token:
            create = partial(create_token, owner="ada", now_ms=server.store.now_ms())
            token = (await server.store.write(create)).secret
        async with grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel:
            yield LeagueServer(server, token, channel)
