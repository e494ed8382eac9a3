"""Retries of process starts while the machine lacks files, memory or disk.

No bot is at fault, so the games that need the process wait for it.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

from noughts_referee.children.launcher import ChildCommand, Launcher, Started

Made = TypeVar("Made")

REFUSALS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT})
# Seconds before the first and before later attempts. The wait doubles up to the second number.
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


class StartRetry:
    """Retries refused starts. `on_note` gets a message when the machine begins and stops refusing."""

    def __init__(self, on_note: Callable[[str], None]) -> None:
        self._on_note = on_note
        self._waiting = 0
        self._is_refusing = False
        """Whether the latest note says that the machine refuses starts."""

    async def until_possible(self, start: Callable[[], Awaitable[Made]]) -> Made:
        """Return what `start` returns. Raises its errors, except those of a machine without free resources."""
        wait = _FIRST_WAIT
        is_waiting = False
        try:
            while True:
                try:
                    made = await start()
                except OSError as error:
                    if error.errno not in REFUSALS:
                        raise
                    if not is_waiting:
                        is_waiting = True
                        self._waiting += 1
                        if not self._is_refusing:
                            self._is_refusing = True
                            refusal = f"this machine cannot start more processes now: {error}"
                            self._on_note(f"{refusal}; games wait, and Noughts tries again")
                else:
                    break
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT)
        finally:
            if is_waiting:
                self._waiting -= 1
        if self._is_refusing and not self._waiting:
            self._is_refusing = False
            self._on_note("this machine starts processes again")
        return made


class RetryingLauncher:
    """A launcher that retries the starts of another one until the machine allows them."""

    def __init__(self, launcher: Launcher, retry: StartRetry) -> None:
        self._launcher = launcher
        self._retry = retry

    async def start(self, command: ChildCommand) -> Started:
        """Start a child. Raises the other launcher's errors, except for a lack of files, memory, processes or disk."""
        return await self._retry.until_possible(lambda: self._launcher.start(command))

    async def close(self) -> None:
        await self._launcher.close()
