"""PlayService: lets bots in and hands their streams to their wires."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

import grpc.aio

from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_server.errors import InvalidArgument, NotFound
from noughts_server.runtime.sessions import OnlineBot, Sessions, Ticket, check_hello
from noughts_server.services.access import authenticated, bearer_token, require
from noughts_server.store.bots import LoggedIn, log_in, log_in_again
from noughts_server.store.database import Connection, Store
from noughts_server.store.entries import pinned_elsewhere
from noughts_server.store.scopes import play_as
from noughts_server.store.tokens import touch_token

_HELLO_SECONDS = 10.0


PlayContext = grpc.aio.ServicerContext[pb.PlayRequest, pb.PlayResponse]


class PlayServicer(play_pb2_grpc.PlayServiceServicer):
    """Bots dial in here."""

    def __init__(self, store: Store, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    async def Play(  # type: ignore[override]  # written with the context's read and write
        self, request_iterator: AsyncIterator[pb.PlayRequest], context: PlayContext
    ) -> None:
        hello = await self._hello(context)
        secret = bearer_token(context)
        ticket = self._sessions.redeem_ticket(secret)
        if ticket is not None and ticket.carry is not None:
            return await ticket.carry(hello, context)
        bot, token = await self._log_in(hello, secret, ticket)
        waits_for = await self._store.read(lambda connection: pinned_elsewhere(connection, bot.bot_version_id))
        welcome = self._sessions.welcome(hello, bot.bot, bot.version)
        welcome.waits_for.extend(waits_for)
        login = OnlineBot(bot.bot_id, bot.version, token, hello.declines_challenges, tuple(hello.variants))
        self._sessions.logged_in(bot.bot_version_id, login)
        wire = self._sessions.wire(bot.bot_version_id)
        wire.player.opens = hello.opens
        await wire.serve(context, welcome, hello.max_games, prepares=hello.prepares)
        return None

    async def _hello(self, context: PlayContext) -> pb.Hello:
        try:
            async with asyncio.timeout(_HELLO_SECONDS):
                first: object = await context.read()
        except TimeoutError:
            raise InvalidArgument.of("hello", "nothing", f"a first frame within {_HELLO_SECONDS:.0f} s") from None
        if not isinstance(first, pb.PlayRequest) or not first.HasField("hello"):
            raise InvalidArgument.of("hello", "no hello", "hello in the first frame of the stream")
        hello = first.hello
        check_hello(hello)
        return hello

    async def _log_in(self, hello: pb.Hello, secret: str, ticket: Ticket | None) -> tuple[LoggedIn, int | None]:
        """The bot behind a ticket, or behind an owner's token and the name in the hello; and the token, if any."""
        token: int | None = None
        if ticket is not None:
            owner, name, version = ticket.owner, ticket.bot, ticket.version
        else:
            who = await authenticated(secret, self._store)
            require(who, play_as(hello.bot))
            token, owner, name, version = who.token_id, who.owner_id, hello.bot, hello.version
        if self._store.trouble is not None:
            # A bot that comes back to its running games can: that writes nothing.
            again = partial(log_in_again, owner_id=owner, name=name, version=version)
            with suppress(NotFound):
                return await self._store.read(again), token
        now = self._store.now_ms()

        def enter(connection: Connection) -> LoggedIn:
            if token is not None:
                touch_token(connection, token, now_ms=now)
            return log_in(connection, owner_id=owner, name=name, version=version, now_ms=now)

        return await self._store.write(enter), token
