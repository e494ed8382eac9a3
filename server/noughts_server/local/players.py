"""A child player of any kind, as something that says hello and carries frames."""

from collections.abc import Callable
from dataclasses import replace

from noughts_bots.specs import BotSpec
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import RunningChild, start_child
from noughts_server.engines.frames import EngineChild, engine_child
from noughts_server.local.launcher import command_of
from noughts_server.local.team import TeamChild

Player = RunningChild | EngineChild | TeamChild


async def start_player(
    spec: BotSpec,
    launcher: Launcher,
    settings: ChildSettings,
    *,
    processes: int = 1,
    memory_bytes: int = 0,
    heard: Callable[[bytes], None] | None = None,
) -> Player:
    """Starts a child, which may be several processes. `heard` is given what they write to stderr, as it comes.

    Raises BotSpecError, and what the launcher raises.
    """
    assert spec.child_kind is not None
    if spec.child_kind.speaks_frames:
        command = replace(command_of(spec), memory_bytes=memory_bytes)
        if processes == 1:
            return await start_child(launcher, command, settings, heard=heard)
        return TeamChild([await start_child(launcher, command, settings, heard=heard) for _ in range(processes)])
    return engine_child(spec, launcher, settings, processes, memory_bytes, heard)
