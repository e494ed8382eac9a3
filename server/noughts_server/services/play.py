"""PlayService: logs bots in and connects their streams to their sessions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial

import grpc.aio

from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_server.core.errors import InvalidArgument, NotFound
from noughts_server.runtime.hello import check_hello
from noughts_server.runtime.sessions import OnlineBot, Sessions
from noughts_server.services.access import VISITOR, Access, bearer_token, caller_with_scope, open_to
from noughts_server.services.delivery import Delivery
from noughts_server.services.first_entries import FirstEntries
from noughts_server.services.interceptor import REQUEST_SECONDS
from noughts_server.services.limiter import Limiter
from noughts_server.services.seeks import check_seek
from noughts_server.store.engine.database import Store
from noughts_server.store.people.bots import BotVersion, log_in, log_in_again
from noughts_server.store.people.scopes import play_as
from noughts_server.store.tournaments.entries import pinned_elsewhere

PlayContext = grpc.aio.ServicerContext[pb.PlayRequest, pb.PlayResponse]

_NO_LIMIT = nullcontext()


class _Frames:
    """The frames of a bot's stream, with a time limit for the first frame that the server writes."""

    def __init__(self, context: PlayContext, delivery: Delivery) -> None:
        self.unread = False
        """Whether the bot has not read the last frame."""
        self._context = context
        self._time_limit: AbstractContextManager[None] = delivery.limit_message(context)
        """The time limit of the first frame. Later, heartbeats detect a bot that does not read."""

    async def read(self) -> object:
        return await self._context.read()

    async def write(self, message: pb.PlayResponse, /) -> None:
        self.unread = True
        with self._time_limit:
            await self._context.write(message)
        self._time_limit = _NO_LIMIT
        self.unread = False


class PlayServicer(play_pb2_grpc.PlayServiceServicer):
    """The service that bots connect to."""

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        limiter: Limiter,
        delivery: Delivery,
        first_entries: FirstEntries,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._first_entries = first_entries
        self._limiter = limiter
        self._delivery = delivery

    @open_to(Access.PLAY)
    async def Play(  # type: ignore[override]  # uses the context's read and write
        self, request_iterator: AsyncIterator[pb.PlayRequest], context: PlayContext
    ) -> None:
        hello = await self._hello(context)
        ticket = self._sessions.redeem_ticket(bearer_token(context) or "") if VISITOR.get().ticket else None
        if ticket is not None:
            if ticket.carry is not None:  # A part of this server started the bot, and plays over the stream itself.
                return await ticket.carry(hello, context)
            return await self._serve(
                context, hello, owner=ticket.owner, name=ticket.bot, version=ticket.version, token=None
            )
        caller = caller_with_scope(play_as(hello.bot))
        with self._limiter.holding("sessions", caller.token_id, "bots logged in with your token"):
            return await self._serve(
                context, hello, owner=caller.owner_id, name=hello.bot, version=hello.version, token=caller.token_id
            )

    async def _serve(
        self, context: PlayContext, hello: pb.Hello, *, owner: int, name: str, version: str, token: int | None
    ) -> None:
        seek = check_seek(hello, self._limiter.limits) if hello.HasField("seek") and token is not None else None
        bot = await self._log_in(owner, name, version, token)
        waits_for = await self._store.read(lambda connection: pinned_elsewhere(connection, bot.id))
        welcome = self._sessions.welcome(hello, bot)
        welcome.waits_for.extend(waits_for)
        login = OnlineBot(
            bot=bot.bot_id,
            name=bot.resource,
            token=token,
            declines_challenges=hello.declines_challenges,
            variants=tuple(hello.variants),
            seek=seek,
        )
        if token is not None:
            await self._first_entries.enter(bot, login)
        self._sessions.log_in(bot.id, login)
        wire = self._sessions.wire(bot.id)
        wire.player.opens = hello.opens
        wire.player.stored_ends = hello.stored_ends
        frames = _Frames(context, self._delivery)
        try:
            await wire.serve(frames, welcome, hello.max_games, prepares=hello.prepares)
        except Exception:
            if frames.unread:
                # The status of the call would wait behind the unread frame for ever.
                self._delivery.cut_off(context.peer())
            raise

    async def _hello(self, context: PlayContext) -> pb.Hello:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                first: object = await context.read()
        except TimeoutError:
            raise InvalidArgument.of("hello", "nothing", f"a first frame within {REQUEST_SECONDS:.0f} s") from None
        if not isinstance(first, pb.PlayRequest) or not first.HasField("hello"):
            raise InvalidArgument.of("hello", "no hello", "hello in the first frame of the stream")
        hello = first.hello
        check_hello(hello)
        return hello

    async def _log_in(self, owner: int, name: str, version: str, token: int | None) -> BotVersion:
        if self._store.outage is not None:
            # If the database is unavailable, a bot can still reconnect to its live games, because that writes nothing.
            read_login = partial(log_in_again, owner_id=owner, name=name, version=version)
            with suppress(NotFound):
                return await self._store.read(read_login)
        now = self._store.now_ms()
        # A bot with a ticket is already registered.
        limits = None if token is None else self._limiter.limits
        write_login = partial(log_in, owner_id=owner, name=name, version=version, now_ms=now, limits=limits)
        return await self._store.write(write_login)
