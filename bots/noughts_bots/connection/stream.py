"""A bot's stream to a server: opens it, reads its frames and its end, and reconnects after failures."""

import asyncio
import contextlib
import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from noughts_bots.connection.events import ConnectionLost, Online, SessionEvent, WaitsForTournaments
from noughts_proto.errors import ExplainedError
from noughts_proto.security import Dialling, failed_handshake, why_hung_up
from noughts_proto.transport import TOKEN_KEY, addresses_of
from noughts_proto.unreachable import why_unreachable
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_proto.v1.types_pb2 import Seek

# Seconds of the first wait before a reconnection, which doubles each time, and of the longest one.
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 10.0
_SHORT_SESSION_SECONDS = 0.2
"""A session that ends sooner counts as a failed attempt, so that the next wait is longer."""
_WRITTEN_TOO_LATE = "Internal error from Core"
"""The details of the status with which grpc.aio replaces the server's if the bot writes at the end of the stream."""
# The bot reconnects after these statuses. Any other status is final.
_TEMPORARY = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
}

PlayCall = grpc.aio.StreamStreamCall[pb.PlayRequest, pb.PlayResponse]
_STATUS: WeakKeyDictionary[PlayCall, tuple[grpc.StatusCode, str, Any]] = WeakKeyDictionary()
"""Code, details and trailing metadata of each call that has ended."""


class BotRefused(ExplainedError):
    """The server rejects this bot. `code` is the gRPC status; the text has the reason and advice."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class NeverConnected(ExplainedError):
    """The bot could not connect within `Login.wait` seconds. The text has the server and the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, "Check that the server is running at that address, or wait longer: --connect-timeout 5m."
        )


@dataclass(frozen=True, slots=True)
class Login:
    """The server where a bot plays, and the bot's identity."""

    server: str
    """HOST:PORT, or several with commas: after a failure the next one is tried."""
    token: str
    """An owner's token or a one-time ticket."""
    name: str = ""
    version: str = ""
    dialling: Dialling = field(default_factory=Dialling)
    reconnect: bool = True
    wait: float = math.inf
    """Seconds after which the bot gives up if it has never been connected."""
    seek: Seek | None = None
    """The rated games that the bot seeks."""


class Session(Protocol):
    """One stream, to be served once."""

    welcomed: bool
    """Whether the server has accepted the bot."""

    async def serve(self, channel: grpc.aio.Channel) -> None:
        """Play until the stream ends. Raises AioRpcError unless the server ended it with OK."""


async def keep_connecting(
    login: Login, on_event: Callable[[SessionEvent], None], session_of: Callable[[], Session]
) -> None:
    """Serve sessions one after another until the server ends one with OK.

    After a failure, try the next address at once. If all addresses have failed in a row, or a connection is lost, call
    `on_event` and wait. Raises BotRefused, NeverConnected or SecurityProblem.
    """
    login.dialling.check(login.server, login.token)
    wait = _FIRST_WAIT
    has_connected = False
    give_up = time.monotonic() + login.wait
    addresses = addresses_of(login.server)
    untried = len(addresses)
    for address in itertools.cycle(addresses):
        session = session_of()
        began = time.monotonic()
        try:
            async with login.dialling.async_channel(address) as channel:
                await session.serve(channel)
            return
        except grpc.aio.AioRpcError as error:
            details = error.details() or ""
            problem = failed_handshake(address, details)
            if problem and len(addresses) == 1:
                raise problem from error
            requested_wait = _seconds_to_wait(error)
            if (error.code() not in _TEMPORARY and not requested_wait) or not login.reconnect:
                raise BotRefused(error.code(), error.details() or error.code().name) from error
            # The wait is not reset after short sessions. Otherwise a server that ends each session at once would get
            # ten a second.
            is_long = time.monotonic() - began > _SHORT_SESSION_SECONDS
            if session.welcomed and (is_long or error.details() == _WRITTEN_TOO_LATE):
                wait = _FIRST_WAIT
            wait = max(wait, requested_wait)
            has_connected = has_connected or session.welcomed
            untried -= 1
            if untried and not session.welcomed and not requested_wait:
                continue
            untried = len(addresses)
            reason = str(problem or why_unreachable(details))
            if not session.welcomed and (hint := why_hung_up(details)):
                reason += f"; {hint}"
            seconds_left = math.inf if has_connected else give_up - time.monotonic()
            if seconds_left <= 0:
                raise NeverConnected(f"could not reach {login.server} within {login.wait:g} s: {reason}") from error
            lost_at = "" if has_connected else login.server
            on_event(ConnectionLost(reason, wait, lost_at, last=wait >= _LONGEST_WAIT, give_up=login.wait))
        await asyncio.sleep(min(wait * random.uniform(0.5, 1.0), seconds_left))
        wait = min(wait * 2, _LONGEST_WAIT)


