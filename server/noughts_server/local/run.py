"""A tournament on this machine only: the ordinary server on a loopback socket, and a process for each bot.

This module imports little, so that the first game begins soon: the processes that fork bots are started before the
server's parts are imported.
"""

import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from noughts_bots.reference.specs import BotSpec, unique_labels
from noughts_referee.children.scratch import OwnedFolder
from noughts_referee.children.start_retry import StartRetry
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.local.bot_process import BotProcess, bot_process, load_reference_bots
from noughts_server.local.plan import LocalError, LocalOutcome, LocalPlan, LocalProgress, LocalStop, PlayedGame

if TYPE_CHECKING:
    from noughts_referee.children.launcher import Launcher
    from noughts_server.server import Server
    from noughts_server.statistics.match_games import MatchGames
    from noughts_server.store.engine.database import Store
    from noughts_server.store.games.exports import ExportedGame


async def play_locally(
    plan: LocalPlan,
    *,
    on_progress: Callable[[LocalProgress], None],
    stop: LocalStop,
    export: "Callable[[Iterator[ExportedGame]], None]" = lambda games: None,
    on_note: Callable[[str], None] = lambda note: None,
    on_game: "Callable[[PlayedGame, MatchGames], None]" = lambda game, match: None,
) -> LocalOutcome:
    """Play the plan to its end or until `stop`. Raise LocalError, SandboxIncomplete, or the errors of a server's start.

    `on_note` gets lines for the user about the sandbox, `on_game` each game as soon as it is stored, with the counts of
    all games if there are two bots. A run that resumes an earlier one first gives it the games of that run.

    `export` gets the stored games in slot order up to the first gap, and the rest at the end. If the run resumes an
    earlier one, it begins with those games.
    """
    async with AsyncExitStack() as stack:
        if plan.database is not None and plan.sandbox_mode is not SandboxMode.OFF:
            for spec in plan.specs:
                if spec.child_kind:
                    check_out_of_reach(plan.database, spec)
        if plan.engine_note:
            on_note(plan.engine_note)
        launcher = await stack.enter_async_context(_launching_for(plan, on_note))
        database = plan.database
        file: _TemporaryFile | None = None
        if database is None:
            file = stack.enter_context(_TemporaryFile())
            database = file.url
        # This imports the server's parts, while the processes that fork bots import theirs.
        server_to_start = _server_of(database, scales_time=plan.settings.scale_time)
        retry = StartRetry(on_note)
        processes = await stack.enter_async_context(_reference_processes(plan, retry))
        server = await stack.enter_async_context(server_to_start)
        if plan.database is not None and not plan.resumes:
            await _report_killed_run(server.store, on_note)
        outcome = await _play_at(
            server,
            plan,
            launcher=launcher,
            processes=processes,
            retry=retry,
            on_progress=on_progress,
            stop=stop,
            export=export,
            on_note=on_note,
            on_game=on_game,
        )
        if file is not None and outcome.kept:
            outcome = replace(outcome, kept=str(file.keep()))
        return outcome


class LocalServer:
    """A server with a temporary database that plays one plan after another; `local_server` creates it."""

    def __init__(self, server: "Server", launcher: "Launcher", on_note: Callable[[str], None]) -> None:
        self._server = server
        self._launcher = launcher
        self._on_note = on_note
        self._retry = StartRetry(on_note)

    async def play(self, plan: LocalPlan, *, stop: LocalStop) -> LocalOutcome:
        """Play the plan to its end or until `stop`. Its sandbox and its database must be those of `local_server`.

        Raises LocalError.
        """
        async with _reference_processes(plan, self._retry) as processes:
            return await _play_at(
                self._server,
                plan,
                launcher=self._launcher,
                processes=processes,
                retry=self._retry,
                stop=stop,
                on_note=self._on_note,
            )


@asynccontextmanager
async def local_server(plan: LocalPlan, on_note: Callable[[str], None]) -> AsyncIterator[LocalServer]:
    """Yield a server for plans whose bots are of the same kinds as in this one.

    Raises SandboxIncomplete, or the errors of a server's start.
    """
    async with AsyncExitStack() as stack:
        if plan.engine_note:
            on_note(plan.engine_note)
        launcher = await stack.enter_async_context(_launching_for(plan, on_note))
        file = stack.enter_context(_TemporaryFile())
        server = await stack.enter_async_context(_server_of(file.url, scales_time=plan.settings.scale_time))
        yield LocalServer(server, launcher, on_note)


def _launching_for(plan: LocalPlan, on_note: Callable[[str], None]) -> "AbstractAsyncContextManager[Launcher]":
    """Start the processes that fork bots. Return the launcher of the plan's sandboxed bots."""
    if not all(spec.child_kind for spec in plan.specs):
        load_reference_bots()
    # Without sandboxed processes there is nothing to report about the sandbox.
    on_sandbox_note = on_note if plan.has_children else lambda note: None
    return launching(plan.sandbox_mode, on_sandbox_note, plan.all_memory_bytes, at_once=plan.has_children)


