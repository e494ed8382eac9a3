"""The analyst of a website: a player that judges the positions at which visitors look.

It runs in a process of its own, which starts with the first question, and ends when nobody asks. Answers are opinions,
not proofs, so pages show them apart from the analysis.
"""

import asyncio
import json
import time
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog

from noughts_proto.interpreter import environment, python
from noughts_server.web.documents import Document

logger = structlog.get_logger("noughts.web")

_PROCESS = "noughts_server.local.analyst_process"
_START_SECONDS = 60.0
_REST_SECONDS = 30.0
"""The time for an answer after the time to think."""
_IDLE_SECONDS = 60.0
"""The process ends when nobody has asked for this time."""
_WATCHED_SECONDS = 30.0
"""A visitor who has not asked again for this time no longer waits."""
_MOST_KNOWN = 2_000
"""Opinions that are remembered: about 10 MB with long games."""
_MOST_WAITING = 64
_FAILED, _FAILED_TWICE = "it has failed", "it failed twice in this position"
"""What pages say of a failure. The reason is only for the log: it can have the paths and arguments of the operator."""
_MOST_OF_VISITOR = 4
"""Positions that wait for a visitor, each of another game."""
_LONGEST_OUTPUT = 2_000
"""Characters at the end of the process's stderr that the log has."""
_OUTPUT_SECONDS = 1.0
"""The time to read this output: a process that it started may hold stderr open."""
# Seconds before the process is started again after a failure. Each later pause is twice as long.
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSettings:
    """The operator's choice of an analyst."""

    name: str
    """The name that pages show."""
    spec: str
    seconds: float = 1.0
    """The time to think about a position."""


class _Position(NamedTuple):
    variant: str
    moves: tuple[int, ...]


class _Watched(NamedTuple):
    """A game at which a visitor looks. Each has one position that waits."""

    visitor: str
    game: str


class _Request(NamedTuple):
    position: _Position
    time: float
    """When the visitor asked the last time."""


class _AnalystError(Exception):
    """The process has failed; the text says why."""


