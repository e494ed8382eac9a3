"""One tournament on the server in this process: the bots log in and play, and the results are read."""

import asyncio
import shlex
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import InitVar, dataclass
from typing import Any

from noughts_bots.reference.specs import BotSpec
from noughts_referee.children.child_player import MOST_STARTS
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.start_retry import StartRetry
from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import WrongState
from noughts_server.core.limits import Limits
from noughts_server.engines.transcript import Transcripts
from noughts_server.local.bot_process import BotProcess, bot_process
from noughts_server.local.children import LocalChildren
from noughts_server.local.plan import LocalError, LocalOutcome, LocalPlan, LocalProgress, LocalStop, PlayedGame
from noughts_server.local.tournament import LocalTournament
from noughts_server.records.replay import stored_record
from noughts_server.runtime.bus import listening
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.server import Server
from noughts_server.statistics.match_games import MatchGames, counted_game
from noughts_server.statistics.sprt import Sprt
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.exports import ExportedGame, export, export_file
from noughts_server.store.games.games import finished_games, terminations
from noughts_server.store.games.results import CommitReport
from noughts_server.store.games.standings import CrosstablePage, whole_crosstable
from noughts_server.store.journal import games_so_far
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament
from noughts_server.tables.kinds import TableKind, make_table
from noughts_server.tables.standings import Standing
from noughts_server.tables.tally import Tally

LOCAL_LIMITS = Limits(comment_bytes=64 << 10, game_comment_bytes=2 << 20, running_comment_bytes=256 << 20)
"""Limits of comments that are larger than on a server, because all bots are the user's own.

The comment of a language model contains its question with up to 8,000 bytes of answers.
"""
_START_SECONDS = 30.0
"""Seconds in which all bots must be online."""
_ATTEMPTS = 3
"""Starts of a bot's process before the run ends."""


class GameWriter:
    """Writes the games of one tournament, each once and in slot order. Its methods run in threads of the store."""

    def __init__(self, write: Callable[[Iterator[ExportedGame]], None]) -> None:
        self._write = write
        self._through = 0
        self._complete = False
        # After an interruption one thread can still be writing games when another begins to write the rest.
        self._lock = threading.Lock()

    def add(self, connection: Connection, tournament: Tournament) -> None:
        """Write the new games before the first gap, except the last one.

        It can be the last game of the tournament, which is written together with the facts about the tournament.
        """
        with self._lock:
            if not self._complete and tournament.folded - 1 > self._through:
                written = self._through
                self._through = tournament.folded - 1
                self._write(export(connection, tournament.id, after=written, through=self._through))

    def add_rest(self, connection: Connection, tournament: Tournament) -> None:
        """Write all remaining games. No game can follow."""
        with self._lock:
            self._complete = True
            self._write(export_file(connection, tournament, after=self._through))


