"""A tournament on this machine alone: the ordinary server on a loopback socket, each bot a process of its own."""

import asyncio
import os
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from noughts_bots.host import SERVER_VARIABLE, TICKET_VARIABLE
from noughts_bots.specs import BotSpec, unique_labels
from noughts_referee.clock import TimeControl
from noughts_referee.rules import Variant
from noughts_server.server import Server, ServerSettings, running_server
from noughts_server.sessions import PRESENCE, Ticket
from noughts_server.store import bots, games, tokens, tournaments
from noughts_server.store.games import ExportedGame
from noughts_server.store.tournaments import PairScore, Standing

_OWNER = "local"
_TICK_SECONDS = 0.2
_START_SECONDS = 30.0
_STOP_SECONDS = 2.0
_KEPT_LINES = 40
_RESTARTS = 3


class LocalError(Exception):
    """A bot's process cannot be started or keeps dying; the text has the last lines it wrote."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """What is to be played."""

    specs: tuple[BotSpec, ...]
    variant: Variant
    time: TimeControl
    games_per_pair: int
    concurrency: int
    seed: int
    margin_us: int = 50_000
    database: str | None = None
    """None: a temporary file, gone afterwards."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class LocalProgress:
    """How far it is."""

    bots_online: int
    bots_expected: int
    games_done: int
    games_total: int
    plies: int
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class LocalOutcome:
    """What came of it."""

    games: int
    games_total: int
    interrupted: bool
    standings: tuple[Standing, ...]
    pairs: tuple[PairScore, ...]
    terminations: dict[str, int]


class LocalStop:
    """The two stages of stopping, from any signal handler of the event loop."""

    def __init__(self) -> None:
        self.finishing = asyncio.Event()
        self.aborting = asyncio.Event()

    def finish(self) -> None:
        """Begin no new game, finish those running."""
        self.finishing.set()

    def abort(self) -> None:
        """Stop at once; running games stay unplayed."""
        self.finishing.set()
        self.aborting.set()


async def play_locally(
    plan: LocalPlan,
    *,
    on_progress: Callable[[LocalProgress], None],
    stop: LocalStop,
    export: Callable[[Iterator[ExportedGame]], None] | None = None,
) -> LocalOutcome:
    """Plays the plan to its end or to `stop`. Raises LocalError, or what keeps the server from starting.

    `export` is called once at the end with all stored games in slot order.
    """
    async with AsyncExitStack() as stack:
        database = plan.database
        if database is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="noughts-", ignore_cleanup_errors=True))
            database = f"sqlite:///{Path(folder) / 'noughts.sqlite'}"
        settings = ServerSettings(listen="127.0.0.1:0", database=database, margin_us=plan.margin_us, grace=5.0)
        server = await stack.enter_async_context(running_server(settings))
        run = _Run(plan, server, on_progress, stop)
        await run.play()
        return await run.outcome(export)


class _Run:
    """One tournament played locally."""

    def __init__(
        self, plan: LocalPlan, server: Server, on_progress: Callable[[LocalProgress], None], stop: LocalStop
    ) -> None:
        self._plan = plan
        self._server = server
        self._on_progress = on_progress
        self._stop = stop
        self._labels = unique_labels(plan.specs)
        self._tournament = 0
        self._versions: dict[str, int] = {}

    async def play(self) -> None:
        owner = await self._prepare()
        async with asyncio.TaskGroup() as tasks:
            processes = [
                tasks.create_task(self._keep_alive(owner, label, spec), name=label)
                for label, spec in zip(self._labels, self._plan.specs, strict=True)
            ]
            try:
                if await self._unless_stopped(self._all_online()):
                    await self._server.director.start(self._tournament)
                    if not await self._unless_stopped(self._finished()):
                        await self._wind_down()
            finally:
                for process in processes:
                    process.cancel()

    async def outcome(self, export: Callable[[Iterator[ExportedGame]], None] | None) -> LocalOutcome:
        store, tournament = self._server.store, self._tournament
        if export is not None:
            await store.read(lambda connection: export(games.export(connection, tournament)))
        summary = await store.read(lambda connection: tournaments.summary(connection, tournament))
        terminations = await store.read(lambda connection: games.terminations(connection, tournament))
        self._report(summary.standings, summary.games_done, summary.games_total)
        return LocalOutcome(
            games=summary.games_done,
            games_total=summary.games_total,
            interrupted=self._stop.finishing.is_set(),
            standings=summary.standings,
            pairs=await store.read(lambda connection: tournaments.pair_scores(connection, tournament)),
            terminations=terminations,
        )

    async def _prepare(self) -> int:
        """Enters the bots into a new tournament; returns the key of their owner."""
        plan, labels = self._plan, self._labels
        slug = f"local-{secrets.token_hex(4)}"

        def prepare(connection: Connection) -> tuple[int, int, dict[str, int]]:
            owner = tokens.owner(connection, _OWNER)
            versions = {label: bots.log_in(connection, owner, label, "1") for label in labels}
            tournament = tournaments.create(
                connection,
                owner,
                tournaments.NewTournament(
                    slug=slug,
                    title=plan.title,
                    variant=plan.variant.name,
                    time=plan.time,
                    games_per_pair=plan.games_per_pair,
                    concurrency=plan.concurrency,
                    seed=plan.seed,
                    rated=True,
                ),
            )
            for label in labels:
                tournaments.join(connection, tournament, versions[label].id, label)
            return owner, tournament, {label: version.id for label, version in versions.items()}

        owner, self._tournament, self._versions = await self._server.store.write(prepare)
        return owner

    async def _keep_alive(self, owner: int, label: str, spec: BotSpec) -> None:
        """Runs the bot's process; one that dies loses its games and is started again, a few times."""
        for _ in range(_RESTARTS):
            ticket = self._server.sessions.issue_ticket(Ticket(owner, label))
            async with _bot_process(spec, self._server.address, ticket, self._plan.concurrency) as (process, lines):
                await process.wait()
            self._server.sessions.wire(self._versions[label]).dismiss()
        code = process.returncode
        raise LocalError("\n".join([f"{label}: its process ended {_RESTARTS} times (exit code {code})", *lines]))

    async def _all_online(self) -> None:
        sessions, changed = self._server.sessions, asyncio.Event()
        with listening(self._server.bus, PRESENCE, lambda _: changed.set()):
            try:
                async with asyncio.timeout(_START_SECONDS):
                    while missing := [label for label, key in self._versions.items() if not sessions.online(key)]:
                        self._report((), 0, 0)
                        await changed.wait()
                        changed.clear()
            except TimeoutError:
                names = ", ".join(missing)
                raise LocalError(f"{names}: not online after {_START_SECONDS:.0f} s") from None

    async def _finished(self) -> None:
        while True:
            summary = await self._summary()
            self._report(summary.standings, summary.games_done, summary.games_total)
            if summary.state is not TournamentState.RUNNING:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._committed.wait(), _TICK_SECONDS)
