"""The session of a bot that plays over HTTP: its stream to the server, and the requests that wait for questions."""

import asyncio
import contextlib
import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import grpc.aio

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.stream import (
    BotRefused,
    Login,
    NeverConnected,
    PlayCall,
    end_of_stream,
    greet,
    keep_connecting,
    next_frame,
    open_call,
    raise_if_failed,
)
from noughts_proto.security import SecurityProblem
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_server.web.documents import Document
from noughts_server.web.http_play.book import PlayBook
from noughts_server.web.http_play.forms import NewSession, SentMove
from noughts_server.web.pace import Pace
from noughts_server.web.play_contract import LONGEST_WAIT_SECONDS
from noughts_server.web.upstream import AWAY_HINT, Failure, Upstream

OPEN_AGAIN = "Open a session again: POST /api/v1/play. Running games continue."
_REMEMBERED_TRIPS = 8
_LONGEST_ECHO_SECONDS = 5.0
"""An echo is sent after this time, even if no request has come that shows the network time."""
_CONFIRM_SECONDS = 5.0
"""The time after a reconnection in which the server repeats the running games."""
_LEAVE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaySettings:
    """Limits of play over HTTP. Times in seconds."""

    most: int = 500
    """Sessions of the whole website."""
    address_most: int = 250
    """Sessions opened from one address."""
    owner_most: int = 250
    """Sessions of the bots of one owner."""
    idle: float = 30.0
    """A session without a request for this time ends, unless its bot owes an answer."""
    idle_thinking: float = 600.0
    """The same for a bot that owes answers only in games without a clock. With a clock, the clock decides."""
    longest_wait: float = LONGEST_WAIT_SECONDS
    """The longest wait of a request for questions."""
    most_requests: int = 8
    """Concurrent requests of one session. The oldest waiting one is answered early if there are more."""
    rate: float = 100.0
    """Requests a second of one session; further ones wait."""
    burst: float = 200.0
    """Requests of one session that can come at once after a pause."""
    connect: float = 10.0
    """The longest wait for the server when a session is opened."""
    bots_of_connection: int = 100
    """Sessions that share a connection to the server, which has a limit on concurrent calls."""


