"""Analyses of games that clients ask for: one at a time, in a process of the lowest priority.

Callers take turns, so that one caller with many games does not delay the others. Only the leading server of a cluster
analyses; the other servers pass requests on to it. The queue is in memory: clients ask again until there is an answer.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import structlog

from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits
from noughts_server.runtime.analysis_process import COMMAND, question
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.judging_process import JudgingError, TookTooLongError, TooMuchWorkError, ask_process
from noughts_server.store.engine.database import Store
from noughts_server.store.games.analyses import (
    GameToAnalyse,
    count_analyses,
    drop_orphans,
    forget_analysis,
    has_analysis,
    next_analysed,
    store_analysis,
    store_failure,
)
from noughts_server.tables.game_analysis import read_analysis

logger = structlog.get_logger("noughts.analyses")

REQUESTED = "analysis_requested"
"""Subject of the bus with `AnalysisRequest`."""
_PLAYING_RATIO = 29
"""The pause after an analysis, as a multiple of its processor time, while games run."""
_LONGEST_PAUSE_SECONDS = 60.0
"""Limit of the pause after one analysis."""
LONGEST_SECONDS = 900.0
"""The time after which the process of an analysis is ended. On a busy machine it gets little processor time."""
_ATTEMPTS = 2
_RETRY_SECONDS = 10.0
"""Seconds after which a caller whose request was refused should try again."""


class AnalysisRequest(NamedTuple):
    """A caller's request for the analysis of a game."""

    caller: str
    game: GameToAnalyse


class AnalysisQueue:
    """The games that wait for their analysis, once each. The callers take turns."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: OrderedDict[str, OrderedDict[tuple[int, int], GameToAnalyse]] = OrderedDict()
        """The games by caller and key. The first caller has the next turn."""

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, request: AnalysisRequest) -> None:
        """Add a game of a caller. Raises LimitReached.

        If the game waits already for another caller, it moves to this one if its turn then comes earlier. If the queue
        is full, the last game of the caller with the most games makes space for a caller with fewer.
        """
        caller, game = request
        key = _key(game)
        games = self._waiting.get(caller, OrderedDict())
        if (holder := self._holder(game)) is not None:
            number = [*self._waiting[holder]].index(key)
            if self._turn(caller, len(games)) >= self._turn(holder, number):
                return
            self._remove(holder, key)
        self._limits.check(
            "analyses", f"games that wait for their analysis for {caller}", len(games), retry_seconds=_RETRY_SECONDS
        )
        if len(self) >= self._limits.all_analyses:
            self._make_room(len(games) + 1)
        self._limits.check(
            "all_analyses", "games that wait for their analysis", len(self), retry_seconds=_RETRY_SECONDS
        )
        games[key] = game
        self._waiting[caller] = games

    def _holder(self, game: GameToAnalyse) -> str | None:
        """Return the caller for whom the game waits."""
        return next((caller for caller, games in self._waiting.items() if _key(game) in games), None)

    def _turn(self, caller: str, number: int) -> tuple[int, int]:
        """Return the turn of the caller's game with this number, from 0. An earlier turn is a smaller value."""
        callers = [*self._waiting]
        return number, callers.index(caller) if caller in self._waiting else len(callers)

    def _make_room(self, fewer: int) -> None:
        """Remove the last game of the caller with the most games if it has more than `fewer`."""
        caller = max(self._waiting, key=lambda each: len(self._waiting[each]))
        if len(self._waiting[caller]) > fewer:
            self._remove(caller, next(reversed(self._waiting[caller])))

    def _remove(self, caller: str, key: tuple[int, int]) -> None:
        games = self._waiting[caller]
        del games[key]
        if not games:
            del self._waiting[caller]

    def take(self) -> GameToAnalyse | None:
        """Remove and return the next game; None if none waits. Its caller gets the next turn after all others."""
        if not self._waiting:
            return None
        caller, games = self._waiting.popitem(last=False)
        _, game = games.popitem(last=False)
        if games:
            self._waiting[caller] = games
        return game

    def clear(self) -> None:
        self._waiting.clear()


