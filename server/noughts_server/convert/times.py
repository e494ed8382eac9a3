"""Conversions of times, durations and time controls."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import types_pb2
from noughts_referee.clock import TimeControl
from noughts_server.core.errors import InvalidArgument


def timestamp(milliseconds: int | None) -> Timestamp | None:
    """Return a time in milliseconds since 1970 as a message; None for None."""
    if milliseconds is None:
        return None
    message = Timestamp()
    message.FromMilliseconds(milliseconds)
    return message


def milliseconds(field: str, value: Timestamp | Duration | None) -> int | None:
    """Return a time or duration in milliseconds; None for None. `field` is its path in the request.

    Raises InvalidArgument for a bad value.
    """
    if value is None:
        return None
    try:
        return value.ToMilliseconds()
    except ValueError as error:
        raise InvalidArgument.of(field, f"{value.seconds} s and {value.nanos} ns", "0 to 999,999,999 ns") from error


def time_control_message(time: TimeControl) -> types_pb2.TimeControl:
    return types_pb2.TimeControl(move_us=time.move_us, bank_us=time.bank_us, increment_us=time.increment_us)


def time_control(message: types_pb2.TimeControl) -> TimeControl:
    """Return the time control of a message; the store checks its limits."""
    return TimeControl(move_us=message.move_us, bank_us=message.bank_us, increment_us=message.increment_us)
