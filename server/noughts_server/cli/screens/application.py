"""The application: shows a mode in the terminal, and leaves the terminal as it was."""

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.screens.board_mode import Mode

_LEAVING_SECONDS = 2.0
"""Seconds that the application can take to end after its terminal was closed: a write to the terminal can hang."""
_HUNG_UP = 128 + signal.SIGHUP
"""The exit code after the terminal was closed, as in shells."""


class Application(App[None]):
    """Shows a mode, and runs its source of moves."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "application.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self.mode = mode
        self.failure: BaseException | None = None
        """The error that ended the source of moves, e.g. one of the bot."""
        mode.source.on_change = self._show
        mode.source.leave = self.exit

    async def on_mount(self) -> None:
        await self.push_screen(self.mode)
        self.run_worker(self._run_source(), exit_on_error=False)

    def action_leave(self) -> None:
        self.mode.action_leave()

    def _show(self) -> None:
        """Redraw the mode that is on top, or directly below the help."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Mode):
                screen.show()
                return

    async def _run_source(self) -> None:
        """Run the source; if it fails, close the screen and keep the error in `failure`."""
        try:
            await self.mode.source.run()
        except Exception as error:
            self.failure = error
            self.exit()


def run_mode(mode: Mode, *, mouse: bool = True) -> None:
    """Show the mode until the user leaves. Raises the error that ended its source, after the screen has closed.

    Without `mouse` the terminal keeps it, so that the user can select text.
    """
    run_loop(show_mode(mode, mouse=mouse))


async def show_mode(mode: Mode, *, mouse: bool = True) -> None:
    """Show the mode as `run_mode` does, inside a running event loop."""
    application = Application(mode)
    loop = asyncio.get_running_loop()
    # If the window is closed or a service manager stops the program, the terminal must be restored, too.
    signals = (signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, application.exit)
    _watch_terminal(sys.stdin.fileno(), lambda: loop.call_soon_threadsafe(application.exit))
    try:
        await application.run_async(mouse=mouse)
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
    if application.failure is not None:
        raise application.failure


def _watch_terminal(terminal: int, leave: Callable[[], object]) -> None:
    """Start a thread that calls `leave` when the terminal is closed, and soon after ends a process that still runs.

    A signal is not enough: some processes of a window do not receive it. Also, the loop that would handle it can wait
    for a writer that failed because of the closed terminal.
    """
    poll = select.poll()
    poll.register(terminal, 0)  # No events: poll always reports errors and hang-ups.

    def watch() -> None:
        poll.poll()
        try:
            leave()
        except RuntimeError:
            return  # the loop is closed: the application has ended
        threading.Event().wait(_LEAVING_SECONDS)
        os._exit(_HUNG_UP)

    threading.Thread(target=watch, name="noughts-terminal", daemon=True).start()
