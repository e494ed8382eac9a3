"""All sessions of bots that play over HTTP: opens, finds and ends them within their limits."""

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from noughts_proto.v1 import tokens_pb2
from noughts_server.web.http_play.forms import NewSession
from noughts_server.web.http_play.session import OPEN_AGAIN, PlaySession, PlaySettings, digest_of
from noughts_server.web.upstream import Failure, Upstream

logger = logging.getLogger("noughts.web")

_MOST_ENDED = 2_000
"""Sessions whose end is remembered, so that late requests get its reason."""


class _Open:
    """An open session, and what it counts for."""

    def __init__(self, session: PlaySession, owner: str, address: str, group: int) -> None:
        self.session = session
        self.owner = owner
        self.address = address
        self.group = group
        self.task: asyncio.Task[None] | None = None
        self.is_surplus = False
        """Whether it ends as soon as a session of another owner, which is being opened, has begun."""


class HttpPlay:
    """The sessions of one website."""

    def __init__(self, upstream: Upstream, tasks: asyncio.TaskGroup, settings: PlaySettings | None = None) -> None:
        """The tasks of the sessions belong to `tasks`."""
        self.settings = settings or PlaySettings()
        self._upstream = upstream
        self._tasks = tasks
        self._open: dict[str, _Open] = {}
        """Open sessions by id."""
        self._ended: dict[str, tuple[bytes, Failure]] = {}
        """By id of a session that is over: the digest of its token, and why it is over. The oldest first."""
        self._groups: Counter[int] = Counter()
        """Sessions by the connection to the server that they share."""
        self._sweep_task: asyncio.Task[None] | None = None
        self._is_closed = False

    async def open(self, wish: NewSession, token: str, address: str) -> PlaySession:
        """Open a session for a bot. An older session of the same bot and token ends. Raises Failure."""
        if self._is_closed:
            raise _stopping()
        request = tokens_pb2.GetTokenRequest(name="tokens/self")
        owner = str((await self._upstream.ask(self._upstream.tokens.GetToken, request, token))["token"]["owner"])
        await self._end_older(wish, token)
        if self._is_closed:  # since the check above; nothing would end a session that begins now
            raise _stopping()
        # There is no await until the new session counts, because a client can send many requests at once.
        surplus = self._find_surplus(owner, address)
        if surplus is None:
            return await self._begin(wish, token, owner, address)
        surplus.is_surplus = True
        try:
            session = await self._begin(wish, token, owner, address)
        except BaseException:
            surplus.is_surplus = False
            raise
        message = f"The session has made room for a bot of another owner: {surplus.owner} had the most sessions."
        self._tasks.create_task(self._end(surplus, Failure(404, message, OPEN_AGAIN)), name="surplus session")
        return session

    def _find_surplus(self, owner: str, address: str) -> _Open | None:
        """Return a session that must end to make room for a new one; None if there is room. Raises Failure.

        So nobody can keep others away by many idle sessions.
        """
        settings = self.settings
        counted = [each for each in self._open.values() if each.session.failure is None and not each.is_surplus]
        here = [each for each in counted if each.address == address]
        own = sum(each.owner == owner for each in counted)
        if own >= settings.owner_most:
            raise _full(own, f"bots of {owner} already play over HTTP")
        for sessions, most, words in (
            (here, settings.address_most, f"bots already play from {address}"),
            (counted, settings.most, "bots already play over HTTP here"),
        ):
            if len(sessions) >= most:
                surplus = _most_dispensable(sessions, owner)
                if surplus is None:
                    raise _full(len(sessions), words)
                return surplus
        return None

    async def _begin(self, wish: NewSession, token: str, owner: str, address: str) -> PlaySession:
        """Log the bot in."""
        most_bots = self.settings.bots_of_connection
        group = next(number for number in count(1) if self._groups[number] < most_bots)
        session = PlaySession(wish, token, self._upstream, self.settings, group=group, guest=address)
        opened = self._open[session.id] = _Open(session, owner, address, group)
        self._groups[group] += 1
        opened.task = self._tasks.create_task(self._run(opened), name=f"HTTP session of {wish.bot}")
        if self._sweep_task is None:
            self._sweep_task = self._tasks.create_task(self._sweep(), name="sweep HTTP sessions")
        try:
            await session.begin()
        except BaseException:
            opened.task.cancel()
            raise
        session.note_opened()
        return session

    async def _run(self, opened: _Open) -> None:
        session = opened.session
        try:
            await session.run()
        except Exception:  # a defect must not end the website
            logger.exception("the session of %s over HTTP failed", session.wish.bot)
            session.end(Failure(500, "An internal error has ended this session.", OPEN_AGAIN))
        finally:
            session.end(_stopping())
            assert session.failure is not None
            del self._open[session.id]
            self._groups[opened.group] -= 1
            self._ended[session.id] = session.token_digest, session.failure
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]

    async def _end_older(self, wish: NewSession, token: str) -> None:
        """End the sessions of the same bot here, so that its games continue in the new one."""
        failure = Failure(
            410,
            f"A newer session of {wish.bot} has replaced this one.",
            "Stop one of the two programs that play as this bot.",
        )
        for opened in list(self._open.values()):
            older = opened.session
            if older.belongs_to(token) and (older.wish.bot, older.wish.version) == (wish.bot, wish.version):
                await self._end(opened, failure)

    async def _end(self, opened: _Open, failure: Failure) -> None:
        assert opened.task is not None
        opened.session.end(failure)
        await opened.session.leave(opened.task)

    @asynccontextmanager
    async def request(self, session_id: str, token: str) -> AsyncIterator[PlaySession]:
        """Yield the session with this id for a request of the token's owner. Raises Failure."""
        session = self._find(session_id, token)
        async with session.request():
            yield session

    def _find(self, session_id: str, token: str) -> PlaySession:
        opened = self._open.get(session_id)
        if opened is not None and opened.session.belongs_to(token):
            return opened.session
        digest, failure = self._ended.get(session_id, (b"", None))
        if failure is not None and hmac.compare_digest(digest, digest_of(token)):
            raise failure.with_traceback(None)
        raise Failure(404, "There is no such session of this token, or the website was restarted.", OPEN_AGAIN)

    async def leave(self, session_id: str, token: str) -> None:
        """End the session of a bot that leaves. Idempotent. Raises Failure."""
        try:
            session = self._find(session_id, token)
        except Failure as failure:
            if failure.status == 410:
                return
            raise
        await self._end(self._open[session.id], Failure(410, "The bot has left.", OPEN_AGAIN))

    async def _sweep(self) -> None:
        """End idle sessions, until cancelled."""
        while True:
            await asyncio.sleep(min(1.0, self.settings.idle / 4))
            for opened in list(self._open.values()):
                if opened.session.failure is None and opened.session.is_idle:
                    seconds = opened.session.longest_pause
                    message = f"The session has ended, because no request came for {seconds:g} s."
                    self._tasks.create_task(self._end(opened, Failure(404, message, OPEN_AGAIN)), name="idle session")

    async def close(self) -> None:
        """End all sessions, because the website stops."""
        self._is_closed = True
        if self._sweep_task is not None:
            self._sweep_task.cancel()
        opened = list(self._open.values())
        for each in opened:
            each.session.end(_stopping())
            if each.task is not None:
                each.task.cancel()
        await asyncio.gather(*(each.task for each in opened if each.task is not None), return_exceptions=True)


def _most_dispensable(sessions: list[_Open], owner: str) -> _Open | None:
    """Return the session without games that has been quiet for longest, of the owner with the most sessions.

    None if no session without games belongs to an owner who has more than `owner` would have with one more.
    """
    sizes = Counter(each.owner for each in sessions)
    most = sizes[owner] + 1
    dispensable = [each for each in sessions if sizes[each.owner] > most and not each.session.book.is_playing]
    return min(dispensable, key=lambda each: (-sizes[each.owner], each.session.last_active), default=None)


def _full(number: int, words: str) -> Failure:
    return Failure(429, f"{number:,} {words}, the most.", "End a session that you no longer need, or wait.")


def _stopping() -> Failure:
    return Failure(503, "This website is stopping.", "Try again in a moment.")
