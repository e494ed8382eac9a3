"""The frames of a child that connects by itself: it opens a stream of PlayService.Play with its own ticket."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from noughts_proto.transport import SERVER_VARIABLE, TICKET_VARIABLE, TOKEN_VARIABLE
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.frames import ChildFrames
from noughts_referee.children.launcher import Started
from noughts_referee.frame_connection import Frames
from noughts_referee.monotonic import Now, microseconds
from noughts_referee.stream_closed import StreamClosed


@dataclass(frozen=True, slots=True)
class DialInvitation:
    """The address and the secret with which a child can connect once."""

    address: str
    """HOST:PORT of the referee."""
    ticket: str

    @property
    def environment(self) -> dict[str, str]:
        # A bot that does not know tickets can use this one as a token.
        return {SERVER_VARIABLE: self.address, TICKET_VARIABLE: self.ticket, TOKEN_VARIABLE: self.ticket}

    @property
    def port(self) -> int:
        """The TCP port that the child must connect to."""
        return int(self.address.rpartition(":")[2])


Carry = Callable[[pb.Hello, Frames], Awaitable[None]]
"""Plays over the stream that a ticket opened, after its Hello. Returns when the stream must end with OK."""
Invite = Callable[[Carry], DialInvitation]
"""Creates the ticket of one process."""


class DialledFrames(ChildFrames):
    """The stream of a connected child. Its standard input carries nothing, and stays open until the stream ends."""

    first = f"connect ({SERVER_VARIABLE} and {TICKET_VARIABLE} in its environment say where, and let it in)"

    def __init__(self, now: Now = microseconds) -> None:
        super().__init__(now)
        self._started: Started | None = None
        self._stdin = -1
        self._hello: pb.Hello | None = None
        self._stream: Frames | None = None
        self._arrived = asyncio.Event()
        """Set when the child has connected, or can no longer connect."""
        self._over = asyncio.Event()
        """Set when nothing more can be read or written."""

    def belong_to(self, started: Started) -> None:
        """Set the process that must open the stream. If it ends, `read` stops waiting."""
        self._started = started
        self._stdin = started.stdin

    async def carry(self, hello: pb.Hello, stream: Frames) -> None:
        """Carry the stream that the child has opened (see `Carry`). Raises StreamClosed if it comes too late."""
        if self.reason:
            message = "ticket: got one from a process that must end, expected one from a running process; exit now"
            raise StreamClosed(grpc.StatusCode.UNAUTHENTICATED, "TICKET_EXPIRED", message)
        self._hello, self._stream = hello, stream
        self._arrived.set()
        try:
            await self._over.wait()
        finally:
            self._end("left its stream (PlayService.Play)")

    async def read(self) -> pb.PlayRequest | None:
        """Return the child's next frame, first its Hello; None after the last one, with the cause in `reason`."""
        if self._stream is None:
            async with asyncio.TaskGroup() as tasks:
                ending = tasks.create_task(self._until_ended())
                await self._arrived.wait()
                ending.cancel()
        if self.reason or self._stream is None:
            return None
        if self._hello is not None:
            hello, self._hello = self._hello, None
            return pb.PlayRequest(hello=hello)
        await self._wait_for_allowance()
        try:
            request = await self._stream.read()
        except DecodeError:
            self._refuse("sent a message that is not a PlayRequest")
            return None
        except grpc.aio.BaseError:
            request = None
        if not isinstance(request, pb.PlayRequest):
            self._end("left its stream (PlayService.Play)")
            return None
        self.last_read_us = self._now()
        return self._count_read(request, request.ByteSize())

    @property
    def has_arrived(self) -> bool:
        """Whether `read` would return at once with the Hello or None."""
        return self._arrived.is_set()

    async def write(self, message: pb.PlayResponse) -> None:
        """Send a frame. If the child has left its stream, do nothing: `read` reports that."""
        self._count_written()
        assert self._stream is not None
        try:
            await self._stream.write(message)
        except grpc.aio.BaseError:
            self._end("left its stream (PlayService.Play)")

    def close_writing(self) -> None:
        """End the stream with OK and close standard input, so that the child ends."""
        self._end("was stopped")
        self._over.set()
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    close = close_writing

    def _end(self, reason: str) -> None:
        super()._end(reason)
        self._arrived.set()

    async def _until_ended(self) -> None:
        assert self._started is not None
        await self._started.wait()
        self._arrived.set()
