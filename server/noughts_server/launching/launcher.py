"""The launcher of child players, with the sandbox unless the user has switched it off."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noughts_referee.children.launcher import Launcher

_ENTRY = "noughts_bots.hosts.warm:main"


class SandboxMode(StrEnum):
    """The sandbox that the user requires."""

    REQUIRED = "required"
    """The complete sandbox, or nothing is played."""
    USUAL = "usual"
    """All that the kernel supports, with a warning about the rest."""
    OFF = "off"
    """No sandbox: children have the rights of their user."""


@asynccontextmanager
async def launching(
    sandbox_mode: SandboxMode, on_note: Callable[[str], None], all_memory_bytes: int = 0, *, at_once: bool = False
) -> "AsyncIterator[Launcher]":
    """Create a launcher for child players for the block. It waits while the machine cannot start processes.

    `on_note` receives lines for the user: that the launcher waits, and each gap of the sandbox here. Sandboxed
    children can use `all_memory_bytes` together; 0 means the default. If `at_once`, the process that starts sandboxed
    children begins to load now, not with the first child. Raises SandboxIncomplete if a required sandbox is incomplete.
    """
    from noughts_referee.children.start_retry import RetryingLauncher, StartRetry

    launcher = RetryingLauncher(_launcher(sandbox_mode, on_note, all_memory_bytes, at_once), StartRetry(on_note))
    try:
        yield launcher
    finally:
        await launcher.close()


def _launcher(
    sandbox_mode: SandboxMode, on_note: Callable[[str], None], all_memory_bytes: int, at_once: bool
) -> "Launcher":
    from noughts_bots.hosts import FOLDER_VARIABLE
    from noughts_referee.children.kernel import is_linux
    from noughts_referee.children.plain_launcher import PlainLauncher
    from noughts_referee.children.sandbox import Limits
    from noughts_referee.children.sandbox_launcher import SandboxLauncher

    if sandbox_mode is SandboxMode.OFF:
        on_note("child players run without a sandbox, as requested: they can do whatever you can")
        return PlainLauncher()
    environment = {FOLDER_VARIABLE: os.getcwd()}
    limits = Limits(all_memory_bytes=all_memory_bytes)
    launcher = SandboxLauncher(
        _ENTRY, limits, require_lock=sandbox_mode is SandboxMode.REQUIRED, environment=environment
    )
    for gap in launcher.gaps:
        on_note(f"not sandboxed here: {gap}")
    if not is_linux():
        return PlainLauncher()
    if at_once:
        with suppress(OSError):  # the machine can start no process now: the first child waits until it can
            launcher.warm()
    return launcher
