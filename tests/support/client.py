"""A server in this process with a client of all its services, and the errors of refused calls."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.bot import Bot
from noughts_proto.transport import CLIENT_OPTIONS, PROTOCOL, TOKEN_KEY
from noughts_proto.v1 import (
    bots_pb2_grpc,
    challenges_pb2_grpc,
    games_pb2,
    games_pb2_grpc,
    leaderboards_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
    registration_pb2_grpc,
    status_pb2_grpc,
    tests_pb2_grpc,
    tokens_pb2_grpc,
    tournaments_pb2,
    tournaments_pb2_grpc,
    tunings_pb2_grpc,
    webhooks_pb2_grpc,
)
from noughts_server.core.limits import Limits
from noughts_server.runtime.hosting import Hosting
from noughts_server.server import Server, running_server
from noughts_server.services.new_tokens import check_scopes
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner, create_token
from noughts_server.store.people.webhooks import Webhook, create_webhook
from tests.support.arena import NOW
from tests.support.databases import make_database
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from noughts_proto.v1.bots_pb2_grpc import BotServiceAsyncStub
    from noughts_proto.v1.challenges_pb2_grpc import ChallengeServiceAsyncStub
    from noughts_proto.v1.games_pb2_grpc import GameServiceAsyncStub
    from noughts_proto.v1.leaderboards_pb2_grpc import LeaderboardServiceAsyncStub
    from noughts_proto.v1.play_pb2_grpc import PlayServiceAsyncStub
    from noughts_proto.v1.registration_pb2_grpc import RegistrationServiceAsyncStub
    from noughts_proto.v1.status_pb2_grpc import StatusServiceAsyncStub
    from noughts_proto.v1.tests_pb2_grpc import TestServiceAsyncStub
    from noughts_proto.v1.tokens_pb2_grpc import TokenServiceAsyncStub
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceAsyncStub
    from noughts_proto.v1.tunings_pb2_grpc import TuningServiceAsyncStub
    from noughts_proto.v1.webhooks_pb2_grpc import WebhookServiceAsyncStub

DETAILS = "grpc-status-details-bin"

Metadata = tuple[tuple[str, str], ...]


def bearer(token: str) -> Metadata:
    """The metadata of a call with this token."""
    return ((TOKEN_KEY, f"Bearer {token}"),)


class Refusal(NamedTuple):
    """The error of a refused call."""

    code: grpc.StatusCode
    info: ErrorInfo
    details: list[Message]
    """After the ErrorInfo."""
    status: Status
    trailing: str
    """The text of the error and of all metadata, in which tests look for secrets that must not be there."""

    @property
    def reason(self) -> str:
        return self.info.reason

    def fields(self) -> list[str]:
        """The fields that its BadRequest names."""
        return [
            violation.field
            for detail in self.details
            if isinstance(detail, BadRequest)
            for violation in detail.field_violations
        ]


async def refusal_of(call: Awaitable[object]) -> Refusal:
    """Await a call that must be refused, and return its error, whose first detail is our ErrorInfo."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    error = raised.value
    trailing = error.trailing_metadata()
    assert trailing is not None
    packed = trailing[DETAILS]
    assert isinstance(packed, bytes)
    status = Status.FromString(packed)
    assert (status.code, status.message) == (error.code().value[0], error.details())
    details = list(map(unpack, status.details))
    info = details[0]
    assert isinstance(info, ErrorInfo)
    assert info.domain == "noughts"
    assert info.reason
    return Refusal(error.code(), info, details[1:], status, f"{error.details()} {list(trailing)} {status}")


def unpack(packed: Any) -> Message:
    """Return the error detail in a `google.protobuf.Any`."""
    kinds = {kind.DESCRIPTOR.full_name: kind for kind in (ErrorInfo, BadRequest, PreconditionFailure, RetryInfo)}
    detail = kinds[packed.TypeName()]()
    assert packed.Unpack(detail)
    return detail


