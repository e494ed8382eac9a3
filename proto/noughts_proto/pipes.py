"""Frames on a pipe: how a player that the referee has started talks with it.

The same messages as on `PlayService.Play`: the child writes PlayRequest, its `Hello` first, and reads PlayResponse,
the `Welcome` first. Each message follows its length in bytes, four bytes, little endian.
"""

from typing import BinaryIO

LENGTH_BYTES = 4
LARGEST_DOWN = 8 * 1024 * 1024
"""Bytes of a message to a player."""
LARGEST_UP = 2 * 1024 * 1024
"""Bytes of a message from a player."""


class FrameTooLarge(Exception):
    """The other end announces a message that is larger than it may be."""

    def __init__(self, got: int, allowed: int) -> None:
        super().__init__(f"message: got {got} bytes, expected at most {allowed}")


def packed(message: bytes) -> bytes:
    """The message as it goes on the pipe."""
    return len(message).to_bytes(LENGTH_BYTES, "little") + message


def announced(length: bytes, allowed: int) -> int:
    """The length of the message that follows these bytes. Raises FrameTooLarge."""
    size = int.from_bytes(length, "little")
    if size > allowed:
        raise FrameTooLarge(size, allowed)
    return size


def read_message(pipe: BinaryIO, allowed: int) -> bytes | None:
    """The next message of a blocking, buffered pipe; None at its end. Raises FrameTooLarge, and EOFError within one."""
    length = pipe.read(LENGTH_BYTES)
    if not length:
        return None
    size = announced(length, allowed) if len(length) == LENGTH_BYTES else -1
    message = pipe.read(size) if size > 0 else b""
    if len(message) != size:
        raise EOFError(f"the pipe ended within a message: got {len(message)} of {max(size, 0)} bytes")
    return message