class PlaySession:
    """One bot, which plays with requests that have the session's id and the token of its owner."""

    def __init__(
        self, wish: NewSession, token: str, upstream: Upstream, settings: PlaySettings, *, group: int, guest: str
    ) -> None:
        """`group` is the number of the connection to the server that the bot uses; `guest` the visitor's address."""
        self.id = secrets.token_urlsafe(24)
        self.wish = wish
        self.book = PlayBook()
        self.welcome = pb.Welcome()
        """The server's answer to the newest login."""
        self.failure: Failure | None = None
        """Why the session is over; None while it is not."""
        self.token_digest = digest_of(token)
        self._token = token
        self._upstream = upstream
        self._settings = settings
        self._guest = guest
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._online: asyncio.Future[None] = self._loop.create_future()
        """Has a result as soon as the server has accepted the bot, or an error if it does not."""
        self._stream: _Stream | None = None
        self._waiting: deque[asyncio.Future[bool]] = deque()
        """The requests that wait for questions, the oldest first: True if a newer request takes the place."""
        self._requests = 0
        self._last_active = self._loop.time()
        self._pace = Pace(settings.rate, settings.burst, self._loop.time)
        self._trips: deque[float] = deque(maxlen=_REMEMBERED_TRIPS)
        """The latest times from an answer without a question to the next request, in seconds."""
        self._answered_at: float | None = None
        """When the last answer without a question was given, if no request has come since."""
        self._is_leaving = False

    # The stream to the server.

    async def run(self) -> None:
        """Play until the server, the client or the website ends the session."""
        dialling = replace(self._upstream.dialling, group=self._group)
        login = Login(
            server=self._upstream.address,
            token=self._token,
            name=self.wish.bot,
            version=self.wish.version,
            dialling=dialling,
            wait=self._settings.connect,
        )
        metadata = self._upstream.metadata_for(self._guest)
        try:
            await keep_connecting(login, _ignore, lambda: _Stream(self, login, metadata))
        except BotRefused as refusal:
            self.end(self._refusal(refusal))
        except NeverConnected as problem:
            self.end(Failure(503, problem.args[0], AWAY_HINT))
        except SecurityProblem as problem:
            self.end(Failure(501, str(problem), problem.advice))

    def _refusal(self, refusal: BotRefused) -> Failure:
        """Return the failure for the server's refusal of the bot."""
        if refusal.code is grpc.StatusCode.ABORTED:
            hint = "Stop one of the two programs that play as this bot."
            return Failure(410, f"This session was replaced: {refusal}", hint)
        if isinstance(refusal.__cause__, grpc.aio.AioRpcError):
            return self._upstream.failure(refusal.__cause__)
        return Failure(502, str(refusal))

    async def begin(self) -> None:
        """Wait until the server has accepted the bot. Raises Failure."""
        try:
            async with asyncio.timeout(self._settings.connect):
                await asyncio.shield(self._online)
        except TimeoutError:
            raise Failure(503, "The server did not accept the bot in time.", "Try again in a moment.") from None

    def attach(self, stream: "_Stream", welcome: pb.Welcome) -> None:
        """Use this stream from now on: the server has accepted it."""
        is_first = self._stream is None
        self._stream = stream
        self.welcome = welcome
        if is_first:
            if not self._online.done():  # the session can have ended meanwhile
                self._online.set_result(None)
        else:
            self.book.begin_stream()
            self._loop.call_later(_CONFIRM_SECONDS, self._drop_lost_games, stream)

    def _drop_lost_games(self, stream: "_Stream") -> None:
        if self._stream is stream and self.failure is None:
            self.book.drop_games_except(self.book.games_of_stream())
            self._wake()

    def take(self, frame: pb.PlayResponse) -> None:
        """Read a frame of the server."""
        owed_answers = self.book.owes_answers
        self.book.take(frame, self._loop.time())
        if owed_answers and not self.book.owes_answers:
            self._last_active = self._loop.time()  # the question's game is over, which the client does not know yet
        self._wake()

    def echo_delay(self) -> float:
        """Return the seconds after which the echo of a heartbeat leaves: the network time between client and website.

        The server measures it together with the network time to the website, and does not charge it to the clocks.
        """
        return min(self._trips) if self._trips else _LONGEST_ECHO_SECONDS

    # Requests.

    def belongs_to(self, token: str) -> bool:
        """Return whether the session was opened with this token."""
        return hmac.compare_digest(self.token_digest, digest_of(token))

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Count a request inside the block, after a wait if there are too many. Raises Failure."""
        self._measure_trip()
        if self._requests >= 2 * self._settings.most_requests:
            message = f"This session has {self._requests} requests that are not answered yet."
            raise Failure(429, message, "Wait for their answers.")
        self._requests += 1
        try:
            if (seconds := self._pace.take()) > 0:
                await asyncio.sleep(seconds)
            self.check_running()
            yield
        finally:
            self._requests -= 1
            self._last_active = self._loop.time()

    def check_running(self) -> None:
        """Raise the failure with which the session has ended, if it has."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)  # otherwise its traceback would grow with each request

    async def wait(self, after: int | None, seconds: float) -> None:
        """Return when there is something new (see `PlayBook.has_news`), after this time, or at the session's end."""
        deadline = self._loop.time() + min(seconds, self._settings.longest_wait)
        is_superseded = False
        while not (is_superseded or self.failure or self.book.has_news(after)):
            change: asyncio.Future[bool] = self._loop.create_future()
            self._waiting.append(change)
            if len(self._waiting) > self._settings.most_requests:
                oldest = self._waiting.popleft()
                if not oldest.done():
                    oldest.set_result(True)
            try:
                async with asyncio.timeout_at(deadline):
                    is_superseded = await change
            except TimeoutError:
                return
            finally:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(change)

    def report(self, after: int | None, base: str) -> Document:
        """Return the questions and events for the client; `base` is the website's address for links. Raises Failure."""
        self.check_running()
        report = self.book.report(after, self._loop.time(), datetime.now(UTC), base)
        report["connected"] = self._stream is not None and self._stream.is_running
        self._answered_at = None if report["turns"] else self._loop.time()
        return report

    def answer(self, moves: Sequence[SentMove]) -> list[Document]:
        """Send answers to the server, and return what became of each. Raises Failure."""
        rows = self.book.answer(moves)
        if self._stream is not None:
            self._stream.wakeup.set()
        return rows

    def _measure_trip(self) -> None:
        """Measure the network time: the client sends its next request as soon as it has an answer without a question.

        The time between them is the network time to the client and back, as for the echo of a heartbeat. The shortest
        one counts.
        """
        if self._answered_at is not None and self._requests == 0:
            self._trips.append(self._loop.time() - self._answered_at)
            self._answered_at = None
            if self._stream is not None:
                self._stream.send_first_echo()

    def note_opened(self) -> None:
        """Record that the client gets the session's id now."""
        self._answered_at = self._last_active = self._loop.time()

    # The end.

    @property
    def last_active(self) -> float:
        """The time of the latest request, in seconds of the loop's clock."""
        return self._last_active

    @property
    def longest_pause(self) -> float:
        """The seconds without a request after which the client has been away for too long."""
        return self._settings.idle_thinking if self.book.owes_answers else self._settings.idle

    @property
    def is_idle(self) -> bool:
        """Return whether the client has been away for too long."""
        if self._requests or self.book.owes_timed_answers:
            return False
        return self._loop.time() - self._last_active > self.longest_pause

    async def leave(self, task: "asyncio.Task[None]") -> None:
        """Close the stream, so that the server reports that the bot has left, and end the session's task."""
        self._is_leaving = True
        if self._stream is not None:
            self._stream.wakeup.set()
        await asyncio.wait([task], timeout=_LEAVE_SECONDS)
        task.cancel()

    @property
    def is_leaving(self) -> bool:
        """Whether the client has left."""
        return self._is_leaving

    def end(self, failure: Failure) -> None:
        """End the session: later requests, and those that wait, get this failure. Only the first one counts."""
        if self.failure is None:
            self.failure = failure
        if not self._online.done():
            self._online.set_exception(self.failure)
            self._online.exception()  # nobody need be waiting for it
        self._wake()

    def _wake(self) -> None:
        """Let all waiting requests look again."""
        for change in self._waiting:
            if not change.done():
                change.set_result(False)


