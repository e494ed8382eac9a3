"""The protocol message of a wish for games."""

from noughts_proto.v1 import types_pb2
from noughts_server.competition.seeks import Seek, SeekError, checked_seek
from noughts_server.convert.times import time_control, time_control_message
from noughts_server.core.errors import InvalidArgument


def seek_message(seek: Seek | None) -> types_pb2.Seek | None:
    """Return the message of a wish; None if there is none."""
    if seek is None:
        return None
    time = time_control_message(seek.time)
    return types_pb2.Seek(variant=seek.variant, time=time, rating_range=seek.rating_range)


def seek_of(message: types_pb2.Seek, field: str) -> Seek:
    """Return the wish of a message. Raises InvalidArgument, which names the request's `field`."""
    try:
        return checked_seek(message.variant, time_control(message.time), message.rating_range)
    except SeekError as error:
        raise InvalidArgument.of(field, error.got, error.expected) from error
