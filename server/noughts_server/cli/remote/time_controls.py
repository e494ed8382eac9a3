"""Time controls between the command line's texts and the protocol's messages."""

from noughts_proto.v1 import types_pb2
from noughts_referee.clock import TimeControl


def time_message(time: TimeControl) -> types_pb2.TimeControl:
    """For a request."""
    return types_pb2.TimeControl(move_us=time.move_us, bank_us=time.bank_us, increment_us=time.increment_us)


def time_text(message: types_pb2.TimeControl) -> str:
    """As it is written on the command line, e.g. `60+0.5`."""
    return str(TimeControl(message.move_us, message.bank_us, message.increment_us))