class Analyst:
    """Judges positions on request, one at a time. `running_analyst` does the work."""

    def __init__(self, settings: AnalystSettings) -> None:
        self.name = settings.name
        self._settings = settings
        self._known: OrderedDict[_Position, Document] = OrderedDict()
        self._suspects: OrderedDict[_Position, None] = OrderedDict()
        """Positions in which the player has failed once, the newest last."""
        self._waiting: OrderedDict[_Watched, _Request] = OrderedDict()
        self._current: _Position | None = None
        self._wake = asyncio.Event()
        self._has_failed = False
        """Whether the last attempt failed."""
        self._process: Process | None = None

    def opinion(self, visitor: str, game: str, variant: str, moves: tuple[int, ...], *, start: bool) -> Document:
        """Return the opinion about a position, or the state of the request.

        If there is none, `start` has the analyst judge the position. Another position of the same game replaces one
        that waits.
        """
        position = _Position(variant, moves)
        if position in self._known:
            self._known.move_to_end(position)
            return self._known[position]
        if not start:
            return {"state": "none"}
        if position != self._current and not self._add(_Watched(visitor, game), position):
            return {"state": "busy"}
        if self._has_failed:
            return {"state": "unavailable", "reason": _FAILED}
        return {"state": "pending"}

    def _add(self, watched: _Watched, position: _Position) -> bool:
        """Add the position to those that wait, unless too many wait. Return whether it was added."""
        now = time.monotonic()
        for each, request in [*self._waiting.items()]:
            if request.time < now - _WATCHED_SECONDS:
                del self._waiting[each]
        waiting = self._waiting.get(watched)
        if waiting is None or waiting.position != position:
            self._waiting.pop(watched, None)
            own = [each for each in self._waiting if each.visitor == watched.visitor]
            if len(own) >= _MOST_OF_VISITOR:
                del self._waiting[own[0]]
            if len(self._waiting) >= _MOST_WAITING:
                return False
        self._waiting[watched] = _Request(position, now)
        self._wake.set()
        return True

    async def run(self) -> None:
        """Judge positions until cancelled."""
        pause = _FIRST_PAUSE
        try:
            while True:
                self._current = await self._next()
                began = time.monotonic()
                suspect = None
                try:
                    await self._start()
                    suspect = self._current
                    opinion = await self._judge(self._current)
                except (_AnalystError, OSError, TimeoutError, ValueError) as error:
                    output = await self._end_process()
                    self._note_failure(suspect, str(error) or "it took too long", output)
                    self._current = None
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                else:
                    pause, self._has_failed = _FIRST_PAUSE, False
                    self._remember(self._current, opinion)
                    self._current = None
                    # The analyst uses half of a core at most.
                    await asyncio.sleep(time.monotonic() - began)
        finally:
            await self._end_process()

    async def _next(self) -> _Position:
        """Return the next position. End the process if there is none for some time."""
        while True:
            while self._waiting:
                _, request = self._waiting.popitem(last=False)
                is_watched = request.time >= time.monotonic() - _WATCHED_SECONDS
                if is_watched and request.position not in self._known:
                    return request.position
            self._wake.clear()
            try:
                async with asyncio.timeout(None if self._process is None else _IDLE_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                await self._end_process()

    async def _start(self) -> None:
        """Start the process unless it runs. Raises the errors of `_judge`."""
        if self._process is not None and self._process.returncode is None:
            return
        self._process = await asyncio.create_subprocess_exec(
            *python("-m", _PROCESS), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment(), start_new_session=True
        )
        ready = await self._ask([self._settings.spec, self._settings.seconds], _START_SECONDS)
        logger.info("analyst_started", analyst=self.name, gaps=ready["gaps"])

    async def _judge(self, position: _Position) -> Document:
        """Return the opinion about the position. Raises _AnalystError, OSError, TimeoutError, ValueError."""
        answer = await self._ask(position, self._settings.seconds + _REST_SECONDS)
        if "refused" in answer:
            return {"state": "unavailable", "reason": str(answer["refused"])}
        return {**answer, "state": "done"}

    async def _ask(self, question: Any, seconds: float) -> Document:
        """Return the next line of the process after this one. Raises the errors of `_judge`."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        async with asyncio.timeout(seconds):
            line = await self._process.stdout.readline()
        if not line:
            raise _AnalystError("its process has ended")
        answer: Document = json.loads(line)
        if "failed" in answer:
            raise _AnalystError(str(answer["failed"]))
        return answer

    def _note_failure(self, position: _Position | None, reason: str, output: str) -> None:
        """Log why the process has failed, and remember in which position, if it had started."""
        logger.warning("analyst_failed", analyst=self.name, reason=reason, output=output)
        self._has_failed = True
        if position is None:
            return
        if position in self._suspects:
            self._remember(position, {"state": "unavailable", "reason": _FAILED_TWICE})
            del self._suspects[position]
            return
        self._suspects[position] = None
        if len(self._suspects) > _MOST_KNOWN:
            self._suspects.popitem(last=False)

    def _remember(self, position: _Position, opinion: Document) -> None:
        self._known[position] = opinion
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    async def _end_process(self) -> str:
        """End the process if it runs. Return the end of what it wrote to stderr."""
        process, self._process = self._process, None
        if process is None:
            return ""
        if process.returncode is None:
            process.kill()
            await process.wait()
        assert process.stderr is not None
        output = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(_OUTPUT_SECONDS):
                output = await process.stderr.read()
        return output.decode(errors="replace")[-_LONGEST_OUTPUT:]


@asynccontextmanager
async def running_analyst(settings: AnalystSettings | None) -> AsyncIterator[Analyst | None]:
    """Run the analyst inside the block; None if there is none."""
    if settings is None:
        yield None
        return
    analyst = Analyst(settings)
    task = asyncio.get_running_loop().create_task(analyst.run(), name="analyst")
    try:
        yield analyst
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