class _Stream:
    """One stream of the bot to the server; see `keep_connecting`."""

    def __init__(self, session: PlaySession, login: Login, metadata: tuple[tuple[str, str], ...]) -> None:
        self.welcomed = False
        self.is_running = True
        """Whether the stream has not ended."""
        self.wakeup = asyncio.Event()
        """Set if there is something to send."""
        self._session = session
        self._login = login
        self._metadata = metadata
        self._done_through = 0
        """The number of the newest frame."""
        self._echo = 0
        """The heartbeat to echo with the next message; 0: none."""
        self._held_echo = 0
        """The heartbeat whose echo is delayed; 0: none."""
        self._timer: asyncio.TimerHandle | None = None

    async def serve(self, channel: grpc.aio.Channel) -> None:
        """Play until the stream ends. Raises AioRpcError unless the server ended it with OK."""
        call = open_call(channel, self._login, *self._metadata)
        session = self._session
        try:
            with end_of_stream(call):
                frame: pb.PlayResponse | None = await greet(call, self._hello(), _ignore)
                self.welcomed = True
                assert frame is not None
                session.attach(self, frame.welcome)
                async with asyncio.TaskGroup() as group:
                    sender = group.create_task(self._send(call))
                    while frame is not None:
                        self._take(frame)
                        frame = await next_frame(call)
                    sender.cancel()
        finally:
            self.is_running = False
            if self._timer is not None:
                self._timer.cancel()
        await raise_if_failed(call)

    def _hello(self) -> pb.PlayRequest:
        wish = self._session.wish
        hello = pb.Hello(
            protocol=PROTOCOL,
            bot=wish.bot,
            version=wish.version,
            max_games=wish.capacity,
            agent="HTTP",
            declines_challenges=not wish.accepts_challenges,
            variants=wish.variants,
            stored_ends=True,
        )
        if wish.seek is not None:
            time = wish.seek.time
            hello.seek.variant = wish.seek.variant
            hello.seek.time.move_us, hello.seek.time.bank_us = time.move_us, time.bank_us
            hello.seek.time.increment_us = time.increment_us
            hello.seek.rating_range = wish.seek.rating_range
        return pb.PlayRequest(hello=hello)

    def _take(self, frame: pb.PlayResponse) -> None:
        if frame.frame:
            self._done_through = frame.frame
            self.wakeup.set()
        if frame.heartbeat.id:
            self.send_first_echo()  # otherwise the newer heartbeat would take its place, and a quiet bot be offline
            self._held_echo = frame.heartbeat.id
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(self._session.echo_delay(), self.send_first_echo)
        self._session.take(frame)

    def send_first_echo(self) -> None:
        """Send the delayed echo now, if there is one."""
        if self._held_echo:
            self._echo = self._held_echo
            self._held_echo = 0
            self.wakeup.set()

    async def _send(self, call: PlayCall) -> None:
        """Send acknowledgements, echoes and answers as they arise, and close this end when the client has left."""
        while True:
            await self.wakeup.wait()
            self.wakeup.clear()
            request = pb.PlayRequest(done_through=self._done_through)
            if self._echo:
                request.heartbeat.id = self._echo
                self._echo = 0
            moves = self._session.book.take_answers()
            if moves is not None:
                request.moves.CopyFrom(moves)
            await call.write(request)
            if self._session.is_leaving:
                await call.done_writing()
                return


def _ignore(event: SessionEvent) -> None:
    """Do nothing: the client learns of the connection only if it is lost for good."""


def digest_of(token: str) -> bytes:
    """Return the digest of a token, with which a later token is compared."""
    return hashlib.sha256(token.encode()).digest()
