"""A machine that refuses to start a process, for want of files, memory or disk, does so for a while: we wait for it.

What it refuses is nobody's fault, and the games for which the process is needed begin when it is there.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

from noughts_referee.children.launcher import ChildCommand, Launcher, Started

Made = TypeVar("Made")

REFUSALS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT})
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


class StartRetry:
    """Tries again what the machine refuses; `tell` gets a line for people when that begins, and when it ends."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._waiting = 0

    async def until_possible(self, start: Callable[[], Awaitable[Made]]) -> Made:
        """What `start` gives. Raises what it raises, but for the errors of a machine that has no more to give."""
        wait = _FIRST_WAIT
        waiting = False
        try:
            while True:
                try:
                    made = await start()
                except OSError as error:
                    if error.errno not in REFUSALS:
                        raise
                    if not waiting:
                        waiting = True
                        self._begin(error)
                else:
                    return made
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT)
        finally:
            if waiting:
                self._end()

    def _begin(self, error: OSError) -> None:
        self._waiting += 1
        if self._waiting == 1:
            self._tell(f"this machine starts no more processes now: {error}; games wait for it, and we try again")

    def _end(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._tell("this machine starts processes again")


class PatientLauncher:
    """Starts children as another launcher does, as soon as the machine lets it."""

    def __init__(self, launcher: Launcher, patience: StartRetry) -> None:
        self._launcher = launcher
        self._patience = patience

    async def start(self, command: ChildCommand) -> Started:
        """Starts one; raises what the other launcher raises, but never for want of files, memory, processes or disk."""
        return await self._patience.until_possible(lambda: self._launcher.start(command))

    async def close(self) -> None:
        """Closes the other launcher."""
        await self._launcher.close()
