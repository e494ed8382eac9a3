"""The time controls and clocks in messages to spectators."""

from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.clock import TimeControl
from noughts_referee.work_units import GameConditions
from noughts_server.messages.settings_codec import time_control_message


def own_time_message(conditions: GameConditions, entry: int) -> types_pb2.TimeControl | None:
    """Return the time control of an entry if bots have their own; None if it is the tournament's."""
    return time_control_message(conditions.limits[entry] or TimeControl()) if conditions.own_times else None


def tell_clocks(message: pb.WatchedGame | pb.WatchedPly, first_us: int | None, second_us: int | None) -> None:
    """Set the two clocks; None for a side without a limit."""
    if first_us is not None:
        message.first_clock_us = first_us
    if second_us is not None:
        message.second_clock_us = second_us
