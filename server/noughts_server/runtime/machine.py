"""The machine that plays: its name, and its speed for games whose times are scaled."""

import asyncio
import socket

import structlog

from noughts_referee.machine_speed import is_out_of_range, machine_speed, time_factor

_LONGEST_HOST_NAME = 40

logger = structlog.get_logger("noughts.referee")


def host_name() -> str:
    """Return the name of this machine, cut to 40 characters, which the names of its nodes contain."""
    return socket.gethostname()[:_LONGEST_HOST_NAME]


async def known_speed(speed: float | None) -> float:
    """Return `speed`, or the measured speed of this machine if it is None.

    The measurement uses a thread, and therefore does not stop the event loop.
    """
    if speed is None:
        speed = await asyncio.to_thread(machine_speed)
    if is_out_of_range(speed):
        logger.warning("speed_out_of_range", speed=round(speed, 3), time_factor=time_factor(speed))
    return speed