def _seconds_to_wait(error: grpc.aio.AioRpcError) -> float:
    """Return the seconds that a busy server requests this client to wait; 0 if it requests none."""
    if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
        return 0.0
    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    retry = RetryInfo()
    with contextlib.suppress(DecodeError):
        if any(detail.Unpack(retry) for detail in Status.FromString(bytes(packed)).details):
            return retry.retry_delay.ToMilliseconds() / 1000
    return 0.0


def open_call(channel: grpc.aio.Channel, login: Login, *metadata: tuple[str, str]) -> PlayCall:
    """Open the stream of a bot. `metadata` goes with it, after the token."""
    token = (TOKEN_KEY, f"Bearer {login.token}")
    call: PlayCall = play_pb2_grpc.PlayServiceStub(channel).Play(metadata=(token, *metadata))
    call.add_done_callback(_store_status)  # called again if grpc replaces the status
    return call


def _store_status(call: PlayCall) -> None:
    # Run the coroutine now: a task could run after grpc has replaced the status.
    with contextlib.suppress(StopIteration):
        _read_status(call).send(None)


async def _read_status(call: PlayCall) -> None:
    """Store the call's status in `_STATUS`. The coroutine never waits, because the call has a status."""
    details = await call.details()
    if call not in _STATUS or details != _WRITTEN_TOO_LATE:
        _STATUS[call] = await call.code(), details, await call.trailing_metadata()


async def greet(call: PlayCall, hello: pb.PlayRequest, on_event: Callable[[SessionEvent], None]) -> pb.PlayResponse:
    """Send the bot's first frame, and return the server's frame with the welcome. Raises AioRpcError or BotRefused."""
    await call.write(hello)
    first = await next_frame(call)
    if first is None:
        await raise_if_failed(call)
        raise BotRefused(grpc.StatusCode.UNKNOWN, "the server ended the session without a welcome")
    on_event(Online(first.welcome.version))
    if first.welcome.waits_for:
        on_event(WaitsForTournaments(tuple(first.welcome.waits_for)))
    return first


async def next_frame(call: PlayCall) -> pb.PlayResponse | None:
    """Return the referee's next frame; None if it has ended the stream with OK."""
    frame: object = await call.read()
    return frame if isinstance(frame, pb.PlayResponse) else None


@contextlib.contextmanager
def end_of_stream(call: PlayCall) -> Iterator[None]:
    """Suppress errors of reading and writing a stream that has ended: `raise_if_failed` then raises its status."""
    ended = (grpc.aio.AioRpcError, asyncio.InvalidStateError)
    try:
        yield
    except ended:
        if not call.done():
            raise
    except BaseExceptionGroup as group:
        # Not `except*`: in some releases of Python 3.11 it wraps what its body raises in a group.
        if group.split(ended)[1] is not None or not call.done():
            raise


async def raise_if_failed(call: PlayCall) -> None:
    """Raise AioRpcError unless the server has ended the stream with OK."""
    await call.code()  # waits for the end of the call
    code, details, trailing = _STATUS[call]
    if code is not grpc.StatusCode.OK:
        metadata = grpc.aio.Metadata.from_tuple(tuple(trailing or ()))
        raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), metadata, details=details)
