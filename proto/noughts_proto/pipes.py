"""Frames on a pipe between the referee and a player that it has started.

The messages are those of `PlayService.Play`. The child writes PlayRequest messages, the `Hello` first, and reads
PlayResponse messages, the `Welcome` first. Each message follows its length in four bytes, little endian.
"""

from typing import BinaryIO

LENGTH_BYTES = 4
LARGEST_TO_BOT = 8 * 1024 * 1024
"""Bytes of a message to a player."""
LARGEST_FROM_BOT = 2 * 1024 * 1024
"""Bytes of a message from a player."""


class FrameTooLarge(Exception):
    """The other end announces a message that is larger than the limit."""

    def __init__(self, got: int, allowed: int) -> None:
        super().__init__(f"message: got {got} bytes, expected at most {allowed}")


def packed(message: bytes) -> bytes:
    """Return the message with its length in front, as it is written to the pipe."""
    return len(message).to_bytes(LENGTH_BYTES, "little") + message


def message_size(length: bytes, allowed: int) -> int:
    """Return the size of the message that follows its length. Raises FrameTooLarge if it is above `allowed`."""
    size = int.from_bytes(length, "little")
    if size > allowed:
        raise FrameTooLarge(size, allowed)
    return size


def read_message(pipe: BinaryIO, allowed: int) -> bytes | None:
    """Return the next message of a blocking, buffered pipe; None at its end.

    Raises FrameTooLarge, and EOFError if the pipe ends within a message.
    """
    length = pipe.read(LENGTH_BYTES)
    if not length:
        return None
    if len(length) < LENGTH_BYTES:
        raise EOFError("the pipe ended within a message: got 0 of 0 bytes")
    size = message_size(length, allowed)
    message = pipe.read(size) if size else b""
    if len(message) != size:
        raise EOFError(f"the pipe ended within a message: got {len(message)} of {size} bytes")
    return message
