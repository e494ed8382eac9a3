"""Messages of the bus that are larger than NATS accepts: the sender splits them, and the receiver joins the parts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

HEADER = "Noughts-Part"
MOST_BYTES = 64 << 20
"""Limit of the bytes of a message, and of all incomplete messages of one subject."""
_MOST_SENDERS = 1_000
"""Limit of the incomplete messages of one subject."""


def parts_of(data: bytes, sender: str, serial: int, part_bytes: int) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Yield the parts of a large message, each with its headers.

    `serial` is different for each message of this sender.
    """
    count = ceil(len(data) / part_bytes)
    for index in range(count):
        part = data[index * part_bytes : (index + 1) * part_bytes]
        yield part, {HEADER: f"{sender} {serial} {index} {count}"}


@dataclass
class _PartialMessage:
    """The parts of one message that have arrived."""

    serial: str
    parts: list[bytes] = field(default_factory=list)


class MessageParts:
    """Joins the parts of one subject. NATS keeps the order of each sender's messages, but can lose some."""

    def __init__(self) -> None:
        self._messages: dict[str, _PartialMessage] = {}
        self._bytes = 0

    def join(self, header: str, part: bytes) -> bytes | None:
        """Return the message that this part completes, or None. Raises ValueError for a part that does not fit."""
        sender, serial, index, count = header.split(" ")
        if index == "0":
            self._discard(sender)
            if len(self._messages) >= _MOST_SENDERS:
                self._discard(next(iter(self._messages)))
            self._messages[sender] = _PartialMessage(serial)
        message = self._messages.get(sender)
        if message is None or message.serial != serial or len(message.parts) != int(index):
            self._discard(sender)
            raise ValueError(f"part {index} of {count} does not follow the part before it")
        if not part:
            self._discard(sender)
            raise ValueError(f"part {index} of {count} is empty")
        message.parts.append(part)
        self._bytes += len(part)
        while self._bytes > MOST_BYTES:
            # The sender of the oldest message can have failed. Its parts must not block the messages of others.
            oldest = next(iter(self._messages))
            self._discard(oldest)
            if oldest == sender:
                raise ValueError(f"its parts have more than {MOST_BYTES:,} bytes")
        if len(message.parts) < int(count):
            return None
        self._discard(sender)
        return b"".join(message.parts)

    def _discard(self, sender: str) -> None:
        message = self._messages.pop(sender, None)
        if message is not None:
            self._bytes -= sum(map(len, message.parts))
