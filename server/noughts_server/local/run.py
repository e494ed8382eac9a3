"""A tournament on this machine alone: the ordinary server on a loopback socket, each bot a process of its own.

What is loaded here is little, and decides how soon the first game begins: the bots' processes are started before the
server's parts are imported.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from noughts_bots.specs import unique_labels
from noughts_server.local.bot_process import bot_processes
from noughts_server.local.plan import (
    LocalError,
    LocalFault,
    LocalOutcome,
    LocalPlan,
    LocalProgress,
    LocalStop,
    PlayedGame,
)

if TYPE_CHECKING:
    from noughts_server.store.games import ExportedGame

__all__ = [
    "LocalError",
    "LocalFault",
    "LocalOutcome",
    "LocalPlan",
    "LocalProgress",
    "LocalStop",
    "PlayedGame",
    "play_locally",
]


def _nothing(note: str) -> None:
    """The default listener."""


async def play_locally(
    plan: LocalPlan,
    *,
    on_progress: Callable[[LocalProgress], None],
    stop: LocalStop,
    export: "Callable[[Iterator[ExportedGame]], None] | None" = None,
    on_note: Callable[[str], None] = _nothing,
    on_game: Callable[[PlayedGame], None] | None = None,
) -> LocalOutcome:
    """Plays the plan to its end or to `stop`. Raises LocalError, LockIncomplete, or what keeps a server from starting.

    `on_note` gets lines for people about how child players are locked, `on_game` each game as soon as it is stored.

    `export` is called once at the end with all stored games in slot order.
    """
    async with AsyncExitStack() as stack:
        specs = dict(zip(unique_labels(plan.specs), plan.specs, strict=True))
        processes = await stack.enter_async_context(bot_processes(specs, plan.settings.concurrency))
        # The server's parts are loaded while the bots load theirs.
        from noughts_server.engines.transcript import Transcripts
        from noughts_server.local.launcher import launching
        from noughts_server.local.run_at_server import RunAtServer
        from noughts_server.server import running_server
        from noughts_server.settings import ServerSettings

        database = plan.database
        if database is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="noughts-", ignore_cleanup_errors=True))
            database = f"sqlite:///{Path(folder) / 'noughts.sqlite'}"
        settings = ServerSettings(
            listen="127.0.0.1:0", database=database, margin_us=plan.margin_us, grace=5.0, reflection=False
        )
        server = await stack.enter_async_context(running_server(settings))
        # Of the lock nothing is said where nobody is locked in.
        tell = on_note if plan.has_children else _nothing
        launcher = await stack.enter_async_context(launching(plan.locking, tell))
        transcripts = stack.enter_context(Transcripts(plan.log, plan.messages))
        run = RunAtServer(plan, specs, processes, server, launcher, transcripts, on_progress, stop, on_game)
        await run.play()
        if transcripts.failure is not None:
            on_note(f"what engines say was not kept to the end: {transcripts.failure}")
        return await run.outcome(export)