@asynccontextmanager
async def _reference_processes(plan: LocalPlan, retry: StartRetry) -> AsyncIterator[dict[str, BotProcess]]:
    """Yield the processes of the plan's reference bots by label. They have ended at the end of the block."""
    async with AsyncExitStack() as stack:
        yield {
            label: await stack.enter_async_context(bot_process(spec, plan.settings.concurrency, retry))
            for label, spec in zip(unique_labels(plan.specs), plan.specs, strict=True)
            if not spec.child_kind
        }


def _server_of(database: str, *, scales_time: bool) -> "AbstractAsyncContextManager[Server]":
    """Return a server for the bots of this machine, with this database.

    Its speed is measured only if it scales times, because that would delay the first game.
    """
    from noughts_server.local.run_at_server import LOCAL_LIMITS
    from noughts_server.server import running_server
    from noughts_server.settings import ServerSettings

    return running_server(
        ServerSettings(
            listen="127.0.0.1:0",
            database=database,
            network_cap_us=0,  # all bots are on this machine
            reconnect_timeout=5.0,
            reflection=False,
            explorer=False,
            puzzle_search=False,
            analysis=False,
            resumes_play=False,
            limits=LOCAL_LIMITS,
            speed=None if scales_time else 1.0,
        )
    )


async def _play_at(
    server: "Server",
    plan: LocalPlan,
    *,
    launcher: "Launcher",
    processes: Mapping[str, BotProcess],
    retry: StartRetry,
    stop: LocalStop,
    on_progress: Callable[[LocalProgress], None] = lambda progress: None,
    export: "Callable[[Iterator[ExportedGame]], None]" = lambda games: None,
    on_note: Callable[[str], None] = lambda note: None,
    on_game: "Callable[[PlayedGame, MatchGames], None]" = lambda game, match: None,
) -> LocalOutcome:
    """Play the plan on a running server; the arguments are those of `play_locally`."""
    from noughts_server.engines.transcript import Transcripts
    from noughts_server.local.run_at_server import RunAtServer

    with Transcripts(plan.log, plan.messages, appends=bool(plan.resumes)) as transcripts:
        run = RunAtServer(
            plan=plan,
            specs=dict(zip(unique_labels(plan.specs), plan.specs, strict=True)),
            processes=processes,
            server=server,
            launcher=launcher,
            transcripts=transcripts,
            on_progress=on_progress,
            stop=stop,
            retry=retry,
            on_game=on_game,
            write=export,
        )
        await run.play()
    for line in run.children.notes():
        on_note(line)
    if transcripts.failure is not None:
        on_note(f"the transcripts of the engines are incomplete: {transcripts.failure}")
    return await run.outcome()


def check_out_of_reach(database: str, spec: BotSpec) -> None:
    """Raise LocalError for a database that the sandbox would let this bot read, because the bot could lock it."""
    from noughts_referee.children.command import resolve
    from noughts_server.launching.command import child_command
    from noughts_server.store.engine.sqlite import parse_url

    file = os.path.realpath(str(parse_url(database).database))
    for place in resolve(child_command(spec)).readable:
        if file == place or file.startswith(f"{place}{os.sep}"):
            raise LocalError(
                f"--db: got {file}, which is in the folder {place} that {spec} can read, expected a place outside it",
                "choose another place for the database, or give the bot its own folder",
            )


async def _report_killed_run(store: "Store", on_note: Callable[[str], None]) -> None:
    """Report a killed run, which could not print how to resume it."""
    from noughts_server.store.tournaments.local_runs import killed_run

    run = await store.read(killed_run)
    if run is not None:
        games = f"{run.games_done:,} game{'' if run.games_done == 1 else 's'}"
        name = run.settings.title or run.name
        on_note(
            f"The database has an earlier run ({name}) that was interrupted after {games}. To continue it, run its"
            " command again with --resume."
        )


class _TemporaryFile:
    """A database that is deleted at the end of the block, unless it is kept."""

    def __init__(self) -> None:
        self._folder = OwnedFolder("noughts-run-")
        self._kept: Path | None = None
        self.path = Path(self._folder.path) / "noughts.sqlite"

    @property
    def url(self) -> str:
        from noughts_server.store.engine.sqlite import url_of

        return url_of(self.path)

    def keep(self) -> Path:
        """Move the database to the data folder at the end of the block. Return its path there."""
        from noughts_server.local.kept_runs import runs_folder

        self._kept = runs_folder() / f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{secrets.token_hex(2)}.sqlite"
        return self._kept

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept is not None:
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            for file in self.path.parent.glob("noughts.sqlite*"):
                shutil.move(file, self._kept.with_name(self._kept.name + file.name.removeprefix("noughts.sqlite")))
        self._folder.close()
