"""Opens the screen of `noughts play` and leaves the terminal as it was."""

import asyncio
import signal

from noughts_bots.loop import run_loop
from noughts_server.play.screen import PlayScreen
from noughts_server.play.seats import Seating


def run_screen(seating: Seating) -> None:
    """Shows the seating until somebody leaves. Raises what ended the other side, after the screen has closed."""
    run_loop(show(seating))


async def show(seating: Seating) -> None:
    """The same inside a running event loop."""
    screen = PlayScreen(seating)
    loop = asyncio.get_running_loop()
    # A window that is closed, or a service that stops: the terminal is put in order all the same.
    signals = (signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, screen.exit)
    try:
        await screen.run_async()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
    if screen.failure is not None:
        raise screen.failure