class Client:
    """A channel to a server that runs in this process."""

    def __init__(self, server: Server, channel: grpc.aio.Channel, database: Path) -> None:
        self.server = server
        self.database = database
        self.play: PlayServiceAsyncStub = play_pb2_grpc.PlayServiceStub(channel)
        self.bots: BotServiceAsyncStub = bots_pb2_grpc.BotServiceStub(channel)
        self.tournaments: TournamentServiceAsyncStub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        self.games: GameServiceAsyncStub = games_pb2_grpc.GameServiceStub(channel)
        self.leaderboards: LeaderboardServiceAsyncStub = leaderboards_pb2_grpc.LeaderboardServiceStub(channel)
        self.tokens: TokenServiceAsyncStub = tokens_pb2_grpc.TokenServiceStub(channel)
        self.challenges: ChallengeServiceAsyncStub = challenges_pb2_grpc.ChallengeServiceStub(channel)
        self.registration: RegistrationServiceAsyncStub = registration_pb2_grpc.RegistrationServiceStub(channel)
        self.tests: TestServiceAsyncStub = tests_pb2_grpc.TestServiceStub(channel)
        self.tunings: TuningServiceAsyncStub = tunings_pb2_grpc.TuningServiceStub(channel)
        self.webhooks: WebhookServiceAsyncStub = webhooks_pb2_grpc.WebhookServiceStub(channel)
        self.status: StatusServiceAsyncStub = status_pb2_grpc.StatusServiceStub(channel)
        self.health: Any = health_pb2_grpc.HealthStub(channel)  # its stubs know no methods

    async def token(self, owner: str = "alice", *scopes: str, lifetime_ms: int | None = None) -> str:
        """Create a token of this owner, and return its secret."""
        now = self.server.store.now_ms()
        make = partial(create_token, owner=owner, scopes=check_scopes(scopes), lifetime_ms=lifetime_ms, now_ms=now)
        return (await self.server.store.write(make)).secret

    async def webhook(self, url: str, owner: str = "alice") -> Webhook:
        """Create a webhook of this owner, without a check of its address."""
        make = partial(create_webhook, url=url, format="json", events="", now_ms=NOW, limits=Limits())
        store = self.server.store
        return await store.write(lambda connection: make(connection, owner_id=create_owner(connection, owner)))

    async def register(self, *names: str, owner: str = "alice") -> None:
        """Register bots of this owner, as their first login would."""

        def make(connection: Connection) -> None:
            owner_id = create_owner(connection, owner)
            for name in names:
                log_in(connection, owner_id=owner_id, name=name, now_ms=NOW)

        await self.server.store.write(make)

    async def create(
        self, token: str, slug: str = "cup", request_id: str = "", **fields: Any
    ) -> tournaments_pb2.Tournament:
        """A new tournament."""
        request = create_request(slug, request_id, **fields)
        return (await self.tournaments.CreateTournament(request, metadata=bearer(token))).tournament

    async def join(self, token: str, bot: str, slug: str = "cup") -> tournaments_pb2.JoinTournamentResponse:
        request = tournaments_pb2.JoinTournamentRequest(name=f"tournaments/{slug}", bot=f"bots/{bot}")
        return await self.tournaments.JoinTournament(request, metadata=bearer(token))

    async def start(self, token: str, slug: str = "cup") -> tournaments_pb2.Tournament:
        request = tournaments_pb2.StartTournamentRequest(name=f"tournaments/{slug}")
        return (await self.tournaments.StartTournament(request, metadata=bearer(token))).tournament

    async def pause(self, token: str, slug: str = "cup") -> tournaments_pb2.Tournament:
        request = tournaments_pb2.PauseTournamentRequest(name=f"tournaments/{slug}")
        return (await self.tournaments.PauseTournament(request, metadata=bearer(token))).tournament

    async def cancel(self, token: str, slug: str = "cup") -> tournaments_pb2.Tournament:
        request = tournaments_pb2.CancelTournamentRequest(name=f"tournaments/{slug}")
        return (await self.tournaments.CancelTournament(request, metadata=bearer(token))).tournament

    async def get(self, slug: str = "cup") -> tournaments_pb2.Tournament:
        request = tournaments_pb2.GetTournamentRequest(name=f"tournaments/{slug}")
        return (await self.tournaments.GetTournament(request)).tournament

    async def until(self, condition: Callable[[tournaments_pb2.Tournament], bool]) -> tournaments_pb2.Tournament:
        """The tournament `cup` as soon as the condition holds."""
        async with asyncio.timeout(PATIENCE):
            while True:
                tournament = await self.get()
                if condition(tournament):
                    return tournament
                await asyncio.sleep(0.02)

    async def at_rest(self) -> int:
        """Wait until no game of `cup` runs, and return the number of its stored games."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if not self.server.referee.count_running():
                    await self.server.recorder.flush()
                    return (await self.get()).games_done
                await asyncio.sleep(0.02)

    async def slugs(self) -> list[str]:
        """All tournaments, newest first."""
        answer = await self.tournaments.ListTournaments(tournaments_pb2.ListTournamentsRequest(page_size=1000))
        return [tournament.name.removeprefix("tournaments/") for tournament in answer.tournaments]

    async def game_numbers(self) -> list[int]:
        """The numbers of all stored games of `cup`, as they are listed."""
        numbers: list[int] = []
        token = ""
        while True:
            request = games_pb2.ListGamesRequest(parent="tournaments/cup", page_size=1000, page_token=token)
            answer = await self.games.ListGames(request)
            numbers += [int(game.name.rpartition("/")[2]) for game in answer.games]
            token = answer.next_page_token
            if not token:
                return numbers

    async def serving(self, service: str) -> str:
        """Return the answer of the health service."""
        answer = await self.health.Check(health_pb2.HealthCheckRequest(service=service))
        return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)

    async def first_frame(self, frame: play_pb2.PlayRequest | None, metadata: Metadata) -> play_pb2.PlayResponse:
        """Return the answer to a bot that begins its stream with this frame, or that ends it at once if None."""
        call = self.play.Play(metadata=metadata)
        try:
            # If the server refuses the stream before the frame is written, `read` raises the reason.
            with suppress(asyncio.InvalidStateError):
                await (call.done_writing() if frame is None else call.write(frame))
            answer: object = await call.read()
            assert isinstance(answer, play_pb2.PlayResponse)
            return answer
        finally:
            call.cancel()

    @asynccontextmanager
    async def online(self, token: str, *names: str, bot: Bot | None = None) -> AsyncIterator[None]:
        """Bots of this token's owner that have logged in, and play while the block runs."""
        news: asyncio.Queue[SessionEvent] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            playing = [
                tasks.create_task(play(bot or Random(), Login(self.server.address, token, name), news.put_nowait))
                for name in names
            ]
            try:
                for _ in names:
                    assert isinstance(await asyncio.wait_for(news.get(), PATIENCE), Online)
                yield
            finally:
                for task in playing:
                    task.cancel()


def create_request(slug: str, request_id: str = "", **fields: Any) -> tournaments_pb2.CreateTournamentRequest:
    """Return the request that creates a tournament with these fields."""
    tournament = tournaments_pb2.Tournament(name=f"tournaments/{slug}", **fields)
    return tournaments_pb2.CreateTournamentRequest(tournament=tournament, request_id=request_id)


def hello(**fields: Any) -> play_pb2.PlayRequest:
    """Return the first frame of a bot's stream; by default of the bot `ada`."""
    return play_pb2.PlayRequest(hello=play_pb2.Hello(**{"protocol": PROTOCOL, "bot": "ada", **fields}))


@asynccontextmanager
async def client_of(
    database: Path, host: Callable[[Server], Hosting] | None = None, **settings_fields: Any
) -> AsyncIterator[Client]:
    """A client of a new server on this database; `settings_fields` are those of its `ServerSettings`."""
    settings = ServerSettings(listen="127.0.0.1:0", database=make_database(database), **settings_fields)
    async with (
        running_server(settings, host) as server,
        grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel,
    ):
        yield Client(server, channel, database)