class Analyses:
    """Analyses games on request. `run` does the work."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        *,
        count_running: Callable[[], int],
        leads: Callable[[], bool],
        limits: Limits,
        longest_seconds: float = LONGEST_SECONDS,
    ) -> None:
        self._store = store
        self._bus = bus
        self._count_running = count_running
        self._leads = leads
        self._queue = AnalysisQueue(limits)
        self._longest_seconds = longest_seconds
        self._requested = asyncio.Event()
        self._current: GameToAnalyse | None = None

    def request(self, caller: str, game: GameToAnalyse) -> None:
        """Request the analysis of a game for a caller; see `AnalysisQueue.add`. Raises LimitReached."""
        request = AnalysisRequest(caller, game)
        if self._leads():
            self._add(request)
        else:
            self._bus.publish(REQUESTED, request)

    def _add(self, request: AnalysisRequest) -> None:
        if request.game != self._current:
            self._queue.add(request)
            self._requested.set()

    def _receive_request(self, request: AnalysisRequest) -> None:
        """Add the request of another server."""
        if self._leads():
            with suppress(LimitReached):  # the caller asks again
                self._add(request)

    async def run(self) -> None:
        """Analyse games until cancelled."""
        with listening(self._bus, REQUESTED, self._receive_request):
            while True:
                await self._requested.wait()
                if not self._leads():
                    self._queue.clear()
                self._current = self._queue.take()
                if self._current is None:
                    self._requested.clear()
                    continue
                processor_seconds = 0.0
                with logging_errors(logger, "analysis_failed"):
                    processor_seconds = await self._analyse(self._current)
                self._current = None
                if self._count_running():
                    await asyncio.sleep(min(_PLAYING_RATIO * processor_seconds, _LONGEST_PAUSE_SECONDS))

    async def _analyse(self, game: GameToAnalyse) -> float:
        """Analyse a game, and store the result or the reason of the failure. If the machine was too busy, store
        nothing: the next request tries again.

        Returns:
            The processor time that the analysis used, in seconds; of one that failed, the elapsed time.
        """
        # The caller can have read the database before an analysis was stored, and asked for another one after that.
        if await self._store.read(partial(has_analysis, game=game)):
            return 0.0
        began = time.monotonic()
        try:
            computed = await _computed(game, self._longest_seconds)
        except JudgingError as failure:
            logger.error("analysis_failed", tournament_id=game.tournament_id, ordinal=game.ordinal, reason=str(failure))
            if not isinstance(failure, TookTooLongError):
                await self._store.write_with_retries(partial(store_failure, game=game, reason=failure.reason))
            return time.monotonic() - began
        await self._store.write_with_retries(partial(store_analysis, game=game, document=computed.document))
        return computed.processor_seconds


async def rebuild(store: Store, show: Callable[[int, int], object]) -> int:
    """Analyse all games again that have a stored analysis, and return how many now have one.

    An analysis that takes too long is dropped, so that the next request tries again.

    Args:
        show: called with the number of games so far and the number of all games.
    """
    await store.write(drop_orphans)
    total = await store.read(count_analyses)
    done = analysed = 0
    after = (0, 0)
    while (game := await store.read(partial(next_analysed, after=after))) is not None:
        try:
            computed = await _computed(game, LONGEST_SECONDS)
        except TookTooLongError:
            await store.write(partial(forget_analysis, game=game))
        except JudgingError as failure:
            await store.write(partial(store_failure, game=game, reason=failure.reason))
        else:
            await store.write(partial(store_analysis, game=game, document=computed.document))
            analysed += 1
        after = _key(game)
        done += 1
        show(done, total)
    return analysed


class _Computed(NamedTuple):
    """What the process of an analysis printed."""

    document: Any
    processor_seconds: float


async def _computed(game: GameToAnalyse, seconds: float) -> _Computed:
    """Return the analysis of a game. Raises JudgingError."""
    failure = JudgingError("the process failed")
    for _ in range(_ATTEMPTS):
        try:
            answer = await ask_process(COMMAND, question(game), seconds)
            computed = _Computed(answer["document"], float(answer["processor_seconds"]))
            read_analysis(computed.document)
        except (TookTooLongError, TooMuchWorkError):
            raise
        except JudgingError as error:
            failure = error
        except (KeyError, TypeError, ValueError) as error:
            failure = JudgingError("the process printed no analysis", repr(error))
        else:
            return computed
    raise failure


def _key(game: GameToAnalyse) -> tuple[int, int]:
    return game.tournament_id, game.ordinal