@dataclass(eq=False)
class RunAtServer:
    """A local run, after its server has started."""

    plan: LocalPlan
    specs: Mapping[str, BotSpec]
    processes: Mapping[str, BotProcess]
    server: Server
    launcher: InitVar[Launcher]
    transcripts: InitVar[Transcripts]
    on_progress: Callable[[LocalProgress], None]
    stop: LocalStop
    retry: StartRetry
    on_game: Callable[[PlayedGame, MatchGames], None] = lambda game, match: None
    write: Callable[[Iterator[ExportedGame]], None] = lambda games: None
    """Called with the stored games, see `GameWriter`."""

    def __post_init__(self, launcher: Launcher, transcripts: Transcripts) -> None:
        self._writer = GameWriter(self.write)
        self._fatal: PlayedGame | None = None
        # Each label is a bot whose versions are specs, because the label can mean another spec in the next run.
        versions = {label: spec.short for label, spec in self.specs.items()}
        self._tournament = LocalTournament(
            self.server, self.plan.settings, versions, self.plan.resumes, omitted_games=self.plan.omitted_games
        )
        sprt = self.plan.settings.sprt
        self._labels = tuple(self.specs)
        """By number of the entry: entries are numbered in the order in which they joined."""
        self._match = MatchGames(Sprt.parse(sprt) if sprt else None)
        """The games of a match; with more bots, nothing is counted."""
        self.children = LocalChildren(self.server, self._tournament, self.plan, launcher, transcripts)

    async def play(self) -> None:
        """Play the tournament with its bots to its end or to the stop. Raise LocalError."""
        await self._tournament.create()
        if self.plan.resumes:
            await self.server.store.read(self._count_earlier_games)
        for label, margin_us in self.plan.margins_us.items():
            version = self._tournament.bots[label].id
            self.server.referee.player(version).margin_us = margin_us
        async with AsyncExitStack() as stack:
            stack.enter_context(listening(self.server.bus, COMMITTED, self._committed))
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            processes = []
            for label, spec in self.specs.items():
                play_bot = self.children.play if spec.child_kind else self._play_with_restarts
                processes.append(tasks.create_task(play_bot(label, spec), name=label))
            try:
                if await self._ends_before(self.stop.finishing, self._all_online()):
                    games = self._tournament.play(self._report, self._writer.add)
                    if not await self._ends_before(self.stop.finishing, games):
                        await self._ends_before(self.stop.aborting, self.server.drain())
                        self.server.abandon()
                    await self.server.recorder.flush()
            finally:
                for process in processes:
                    process.cancel()
                self.children.close()
                if self.stop.finishing.is_set():
                    # The user can resume the tournament, but a server does not resume it by itself.
                    with suppress(WrongState):  # the tournament has just finished
                        await self.server.director.pause(self._tournament.slug)

    async def outcome(self) -> LocalOutcome:
        """Write the games that are not written yet, and return the stored outcome."""
        store = self.server.store
        await self.server.recorder.flush()
        await self.children.faults.finish(lambda number: not self._match.over or number <= self._match.known)

        def read(connection: Any) -> tuple[Tournament, CrosstablePage, dict[str, int], Tally, bool]:
            tournament = get_tournament(connection, self._tournament.slug)
            table = whole_crosstable(connection, tournament)
            self._writer.add_rest(connection, tournament)
            # Only language models have records in comments, and reading all games takes time.
            has_models = any(spec.asks_an_endpoint for spec in self.specs.values())
            games = export(connection, tournament.id) if has_models else ()
            has_games = bool(
                tournament.games_done or games_so_far(connection, tournament.id, 1, tournament.games_total)
            )
            return (
                tournament,
                table,
                terminations(connection, tournament.id),
                Tally(map(stored_record, games)),
                has_games,
            )

        tournament, crosstable, games_by_termination, tally, has_games = await store.read(read)
        table = tuple(crosstable.standings)
        self._report(tournament, table)
        finished = tournament.state is TournamentState.FINISHED
        can_be_resumed = has_games and not finished
        return LocalOutcome(
            games=tournament.games_done,
            games_total=tournament.games_total,
            interrupted=not finished,
            standings=table,
            pairs=tuple(crosstable.cells),
            matches=(*crosstable.matches, *crosstable.pairings),
            terminations=games_by_termination,
            faults=self.children.faults.all_faults,
            fatal=self._fatal,
            endless=tournament.settings.schedule.endless,
            kept=self.server.store.url if can_be_resumed else "",
            models=make_table(TableKind.MODELS, tally),
            match=self._match.statistics() if len(self.specs) == 2 else None,
            exhausted=self._match.exhausted,
        )

    def _committed(self, report: CommitReport) -> None:
        for game in report.games:
            self._count(game)
            labelled_game = self._with_labels(game)
            self.on_game(labelled_game, self._match)
            if self.plan.fatal and self._fatal is None and labelled_game.is_fault:
                self._fatal = labelled_game
                self.stop.finish()

    def _count_earlier_games(self, connection: Any) -> None:
        """Count the games that were played before this run."""
        for game in finished_games(connection, get_tournament(connection, self._tournament.slug).id):
            self._count(game)
            self.on_game(self._with_labels(game)._replace(is_earlier=True), self._match)

    def _count(self, game: FinishedGame) -> None:
        """If this is a match, count a stored game for the bot that was named first."""
        if len(self.specs) == 2:
            self._match.add({game.ordinal: counted_game(game, self.plan.settings.variant, base=1)})

    def _with_labels(self, game: FinishedGame) -> PlayedGame:
        first, second = self._labels[game.first], self._labels[game.second]
        return PlayedGame(game.ordinal, first, second, game.outcome, game.fault)

    # The bots' processes.

    async def _play_with_restarts(self, label: str, spec: BotSpec) -> None:
        """Run the bot's process, up to `_ATTEMPTS` times. If it crashes, it loses its running games.

        Raise LocalError after the last attempt.
        """
        process = self.processes[label]
        code = await self._play_in(process, label)
        for _ in range(1, _ATTEMPTS):
            async with bot_process(spec, self.plan.settings.concurrency, self.retry) as process:
                code = await self._play_in(process, label)
        problem = f"{label}: its process ended {_ATTEMPTS} times, at last with exit code {code}"
        advice = f"try it alone: noughts bot check {shlex.quote(str(spec))}"
        raise LocalError("\n".join([problem, *process.lines]), advice)

    async def _play_in(self, process: BotProcess, label: str) -> int:
        """Play in the process until it ends, and return its exit code. If cancelled, end it before the server ends."""
        try:
            code = await process.play(self.server.address, self._tournament.ticket(label))
        finally:
            await process.stop()
        # The bot loses its running games at once.
        self.server.sessions.wire(self._tournament.bots[label].id).dismiss()
        return code

    async def _all_online(self) -> None:
        """Return when all bots are online. Raise LocalError after a time limit."""
        tournament = self._tournament
        times = self.plan.children
        limit = _START_SECONDS
        if self.plan.has_children:
            limit += MOST_STARTS * (times.start + 2 * times.stop)
        try:
            async with asyncio.timeout(limit):
                await tournament.all_online(lambda: self._report(None, (), missing=len(tournament.missing())))
        except TimeoutError:
            names = ", ".join(tournament.missing())
            advice = "give them longer: --start-timeout, or try each alone with `noughts bot check SPEC`"
            raise LocalError(f"{names}: not online after {limit:.0f} s", advice) from None

    def _report(self, tournament: Tournament | None, table: tuple[Standing, ...], *, missing: int = 0) -> None:
        self.on_progress(
            LocalProgress(
                bots_online=len(self.specs) - missing,
                bots_expected=len(self.specs),
                games_done=tournament.games_done if tournament else 0,
                games_total=tournament.games_total if tournament else 0,
                plies=self.server.referee.plies,
                standings=table,
                sprt=self._match.state,
            )
        )

    async def _ends_before(self, event: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
        """Run the work until the event, then cancel it. Return whether it ended before the event."""
        async with asyncio.TaskGroup() as tasks:
            work_task = tasks.create_task(work)
            event_task = tasks.create_task(event.wait())
            await asyncio.wait((work_task, event_task), return_when=asyncio.FIRST_COMPLETED)
            is_done = work_task.done()
            work_task.cancel()
            event_task.cancel()
        return is_done
