"""Frames on a child's pipes in any framing, for the event loop, without blocking.

It uses no stream readers or transports. With one game, an exchange is two system calls and one wakeup of the loop.
"""

import asyncio
import os
from collections.abc import Callable
from functools import partial

from noughts_proto.pipes import LARGEST_FROM_BOT, LENGTH_BYTES
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.frames import ChildFrames
from noughts_referee.children.framing import Framing, InvalidFrame, LengthPrefixed
from noughts_referee.children.stamped_pipes import last_write
from noughts_referee.monotonic import Now, microseconds

KEPT_BYTES = 64 * 1024
"""Bytes of a child's stderr that are kept."""

_READ_BYTES = 64 * 1024
_AT_ONCE = 128
"""Frames that are read without a pause for other players."""
_PAUSE_SECONDS = 0.02
"""Pause between two reads of stderr, so that a child that prints without end does not block the event loop."""


class PipeFrames(ChildFrames):
    """The two pipes that carry a child's frames. The file descriptors are non-blocking, and `close` closes them."""

    def __init__(self, reading: int, writing: int, now: Now = microseconds, framing: Framing | None = None) -> None:
        """Read frames from `reading` and write them to `writing`, length-prefixed if `framing` is None."""
        super().__init__(now)
        self._framing = framing or LengthPrefixed()
        self._loop = asyncio.get_running_loop()
        self._reading = reading
        self._writing = writing
        self._buffer = bytearray()
        self._waiting: asyncio.Future[None] | None = None
        self._paused = False
        self._loop.add_reader(reading, self._readable)

    async def read(self) -> pb.PlayRequest | None:
        """Return the child's next frame; None after the last one, with the cause in `reason`."""
        await self._wait_for_allowance()
        try:
            while (message := self._next()) is None:
                if self.reason:
                    return None
                self._waiting = self._loop.create_future()
                await self._waiting
            self.last_read_us = self._now()
            request = self._framing.read(message)
        except InvalidFrame as error:
            self._refuse(str(error), error.offending)
            return None
        if (self._unasked + 1) % _AT_ONCE == 0:
            # A flood of frames must not block the event loop.
            await asyncio.sleep(0)
        return self._count_read(request, len(message))

    @property
    def has_arrived(self) -> bool:
        """Whether `read` would return at once."""
        return bool(self.reason) or self._framing.has_message(self._buffer)

    @property
    def last_write(self) -> Callable[[], int]:
        return partial(last_write, self._reading, self._now)

    async def write(self, message: pb.PlayResponse) -> None:
        """Send a frame. If the child has closed its end, do nothing: `read` reports that."""
        data = self._framing.encode(message)
        self._count_written()
        sent = self._send(data)
        if sent < len(data):
            await self._send_rest(memoryview(data)[sent:])

    def close_writing(self) -> None:
        """Close the child's standard input, so that it ends. Later frames are dropped."""
        self._end("was stopped")
        self._buffer.clear()
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    def close(self) -> None:
        self.close_writing()
        if self._reading >= 0:
            self._loop.remove_reader(self._reading)
            os.close(self._reading)
            self._reading = -1

    # Frames from the child.

    def _next(self) -> bytes | None:
        message = self._framing.take(self._buffer)
        if message is not None and self._paused:
            self._paused = False
            self._loop.add_reader(self._reading, self._readable)
        return message

    def _readable(self) -> None:
        try:
            data = os.read(self._reading, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(f"cannot be read any more ({error.strerror})")
            return
        if not data:
            self._loop.remove_reader(self._reading)
            self._end(f"closed its standard output{' within a frame' if self._buffer else ''}")
            return
        if self.reason:
            return  # discarded, so that a writing child can end
        buffer = self._buffer
        buffer += data
        if len(buffer) > LARGEST_FROM_BOT + LENGTH_BYTES:
            self._paused = True
            self._loop.remove_reader(self._reading)
        self._wake()

    def _refuse(self, reason: str, message: bytes = b"") -> None:
        self._buffer.clear()
        super()._refuse(reason, message)

    def _end(self, reason: str) -> None:
        super()._end(reason)
        self._wake()

    def _wake(self) -> None:
        waiting = self._waiting
        if waiting is not None:
            self._waiting = None
            if not waiting.done():
                waiting.set_result(None)

    # Frames to the child.

    def _send(self, data: bytes | memoryview) -> int:
        """Write as much as the pipe takes now. Return the number of bytes; all of them if the child is gone."""
        try:
            return os.write(self._writing, data)
        except BlockingIOError:
            return 0
        except OSError:
            # Read the frames that the child sent before it ended, because they still count.
            buffer = self._buffer
            while not self.reason and len(buffer) <= LARGEST_FROM_BOT and _read_into(buffer, self._reading):
                pass
            self._end("closed its standard input")
            return len(data)

    async def _send_rest(self, data: memoryview) -> None:
        while data and self._writing >= 0:
            writable = self._loop.create_future()
            self._loop.add_writer(self._writing, _settle, writable)
            try:
                await writable
            finally:
                if self._writing >= 0:
                    self._loop.remove_writer(self._writing)
            data = data[self._send(data) :]


class Tail:
    """The end of what a child wrote to its pipes. Reading never stops, because a full pipe would block the child."""

    def __init__(self, *pipes: int, on_output: Callable[[bytes], None] | None = None) -> None:
        """`on_output` is called with all output as it arrives."""
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._pipes = pipes
        self._kept = bytearray()
        for pipe in pipes:
            self._listen(pipe)

    @property
    def text(self) -> str:
        """The last 64 KB. Invalid UTF-8 is replaced."""
        return bytes(self._kept[-KEPT_BYTES:]).decode(errors="replace")

    def add(self, data: bytes) -> None:
        """Append other output of the child."""
        self._kept += data
        self._cut()
        if self._on_output is not None:
            self._on_output(data)

    def close(self) -> None:
        """Read the rest and close the pipes."""
        for pipe in self._pipes:
            self._loop.remove_reader(pipe)
            # Two reads take all that a full pipe holds. There can be more without end, because another process can have
            # inherited the other end and continue to write.
            for _ in range(2):
                if not self._read(pipe):
                    break
            os.close(pipe)
        self._pipes = ()

    def _listen(self, pipe: int) -> None:
        if pipe in self._pipes:
            self._loop.add_reader(pipe, self._readable, pipe)

    def _readable(self, pipe: int) -> None:
        self._loop.remove_reader(pipe)
        if self._read(pipe) != 0:
            self._loop.call_later(_PAUSE_SECONDS, self._listen, pipe)
        self._cut()

    def _cut(self) -> None:
        if len(self._kept) > 2 * KEPT_BYTES:
            del self._kept[:-KEPT_BYTES]

    def _read(self, pipe: int) -> int | None:
        """Read once, and return as `_read_into` does."""
        before = len(self._kept)
        read = _read_into(self._kept, pipe)
        if read and self._on_output is not None:
            self._on_output(bytes(self._kept[before:]))
        return read


def _read_into(buffer: bytearray, reading: int) -> int | None:
    """Read once.

    Return the number of bytes: 0 at the end of the pipe or after an error. Return None if the pipe is empty now.
    """
    try:
        data = os.read(reading, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return 0
    buffer += data
    return len(data)


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
