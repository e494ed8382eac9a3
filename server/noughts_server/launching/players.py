"""A child player of any kind, which sends a hello and speaks frames."""

from collections.abc import Callable

from noughts_bots.reference.specs import BotSpec
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.dialled_frames import Invite
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import RunningChild, start_child
from noughts_server.engines.frames import EngineChild, engine_child
from noughts_server.launching.command import child_command, engine_command
from noughts_server.launching.team import TeamChild

Player = RunningChild | EngineChild | TeamChild


async def start_player(
    spec: BotSpec,
    launcher: Launcher,
    settings: ChildSettings,
    *,
    processes: int = 1,
    memory_bytes: int = 0,
    on_output: Callable[[bytes], None] | None = None,
    invite: Invite | None = None,
) -> Player:
    """Start a child, possibly as several processes. `on_output` receives each piece of their stderr.

    A bot that connects needs an invitation, and is one process. Raises BotSpecError, and the errors of the launcher.
    """
    assert spec.child_kind is not None
    if not spec.child_kind.speaks_frames:
        engine, options = engine_command(spec, memory_bytes=memory_bytes)
        return engine_child(
            command=engine,
            options=options,
            launcher=launcher,
            settings=settings,
            processes=processes,
            on_output=on_output,
        )
    command = child_command(spec, memory_bytes=memory_bytes)
    members = [await start_child(launcher, command, settings, invite, on_output=on_output) for _ in range(processes)]
    return members[0] if processes == 1 else TeamChild(members)


async def start_process(spec: BotSpec, launcher: Launcher, settings: ChildSettings) -> RunningChild | EngineChild:
    """Start a child as one process. Raises the errors of `start_player`."""
    child = await start_player(spec, launcher, settings)
    assert not isinstance(child, TeamChild)
    return child
