"""The time controls and clocks in messages to spectators."""

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.clock import TimeControl
from noughts_referee.work_units import GameConditions, Slot
from noughts_server.messages.settings_codec import time_control_message
from noughts_server.resource_names import game_name


def waiting_game(conditions: GameConditions, slot: Slot) -> pb.WatchedGame:
    """Return a game that has not begun."""
    message = pb.WatchedGame(name=game_name(conditions.name, slot.ordinal), variant=conditions.variant.name)
    message.first, message.second = conditions.labels[slot.first], conditions.labels[slot.second]
    message.time.CopyFrom(time_control_message(conditions.time))
    if conditions.own_times:
        message.first_time.CopyFrom(time_control_message(conditions.limits[slot.first] or TimeControl()))
        message.second_time.CopyFrom(time_control_message(conditions.limits[slot.second] or TimeControl()))
    message.state = pb.GAME_STATE_WAITING
    return message


def tell_clocks(message: pb.WatchedGame | pb.WatchedPly, first_us: int | None, second_us: int | None) -> None:
    """Set the two clocks; None for a side without a limit."""
    if first_us is not None:
        message.first_clock_us = first_us
    if second_us is not None:
        message.second_clock_us = second_us
