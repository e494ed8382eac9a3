"""A child player of any kind, which sends a hello and speaks frames."""

from collections.abc import Callable
from dataclasses import replace

from noughts_bots.specs import BotSpec
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.dialled_frames import Invite
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import RunningChild, start_child
from noughts_server.engines.frames import EngineChild, engine_child
from noughts_server.launching.launcher import command_of
from noughts_server.launching.team import TeamChild

Player = RunningChild | EngineChild | TeamChild


async def start_player(
    spec: BotSpec,
    launcher: Launcher,
    settings: ChildSettings,
    *,
    processes: int = 1,
    memory_bytes: int = 0,
    heard: Callable[[bytes], None] | None = None,
    invite: Invite | None = None,
) -> Player:
    """Start a child, possibly as several processes. `heard` receives their stderr as it comes.

    A bot that connects needs an invitation, and is one process. Raises BotSpecError, and the errors of the launcher.
    """
    assert spec.child_kind is not None
    if invite is not None:
        return await start_child(launcher, command_of(spec), settings, invite, heard=heard)
    if processes == 1:
        return await start_process(spec, launcher, settings, memory_bytes, heard)
    if spec.child_kind.speaks_frames:
        return TeamChild([await _start(spec, launcher, settings, memory_bytes, heard) for _ in range(processes)])
    return engine_child(spec, launcher, settings, processes, memory_bytes, heard)


async def start_process(
    spec: BotSpec,
    launcher: Launcher,
    settings: ChildSettings,
    memory_bytes: int = 0,
    heard: Callable[[bytes], None] | None = None,
) -> RunningChild | EngineChild:
    """Start a child as one process. See `start_player`."""
    assert spec.child_kind is not None
    if spec.child_kind.speaks_frames:
        return await _start(spec, launcher, settings, memory_bytes, heard)
    return engine_child(spec, launcher, settings, 1, memory_bytes, heard)


async def _start(
    spec: BotSpec, launcher: Launcher, settings: ChildSettings, memory_bytes: int, heard: Callable[[bytes], None] | None
) -> RunningChild:
    return await start_child(launcher, replace(command_of(spec), memory_bytes=memory_bytes), settings, heard=heard)
