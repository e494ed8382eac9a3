"""Between the store's values and the protocol's messages."""

from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import types_pb2
from noughts_referee.clock import TimeControl


def timestamp(milliseconds: int | None) -> Timestamp | None:
    """A moment in milliseconds since 1970; None stays unset."""
    if milliseconds is None:
        return None
    moment = Timestamp()
    moment.FromMilliseconds(milliseconds)
    return moment


def time_control_message(time: TimeControl) -> types_pb2.TimeControl:
    """A time control for the wire."""
    return types_pb2.TimeControl(move_us=time.move_us, bank_us=time.bank_us, increment_us=time.increment_us)


def time_control(message: types_pb2.TimeControl) -> TimeControl:
    """A time control from the wire; its bounds are checked where it is stored."""
    return TimeControl(move_us=message.move_us, bank_us=message.bank_us, increment_us=message.increment_us)
