"""A slow move is one trace: question, bot, answer, commit."""

from collections import Counter
from pathlib import Path

import grpc.aio
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.work_units import FinishedGame
from noughts_server.core.trace_settings import TraceSettings
from noughts_server.monitoring.tracing import SlowMoves, tracing
from noughts_server.store.games.results import CommitReport
from tests.referee.referee_driver import ScriptedConnection
from tests.support.games import conditions, unit
from tests.support.league_server import league_server_at

SECOND = 1_000_000_000


class TracedReferee:
    """A referee of one game, whose moves from 1 s on are traced, with a clock that a test moves."""

    def __init__(self, time: str) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.now = 100 * SECOND
        self.finished: list[FinishedGame] = []
        self.referee = Referee(self.finished.extend, margin_us=0)
        self.moves = SlowMoves(provider.get_tracer("test"), now=self._read_clock)
        self.referee.tracer = self.moves
        for key in (1, 2):
            self.referee.connect(self.referee.player(key), ScriptedConnection(timed=1, untimed=1))
        self.referee.add(unit(conditions(time=time)))

    def _read_clock(self) -> int:
        self.now += 1_000
        return self.now

    @property
    def game(self) -> Game:
        return next(iter(self.referee.player(1).games.values()))

    def answer(self, cell: int, took_us: int) -> None:
        game = self.game
        self.now += 1_000 * took_us
        player = self.referee.player(game.mover.key)
        assert self.referee.judge_answers(player, Answers([game.handle], [game.ply], [cell], [took_us])) == []

    def commit(self, seconds: float = 0.0) -> None:
        self.now += round(seconds * 1e9)
        games, self.finished[:] = list(self.finished), []
        self.moves.note_commit(CommitReport(games=games, seconds=seconds))

    def spans(self) -> dict[str, ReadableSpan]:
        spans = {span.name: span for span in self.exporter.get_finished_spans()}
        self.exporter.clear()
        return spans


@pytest.fixture
def journaled() -> TracedReferee:
    return TracedReferee("120+1")


def duration(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / SECOND


def test_slow_move_of_a_journaled_game_is_traced_with_the_next_commit(journaled: TracedReferee) -> None:
    journaled.answer(4, took_us=10_000)
    journaled.now += 2 * SECOND  # the question waits
    journaled.answer(0, took_us=3_000_000)
    assert journaled.spans() == {}
    journaled.now += SECOND
    journaled.commit(seconds=0.5)
    spans = journaled.spans()
    move = spans.pop("move")
    assert list(spans) == ["question", "bot", "answer", "commit"]
    assert [round(duration(span), 3) for span in spans.values()] == [2.0, 3.0, 0.0, 1.5]
    assert duration(move) == pytest.approx(6.5, abs=0.001)
    assert {span.parent and span.parent.span_id for span in spans.values()} == {move.context.span_id}
    assert {span.context.trace_id for span in spans.values()} == {move.context.trace_id}
    assert dict(move.attributes or {}) == {
        "noughts.game": "tournaments/1/games/1",
        "noughts.bot": "bot-2",
        "noughts.ply": 1,
        "noughts.variant": "tictactoe",
        "noughts.thinking_us": 3_000_000,
        "noughts.network_us": 0,
    }


def test_moves_below_the_threshold_are_not_traced(journaled: TracedReferee) -> None:
    for cell in (4, 0, 8):
        journaled.answer(cell, took_us=999_999)
    journaled.commit()
    assert journaled.spans() == {}


def test_commit_that_began_before_the_move_does_not_store_it(journaled: TracedReferee) -> None:
    journaled.answer(4, took_us=1_000_000)
    journaled.now += SECOND
    journaled.commit(seconds=0.0)
    assert "move" in journaled.spans()
    journaled.answer(0, took_us=1_000_000)
    journaled.moves.note_commit(CommitReport(seconds=10.0))
    assert journaled.spans() == {}
    journaled.commit()
    assert "move" in journaled.spans()


def test_slow_move_of_another_game_is_traced_at_its_end() -> None:
    traced = TracedReferee("10+0")
    moves = [(0, 10), (3, 1_500_000), (1, 10), (4, 10)]
    for cell, took_us in moves:
        traced.answer(cell, took_us)
        traced.commit()
    assert traced.spans() == {}
    traced.answer(2, took_us=10)
    traced.commit()
    assert list(traced.spans()) == ["question", "bot", "answer", "commit", "move"]


def test_move_of_a_void_game_is_forgotten() -> None:
    traced = TracedReferee("10+0")
    traced.answer(0, took_us=2_000_000)
    traced.referee.abandon(1)
    for _ in range(4):
        traced.commit()
    assert traced.spans() == {}
    assert traced.moves._waiting == []


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """A collector that keeps the names of the spans that it receives."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.services: set[str] = set()

    async def Export(  # the method of the protocol
        self, request: ExportTraceServiceRequest, context: object
    ) -> ExportTraceServiceResponse:
        """Receive spans."""
        for spans in request.resource_spans:
            values = {each.key: each.value.string_value for each in spans.resource.attributes}
            self.services.add(values["service.name"])
            self.names += [span.name for scope in spans.scope_spans for span in scope.spans]
        return ExportTraceServiceResponse()


async def test_a_server_sends_its_traces_to_a_collector(tmp_path: Path) -> None:
    collector, grpc_server = Collector(), grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, grpc_server)  # type: ignore[no-untyped-call]
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    await grpc_server.start()
    try:
        trace = TraceSettings(f"http://127.0.0.1:{port}", slow_seconds=0.0)
        async with (
            league_server_at(tmp_path, speed=1.0, trace=trace) as league,
            league.opponent("random") as one,
            league.opponent("first-free") as other,
        ):
            await league.start("cup", one, other)
            games = await league.games("cup")
    finally:
        await grpc_server.stop(None)
    moves = sum(len(game.moves) for game in games)
    assert Counter(collector.names) == dict.fromkeys(("move", "question", "bot", "answer", "commit"), moves)
    assert collector.services == {"noughts"}


async def test_nothing_is_traced_without_settings() -> None:
    async with tracing(None, "here") as moves:
        assert moves is None


async def test_a_collector_that_is_away_stops_nothing() -> None:
    async with tracing(TraceSettings("http://127.0.0.1:1"), "here") as moves:
        assert moves is not None
