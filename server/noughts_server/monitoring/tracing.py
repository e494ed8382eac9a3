"""Traces of slow moves for OpenTelemetry: where the time of a move went.

A trace has the span `move` with four parts: `question` from the previous answer in the game to the time at which the
bot had the question, `bot` until its answer arrived, `answer` while the referee judged the answer, and `commit` until
the database has the move. A move of a game that is not journaled waits for the end of its game.

The spans are created when the move is stored, with the times that the referee knows anyway. Moves below the threshold
create none. Only this module imports OpenTelemetry, which is an extra, and only if tracing is on.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from noughts_referee.arbiter import Answers
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.game import Game
from noughts_server.core.resource_names import game_name
from noughts_server.core.trace_settings import SLOW_MOVE_SECONDS, TraceSettings
from noughts_server.core.version import software_version
from noughts_server.store.games.results import CommitReport

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_MOST_WAITING = 1_000
"""Limit of slow moves that wait for their commit. Further ones are not traced."""
_MOST_ANSWERED = 100_000
"""Limit of games whose last answer is remembered, for the span `question`."""
_MOST_MISSED = 3
"""Commits after the end of a game that can lack it, because it ended while they were stored."""
_EXPORT_SECONDS = 5.0
"""Time in which the last spans are sent when the process stops."""

Clock = Callable[[], int]
"""Returns the time in nanoseconds since 1970, as OpenTelemetry counts it."""


@dataclass(slots=True)
class _SlowMove:
    """A slow move. Times are nanoseconds since 1970."""

    game: Game
    player: ConnectedPlayer
    bot: str
    ply: int
    thinking_us: int
    network_us: int
    ready: int
    asked: int
    arrived: int
    judged: int = 0
    missed: int = 0
    """The number of commits without the game since it has ended."""

    @property
    def is_running(self) -> bool:
        return self.player.games.get(self.game.handle) is self.game


class SlowMoves:
    """Traces the slow moves of a referee. The referee calls it with the answers, the recorder with the commits."""

    def __init__(self, tracer: "Tracer", slow_seconds: float = SLOW_MOVE_SECONDS, now: Clock = time.time_ns) -> None:
        self._tracer = tracer
        self._slow_us = round(slow_seconds * 1e6)
        self._now = now
        self._answered: dict[int, int] = {}
        """The time of the last answer in each game, by its handle."""
        self._judging: list[_SlowMove] = []
        self._waiting: list[_SlowMove] = []
        """Moves that are judged and not stored."""

    def begin_answers(self, player: ConnectedPlayer, answers: Answers) -> None:
        """Note answers that have arrived."""
        arrived = self._now()
        for handle, ply, took_us in zip(answers.games, answers.plies, answers.times_us, strict=True):
            game = player.games.get(handle)
            if game is None or game.ply != ply or game.mover is not player:
                continue
            if took_us >= self._slow_us and len(self._waiting) + len(self._judging) < _MOST_WAITING:
                network_us = player.network_us if game.time is not None else 0
                asked = arrived - 1_000 * (took_us + network_us)
                move = _SlowMove(
                    game=game,
                    player=player,
                    bot=game.conditions.labels[game.slot[1 + (ply & 1)]],
                    ply=ply,
                    thinking_us=took_us,
                    network_us=network_us,
                    ready=min(self._answered.get(handle, asked), asked),
                    asked=asked,
                    arrived=arrived,
                )
                self._judging.append(move)
            self._answered[handle] = arrived
        if len(self._answered) > _MOST_ANSWERED:
            self._answered.clear()  # the next moves of these games have no time of their question

    def end_answers(self) -> None:
        """Note that the answers are judged."""
        if self._judging:
            judged = self._now()
            for move in self._judging:
                move.judged = judged
            self._waiting += self._judging
            self._judging = []

    def note_commit(self, report: CommitReport) -> None:
        """Create the traces of the moves that this commit has stored."""
        if not self._waiting:
            return
        stored = self._now()
        began = stored - round(report.seconds * 1e9)
        ended = {(game.tournament, game.ordinal) for game in report.games}
        waiting = []
        for move in self._waiting:
            game = move.game
            is_journaled = game.conditions.journaled and move.judged <= began
            if is_journaled or (game.conditions.tournament, game.slot.ordinal) in ended:
                self._trace(move, stored)
                continue
            if not move.is_running:
                move.missed += 1
            if move.missed < _MOST_MISSED:  # otherwise it was a void game, which no commit stores
                waiting.append(move)
        self._waiting = waiting

    def _trace(self, move: _SlowMove, stored: int) -> None:
        from opentelemetry.trace import set_span_in_context

        conditions = move.game.conditions
        root = self._tracer.start_span(
            "move",
            start_time=move.ready,
            attributes={
                "noughts.game": game_name(conditions.name, move.game.slot.ordinal),
                "noughts.bot": move.bot,
                "noughts.ply": move.ply,
                "noughts.variant": conditions.variant.name,
                "noughts.thinking_us": move.thinking_us,
                "noughts.network_us": move.network_us,
            },
        )
        parent = set_span_in_context(root)
        parts = (
            ("question", move.ready, move.asked),
            ("bot", move.asked, move.arrived),
            ("answer", move.arrived, move.judged),
            ("commit", move.judged, stored),
        )
        for name, start, end in parts:
            self._tracer.start_span(name, context=parent, start_time=start).end(end)
        root.end(stored)


@asynccontextmanager
async def tracing(settings: TraceSettings | None, node: str) -> AsyncIterator[SlowMoves | None]:
    """Send traces of slow moves inside the block; None without settings. `node` is the name of this process."""
    if settings is None:
        yield None
        return
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    attributes = {"service.name": "noughts", "service.version": software_version(), "service.instance.id": node}
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=settings.collector, timeout=_EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield SlowMoves(provider.get_tracer("noughts"), settings.slow_seconds)
    finally:
        # Both wait for the collector, so they run in a thread.
        await asyncio.to_thread(partial(provider.force_flush, round(1_000 * _EXPORT_SECONDS)))
        await asyncio.to_thread(provider.shutdown)
