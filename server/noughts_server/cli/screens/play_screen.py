"""Opens the screen of `noughts play` and leaves the terminal as it was."""

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable

from noughts_server.cli.signals import run_loop
from noughts_server.play.opponents import Seating
from noughts_server.play.screen import PlayScreen

# Without its terminal the screen may hang for ever in writing to it: it gets this long to end by itself.
_LEAVING_SECONDS = 2.0
_HUNG_UP = 128 + signal.SIGHUP


def run_screen(seating: Seating) -> None:
    """Show the seating until a player leaves. Raises what ended the other side, after the screen has closed."""
    run_loop(show(seating))


async def show(seating: Seating) -> None:
    """The same inside a running event loop."""
    screen = PlayScreen(seating)
    loop = asyncio.get_running_loop()
    # A window that is closed, or a service that stops: the terminal is put in order all the same.
    signals = (signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, screen.exit)
    _when_the_terminal_goes(sys.stdin.fileno(), lambda: loop.call_soon_threadsafe(screen.exit))
    try:
        await screen.run_async()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
    if screen.failure is not None:
        raise screen.failure


def _when_the_terminal_goes(terminal: int, leave: Callable[[], object]) -> None:
    """Calls `leave` when the terminal is closed, and ends the process if that has not ended it soon after.

    A signal alone does not do: it does not reach every process of a window, and the loop that would handle it may be
    waiting for a writer that has died of the closed terminal.
    """
    closed = select.poll()
    # Nothing but errors and hang-ups, which are always told.
    closed.register(terminal, 0)

    def watch() -> None:
        closed.poll()
        try:
            leave()
        except RuntimeError:
            return  # the loop is closed: the game was over
        threading.Event().wait(_LEAVING_SECONDS)
        os._exit(_HUNG_UP)

    threading.Thread(target=watch, name="noughts-terminal", daemon=True).start()
