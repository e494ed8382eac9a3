"""What is started for a bot, and which launcher does it: behind the lock, unless somebody has chosen otherwise."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noughts_bots.specs import BotSpec
    from noughts_referee.children.launcher import ChildCommand, Launcher

_ENTRY = "noughts_bots.hosts.warm:main"


class Locking(StrEnum):
    """What is asked of the lock."""

    REQUIRED = "required"
    """All of it, or nothing is played."""
    USUAL = "usual"
    """Whatever the kernel can lock; what it cannot is said."""
    OFF = "off"
    """None: children may do what their user may."""


def command_of(spec: "BotSpec") -> "ChildCommand":
    """What is started for a bot of a kind that is. Raises BotSpecError for options of a program that there are not."""
    from noughts_bots.specs import Speech, speech
    from noughts_referee.children.launcher import ChildCommand

    spoken = speech(spec)
    if spec.child_kind is not None and not spec.child_kind.hosted:
        return ChildCommand(spec.kind, spec.target, json_lines=spoken is Speech.JSON)
    return ChildCommand(spec.kind, spec.target, spec.options)


@asynccontextmanager
async def launching(
    locking: Locking, tell: Callable[[str], None], all_memory_bytes: int = 0
) -> "AsyncIterator[Launcher]":
    """A launcher for child players, which waits while the machine starts none.

    `tell` gets lines for people: that it waits, and one for each thing that cannot be locked here. Behind the lock all
    children together may use so much memory; 0: as the launcher's limits say. Raises LockIncomplete when the lock is
    required and cannot be had.
    """
    from noughts_referee.children.start_retry import PatientLauncher, StartRetry

    launcher = PatientLauncher(_launcher(locking, tell, all_memory_bytes), StartRetry(tell))
    try:
        yield launcher
    finally:
        await launcher.close()


def _launcher(locking: Locking, tell: Callable[[str], None], all_memory_bytes: int) -> "Launcher":
    from noughts_bots.hosts import FOLDER_VARIABLE
    from noughts_referee.children.kernel import is_linux
    from noughts_referee.children.locked_launcher import LockedLauncher
    from noughts_referee.children.sandbox import Limits
    from noughts_referee.children.unlocked_launcher import UnlockedLauncher

    if locking is Locking.OFF:
        tell("child players run without a lock, as was asked: they may do whatever you may")
        return UnlockedLauncher()
    environment = {FOLDER_VARIABLE: os.getcwd()}
    limits = Limits(all_memory_bytes=all_memory_bytes)
    launcher = LockedLauncher(_ENTRY, limits, require_lock=locking is Locking.REQUIRED, environment=environment)
    for gap in launcher.gaps:
        tell(f"not locked here: {gap}")
    return launcher if is_linux() else UnlockedLauncher()
