"""Two framings of a child's pipes: length-prefixed messages, and one line of JSON for each message. No I/O here."""

from google.protobuf.message import DecodeError

from noughts_proto.pipes import LARGEST_FROM_BOT, LENGTH_BYTES, FrameTooLarge, packed
from noughts_proto.v1 import play_pb2 as pb

_LONGEST_WHY = 200
"""Characters of an error in a report."""
_LONGEST_SHOWN = 60
"""Bytes of an invalid message that a report shows."""


class InvalidFrame(Exception):
    """A child sent something that is not a frame. The text is a phrase that follows "it"."""

    def __init__(self, text: str, offending: bytes) -> None:
        super().__init__(text)
        self.offending = offending


class LengthPrefixed:
    """Each message follows its length in bytes, see `noughts_proto.pipes`."""

    def has_message(self, buffer: bytearray) -> bool:
        """Return whether the first message of the buffer is complete."""
        size = int.from_bytes(buffer[:LENGTH_BYTES], "little")
        return len(buffer) >= LENGTH_BYTES and len(buffer) >= LENGTH_BYTES + size

    def take(self, buffer: bytearray) -> bytes | None:
        """Remove the first message from the buffer and return it, if it is complete. Raises InvalidFrame."""
        if len(buffer) < LENGTH_BYTES:
            return None
        size = int.from_bytes(buffer[:LENGTH_BYTES], "little")
        if size > LARGEST_FROM_BOT:
            length = bytes(buffer[:LENGTH_BYTES])
            is_text = length.isascii() and all(chr(byte).isprintable() or chr(byte).isspace() for byte in length)
            printed = f"; as text that is {length.decode()!r}, but only frames belong there" if is_text else ""
            raise InvalidFrame(
                f"announced an oversized {FrameTooLarge(size, LARGEST_FROM_BOT)}{printed}", bytes(buffer)
            )
        end = LENGTH_BYTES + size
        if len(buffer) < end:
            return None
        message = bytes(buffer[LENGTH_BYTES:end])
        del buffer[:end]
        return message

    def read(self, message: bytes) -> pb.PlayRequest:
        """Parse a message. Raises InvalidFrame."""
        try:
            return pb.PlayRequest.FromString(message)
        except DecodeError:
            raise InvalidFrame(f"sent {len(message):,} bytes that are not a PlayRequest", message) from None

    def encode(self, frame: pb.PlayResponse) -> bytes:
        return packed(frame.SerializeToString())


class JsonLines:
    """One line for each message, in proto3's JSON mapping with the names of the .proto files.

    Children can also use lowerCamelCase. Empty lines are ignored.
    """

    def __init__(self) -> None:
        # The import is slow, and few children use JSON.
        from google.protobuf.json_format import MessageToJson, Parse, ParseError

        self._parse, self._print = Parse, MessageToJson
        self._errors = (ParseError, ValueError, RecursionError)

    def has_message(self, buffer: bytearray) -> bool:
        return b"\n" in buffer

    def take(self, buffer: bytearray) -> bytes | None:
        while (end := buffer.find(b"\n")) >= 0:
            if end > LARGEST_FROM_BOT:
                raise self._too_long(buffer)
            line = bytes(buffer[:end]).strip()
            del buffer[: end + 1]
            if line:
                return line
        if len(buffer) > LARGEST_FROM_BOT:
            raise self._too_long(buffer)
        return None

    def _too_long(self, buffer: bytearray) -> InvalidFrame:
        return InvalidFrame(f"wrote a line of more than {LARGEST_FROM_BOT:,} bytes", bytes(buffer))

    def read(self, message: bytes) -> pb.PlayRequest:
        try:
            return self._parse(message.decode(), pb.PlayRequest())
        except self._errors as error:
            why = " ".join(str(error).split())[:_LONGEST_WHY].rstrip(".")
            line = message[:_LONGEST_SHOWN].decode(errors="replace")
            problem = f"wrote the line {line!r}, which is not a PlayRequest in JSON: {why}"
            raise InvalidFrame(f"{problem}; print log messages to standard error", message) from None

    def encode(self, frame: pb.PlayResponse) -> bytes:
        return self._print(frame, preserving_proto_field_name=True, indent=None).encode() + b"\n"


Framing = LengthPrefixed | JsonLines
