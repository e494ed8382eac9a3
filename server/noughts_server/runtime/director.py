"""The director decides which tournaments are played, at the request of callers and at scheduled times.

It writes its decisions to the store; a `TournamentPlay` plays the tournaments.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog

from noughts_referee.work_units import GameConditions
from noughts_server.core.errors import Draining, NoughtsError
from noughts_server.core.resource_names import short
from noughts_server.runtime.endless_work import wait_until_set
from noughts_server.runtime.supply import U
from noughts_server.runtime.tournament_play import LocalPlay, TournamentPlay
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.endings import start_or_finish
from noughts_server.store.tournaments.entries import withdraw_entry
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.leagues import ended_leagues, open_next_season, stop_league
from noughts_server.store.tournaments.scheduled_starts import due_tournaments, next_start, start_or_cancel
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    cancel_tournament,
    get_tournament,
    organiser_has_conflict,
    pause_tournament,
)
from noughts_server.tables.standings import ON_REQUEST

logger = structlog.get_logger("noughts.director")

Value = TypeVar("Value")

_LONGEST_WAIT_SECONDS = 60.0
"""The longest time until the scheduler reads the clock again, because the clock can be set meanwhile."""
_AFTER_FAILURE_SECONDS = 1.0


@dataclass(eq=False)
class Director:
    """Starts, pauses, resumes and ends tournaments."""

    store: Store
    play: TournamentPlay
    leads: Callable[[], bool] = lambda: True
    """Returns whether this director is the one of a cluster that starts scheduled tournaments."""
    check_seconds: float = _LONGEST_WAIT_SECONDS
    """The longest time between two checks of the scheduled starts, which other servers can have changed."""

    def __post_init__(self) -> None:
        self._tasks: asyncio.TaskGroup | None = None
        self._rescheduled = asyncio.Event()
        self._running: set[asyncio.Task[Any]] = set()
        """The tasks that are cancelled when the server stops."""

    @asynccontextmanager
    async def directing(self, *, resumes_play: bool = True) -> AsyncIterator[None]:
        """Accept requests inside the block. If `resumes_play` is false, start no tournaments at scheduled times."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            if resumes_play:
                self._running.add(tasks.create_task(self._start_on_time(), name="scheduled starts"))
            try:
                yield
            finally:
                self._tasks = None
                for task in self._running:
                    task.cancel()

    async def run_uncancelled(self, work: Callable[[], Awaitable[Value]]) -> Value:
        """Await `work`, and return its result or raise its error. If the caller is cancelled, the work continues.

        A caller is cancelled if its client hangs up. If the work ended halfway, the store could contain a running
        tournament that is not played. Raises Draining if the server stops.
        """
        if self._tasks is None:
            raise Draining()
        task = self._tasks.create_task(_outcome(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.add_done_callback(_log_unexpected_error)
            raise
        if task.cancelled():
            raise Draining()
        outcome = task.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def start(self, slug: str, *, owner_id: int | None = None) -> None:
        """Start or resume a tournament that is open or paused; with `owner_id` only its owner may.

        Raise Unavailable if games from before a pause are still running after a few seconds, and the store's errors.
        """
        await self.play.wait_until_settled(await self.store.read(lambda connection: get_tournament(connection, slug)))
        start = partial(start_or_finish, slug=slug, now_ms=self.store.now_ms(), owner_id=owner_id)
        self.play.apply_change(await self.store.write(start))

    async def create(self, create: Callable[[Connection], str]) -> Tournament:
        """Create a tournament by a transaction that returns its ID, and play it now or at its scheduled start."""

        async def create_and_play() -> Tournament:
            slug = await self.store.write(create)
            tournament = await self.store.read(lambda connection: get_tournament(connection, slug))
            self.reschedule()
            if tournament.state is TournamentState.RUNNING:
                self.play_running(tournament)
            return tournament

        return await self.run_uncancelled(create_and_play)

    def play_running(self, tournament: Tournament) -> None:
        """Play a tournament whose stored state is running, unless it is played already."""
        self.play.apply_change(tournament)

    def reschedule(self) -> None:
        """Read the schedule again, because a tournament with a scheduled start was created."""
        self._rescheduled.set()

    async def pause(self, slug: str, *, owner_id: int | None = None, reason: str = "", now: bool = False) -> None:
        """Pause a tournament: begin no new game. Running games are finished; with `now` they end without a result."""
        if now and await self._concede(slug, owner_id):
            return
        pause = partial(pause_tournament, slug=slug, now_ms=self.store.now_ms(), owner_id=owner_id, reason=reason)
        paused = await self.store.write(pause)
        if now:
            self.play.abandon_games(paused)
        else:
            self.play.apply_change(paused)

    async def cancel(self, slug: str, *, owner_id: int | None = None, reason: str = "") -> None:
        """End the tournament permanently; running games end as void."""
        await self.play.wait_until_settled()
        if await self._concede(slug, owner_id):
            return
        now = self.store.now_ms()
        cancel = partial(cancel_tournament, slug=slug, now_ms=now, owner_id=owner_id, reason=reason)
        self.play.apply_change(await self.store.write(cancel))

    async def _concede(self, slug: str, owner_id: int | None) -> bool:
        """If the organiser has a conflict of interest, let its bots lose their running games before it stops them.

        Return whether these losses have ended the tournament.
        """
        tournament = await self.store.read(lambda connection: get_tournament(connection, slug))
        if owner_id != tournament.owner_id:
            return False
        if not await self.store.read(partial(organiser_has_conflict, tournament=tournament)):
            return False
        await self.play.concede_games(tournament)
        tournament = await self.store.read(lambda connection: get_tournament(connection, slug))
        if tournament.ended:
            self.play.apply_change(tournament)
        return tournament.ended

    async def stop_league(self, slug: str, *, owner_id: int | None = None) -> Tournament:
        """Stop the league of a season; a season that waits for its start is cancelled. Return the newest season."""
        stop = partial(stop_league, slug=slug, now_ms=self.store.now_ms(), owner_id=owner_id)
        newest = await self.store.write(stop)
        self.play.apply_change(newest)
        return newest

    def cancel_challenge(self, challenge: GameConditions) -> None:
        """End a challenge because one of its bots has a game of a tournament to play."""
        if self._tasks is not None:
            slug = short(challenge.name)
            self._tasks.create_task(self._end_challenge(slug), name=f"end of {slug}")

    async def _end_challenge(self, slug: str) -> None:
        with suppress(NoughtsError):  # the challenge has ended already, or the server stops
            reason = "a bot began a game with a clock in a tournament"
            await self.run_uncancelled(lambda: self.cancel(slug, reason=reason))

    async def extend(self, slug: str, *, games_per_pair: int = 0, rounds: int = 0, owner_id: int | None = None) -> None:
        """Add games or rounds, see `extend_tournament`; if the tournament was finished, play them at once."""
        await self.play.wait_until_settled()

        def extend(connection: Connection) -> bool:
            finished = get_tournament(connection, slug).state is TournamentState.FINISHED
            extend_tournament(connection, slug, games_per_pair=games_per_pair, rounds=rounds, owner_id=owner_id)
            return finished and bool(games_per_pair or rounds)

        if await self.store.write(extend):
            await self.start(slug, owner_id=owner_id)
        else:
            self.play.apply_change(await self.store.read(lambda connection: get_tournament(connection, slug)))

    async def withdraw(self, slug: str, label: str, *, owner_id: int | None = None, reason: str = ON_REQUEST) -> None:
        """Withdraw an entry. If the tournament has begun, the entry loses its running and its remaining games."""
        now = self.store.now_ms()
        withdraw = partial(withdraw_entry, slug=slug, label=label, owner_id=owner_id, reason=reason, now_ms=now)
        withdrawals = await self.store.write(withdraw)
        tournament = await self.store.read(lambda connection: get_tournament(connection, slug))
        self.play.withdraw_entries(tournament, {withdrawal.entry: withdrawal.reason for withdrawal in withdrawals})

    async def _start_on_time(self) -> None:
        """Start tournaments when they are due, including those that became due while the server was stopped."""
        while True:
            self._rescheduled.clear()
            delay = self.check_seconds
            try:
                if self.leads():
                    await _run_all((self._start_due, self.open_seasons))
                    start_ms = await self.store.read_with_retries(next_start)
                    if start_ms is not None:
                        delay = min(delay, max(0, start_ms - self.store.now_ms()) / 1000)
            except NoughtsError as error:
                logger.error("scheduled_start_failed", reason=error.reason, error=str(error))
                delay = _AFTER_FAILURE_SECONDS
            await wait_until_set(self._rescheduled, delay)

    async def open_seasons(self) -> None:
        """Open the next season of each league whose last one has ended."""
        leagues = await self.store.read_with_retries(ended_leagues)
        await _run_all([partial(self._open_season, league) for league in leagues])

    async def _open_season(self, league: int) -> None:
        open_season = partial(open_next_season, league_id=league, now_ms=self.store.now_ms())
        opened = await self.store.write_with_retries(open_season)
        if opened is not None:
            logger.info("season_opened", tournament=opened.name, start_at=opened.joining.start_at)

    async def _start_due(self) -> None:
        """Start the tournaments that are due."""
        slugs = await self.store.read_with_retries(partial(due_tournaments, now_ms=self.store.now_ms()))
        await _run_all([partial(self._start_scheduled, slug) for slug in slugs])

    async def _start_scheduled(self, slug: str) -> None:
        start = partial(start_or_cancel, slug=slug, now_ms=self.store.now_ms())
        tournament = await self.store.write_with_retries(start)
        logger.info("scheduled_start", tournament=slug, state=str(tournament.state), reason=tournament.reason)
        self.play.apply_change(tournament)


def guest_displacer(director: Director, play: LocalPlay[U]) -> Callable[[GameConditions], None]:
    """Return a function that ends a bot's challenge, or delays a guest's test, for a timed game of a tournament."""

    def displace(guest: GameConditions) -> None:
        if guest.guest_test:
            play.displace_test(guest.tournament)
        else:
            director.cancel_challenge(guest)

    return displace


async def _run_all(steps: Iterable[Callable[[], Awaitable[None]]]) -> None:
    """Run the steps one after the other. If some raise a NoughtsError, raise the last one after all steps."""
    failure: NoughtsError | None = None
    for step in steps:
        try:
            await step()
        except NoughtsError as error:
            failure = error
    if failure is not None:
        raise failure


async def _outcome(work: Callable[[], Awaitable[Value]]) -> Value | Exception:
    """Return the result or the exception of `work`. A raised exception would end the task group."""
    try:
        return await work()
    except Exception as error:
        return error


def _log_unexpected_error(task: asyncio.Task[Any]) -> None:
    """Log an unexpected error of work whose caller was cancelled."""
    outcome = None if task.cancelled() else task.result()
    if isinstance(outcome, Exception) and not isinstance(outcome, NoughtsError):
        logger.error("unexpected_error", exc_info=outcome)
