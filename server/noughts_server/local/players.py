"""A child player of any kind, as something that says hello and carries frames."""

from noughts_bots.specs import BotSpec
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.running_child import RunningChild, start_child
from noughts_server.engines.frames import EngineChild, engine_child

Player = RunningChild | EngineChild


async def start_player(
    spec: BotSpec, launcher: Launcher, settings: ChildSettings, *, processes: int = 1, memory_bytes: int = 0
) -> Player:
    """Starts a child; an engine may be several processes. Raises BotSpecError, and what the launcher raises."""
    assert spec.child_kind is not None
    if spec.child_kind.speaks_frames:
        command = ChildCommand(spec.kind, spec.target, spec.options, memory_bytes=memory_bytes)
        return await start_child(launcher, command, settings)
    return engine_child(spec, launcher, settings, processes)
