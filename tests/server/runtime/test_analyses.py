"""Analyses equal enumeration, are computed once, in turns and within limits, and a failed one is not tried for ever."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from structlog.testing import capture_logs

from noughts_proto.interpreter import python
from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import Variant, parse_variant
from noughts_referee.rules.boards import Board
from noughts_server.competition.formats import LADDER
from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits
from noughts_server.runtime import analyses as analyses_module
from noughts_server.runtime.analyses import Analyses, AnalysisQueue, AnalysisRequest, rebuild
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.judging_process import ask_process
from noughts_server.store.engine.schema import Kind
from noughts_server.store.games import analyses as analyses_store
from noughts_server.store.games.analyses import GameToAnalyse, RequestedAnalysis, requested_analysis, store_failure
from noughts_server.tables.game_analysis import GameAnalysis, analysed, mark_of, read_analysis
from tests.support.arena import Arena, open_arena
from tests.support.client import client_of, refusal_of
from tests.support.databases import POSTGRESQL, databases_of
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE
from tests.support.random_games import random_moves, store_random_games
from tests.support.settings import repetitions

pytestmark = pytest.mark.processes


@cache
def value(variant: Variant, own: int, other: int) -> tuple[int, int]:
    """Return the result for the side to move, and the plies to the end under best play, by enumeration."""
    values = [value_after(variant, own, other, cell) for cell in variant.free_cells(own | other)]
    best = max(result for result, _ in values)
    lengths = [plies for result, plies in values if result == best]
    return best, max(lengths) if best < 0 else min(lengths)


def value_after(variant: Variant, own: int, other: int, cell: int) -> tuple[int, int]:
    """Return the result of a move for its player, and the plies to the end, the move included."""
    placed = own | 1 << cell
    if (outcome := variant.outcome(placed, other, cell, 0)) is not None:
        return int(outcome.winner is not None), 1
    result, plies = value(variant, other, placed)
    return -result, plies + 1


def check(analysis: GameAnalysis, variant: Variant, moves: list[int]) -> None:
    """Compare the analysis of a whole game with enumeration."""
    sides = [0, 0]
    decisions, blunders, mistakes = [0, 0], [0, 0], []
    for ply, move in enumerate(moves):
        own, other = sides[ply % 2], sides[1 - ply % 2]
        before, plies = value(variant, own, other)
        verdict = analysis.verdicts[ply]
        assert (verdict.result, verdict.exact) == (before, True)
        assert verdict.plies == plies or not before
        results = {cell: value_after(variant, own, other, cell)[0] for cell in variant.free_cells(own | other)}
        if before >= 0 and min(results.values()) < before:
            decisions[ply % 2] += 1
            blunders[ply % 2] += results[move] < before
        if results[move] < before:
            mistakes.append((ply, "??" if before - results[move] == 2 else "?"))
            (turn,) = (turn for turn in analysis.turns if turn.ply == ply)
            assert turn.before.best
            assert {results[cell] for cell in turn.before.best} == {before}
        sides[ply % 2] |= 1 << move
    assert [(turn.ply, mark_of(turn)) for turn in analysis.turns] == mistakes
    assert [(side.decisions, side.blunders) for side in analysis.accuracies] == [*zip(decisions, blunders, strict=True)]


async def requested(arena: Arena, ordinal: int, slug: str = "cup") -> RequestedAnalysis:
    return await arena.store.read(partial(requested_analysis, slug=slug, ordinal=ordinal))


@asynccontextmanager
async def analysing(
    arena: Arena, *, seconds: float = PATIENCE, limits: Limits | None = None
) -> AsyncIterator[Analyses]:
    """Analyse games inside the block."""
    analyses = Analyses(
        arena.store,
        MemoryBus(),
        count_running=lambda: 0,
        leads=lambda: True,
        limits=limits or Limits(),
        longest_seconds=seconds,
    )
    async with running(analyses.run()):
        yield analyses


async def analysis_of(arena: Arena, analyses: Analyses, ordinal: int) -> RequestedAnalysis:
    """Request the analysis until there is one, or a refusal."""
    while True:
        answer = await requested(arena, ordinal)
        if answer.document is not None or answer.game is None:
            return answer
        analyses.request("ada", answer.game)
        await asyncio.sleep(0.05)


def small_board_with_gravity() -> Variant:
    board = Board(4, 3)
    return Variant("drop:4,3,3", board.columns, board.rows, board.lines(3), supports=board.beneath())


@pytest.mark.parametrize(
    "variant",
    [parse_variant("tictactoe"), parse_variant("mnk:4,3,3"), parse_variant("mnk:3,4,4"), small_board_with_gravity()],
    ids=attrgetter("name"),
)
def test_analysis_equals_enumeration(variant: Variant) -> None:
    for seed in range(repetitions(20)):
        moves = random_moves(variant, seed)
        document = analysed(variant, moves, 0, counts=True).document()
        check(read_analysis(document), variant, moves)


async def check_stored(path: Path) -> None:
    async with open_arena(path) as arena:
        moves = await store_random_games(arena, "tictactoe", 2)
        async with analysing(arena) as analyses:
            answer = await analysis_of(arena, analyses, 2)
        assert answer.document is not None
        check(read_analysis(answer.document), parse_variant("tictactoe"), moves[1])
        assert arena.rows("SELECT tournament_id, ordinal FROM analyses") == [(1, 2)]


async def test_requested_game_alone_is_analysed_and_stored(tmp_path: Path) -> None:
    await check_stored(tmp_path / "x.sqlite")


async def test_analysis_is_stored_on_postgresql(tmp_path: Path) -> None:
    with databases_of(POSTGRESQL):
        await check_stored(tmp_path / "x")


async def test_only_the_organiser_allows_analysis_of_a_live_tournament(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        for slug, allowed in (("cup", False), ("plate", True)):
            tournament = await arena.tournament(slug, games_per_pair=4, live_analysis=allowed)
            await arena.commit((await arena.play(tournament))[:1])
        assert "the tournament is not over" in (await requested(arena, 1)).refusal
        assert (await requested(arena, 1, "plate")).refusal == ""


async def test_ladders_allow_analysis_after_a_pairing_challenges_after_the_end(
    tmp_path: Path,
) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        tournament = await arena.tournament("cup", games_per_pair=4)
        await arena.commit((await arena.play(tournament))[:1])
        arena.execute(f"UPDATE tournaments SET kind = {int(Kind.CHALLENGE)}")
        assert "the tournament is not over" in (await requested(arena, 1)).refusal
        ladder = await arena.tournament("ladder", schedule=LADDER)
        first, second, *_ = await arena.play(ladder)
        await arena.commit([first])
        assert (await requested(arena, 1, "ladder")).refusal == "the other games of this pairing are not over"
        await arena.commit([second])
        assert (await requested(arena, 1, "ladder")).game is not None


async def test_analysis_of_another_version_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        (moves, _) = await store_random_games(arena, "tictactoe", 2)
        game = (await requested(arena, 1)).game
        assert game is not None
        with monkeypatch.context() as context:
            context.setattr(analyses_store, "VERSION", 0)
            await arena.store.write(partial(store_failure, game=game, reason="it was difficult"))
            assert "difficult" in (await requested(arena, 1)).refusal
        async with analysing(arena) as analyses:
            answer = await analysis_of(arena, analyses, 1)
        assert answer.document is not None
        check(read_analysis(answer.document), parse_variant("tictactoe"), moves)


async def test_request_does_not_read_comments(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        tournament = await arena.tournament("cup", keep_scores=True)
        await arena.commit(await arena.play(tournament))
        arena.execute("UPDATE games SET comments = X'FF'")  # no valid comments
        assert (await requested(arena, 1)).game is not None


async def test_server_without_analysis_says_so(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 2)
    async with client_of(tmp_path / "x.sqlite", analysis=False) as client:
        answer = await client.games.GetAnalysis(pb.GetAnalysisRequest(name="tournaments/cup/games/1"))
    assert answer.state == pb.ANALYSIS_STATE_UNAVAILABLE
    assert "--no-analysis" in answer.reason


async def test_only_a_request_without_stored_only_starts_an_analysis(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 2)
    async with client_of(tmp_path / "x.sqlite") as client:
        name = "tournaments/cup/games/1"
        for _ in range(2):
            answer = await client.games.GetAnalysis(pb.GetAnalysisRequest(name=name, stored_only=True))
            assert answer.state == pb.ANALYSIS_STATE_UNSPECIFIED
        while answer.state != pb.ANALYSIS_STATE_DONE:
            answer = await client.games.GetAnalysis(pb.GetAnalysisRequest(name=name))
            await asyncio.sleep(0.05)
        assert len(answer.values) > 5


def game_number(ordinal: int) -> GameToAnalyse:
    return GameToAnalyse(1, ordinal, "tictactoe", (), 0, counts=True)


def queue_of(limits: Limits, **ordinals: tuple[int, ...]) -> AnalysisQueue:
    """Return a queue in which the callers have added these games, one caller after the other."""
    queue = AnalysisQueue(limits)
    for caller, numbers in ordinals.items():
        for ordinal in numbers:
            queue.add(AnalysisRequest(caller, game_number(ordinal)))
    return queue


def turns(queue: AnalysisQueue) -> list[int]:
    return [game.ordinal for game in iter(queue.take, None)]


def test_callers_take_turns_and_have_limits() -> None:
    queue = queue_of(Limits(analyses=3), ada=(1, 2, 3, 3), bob=(5, 6))
    with pytest.raises(LimitReached, match="that wait"):
        queue.add(AnalysisRequest("ada", game_number(4)))
    queue.add(AnalysisRequest("ada", game_number(6)))  # it is waiting already
    assert turns(queue) == [1, 5, 2, 6, 3]


def test_game_waits_for_the_caller_whose_turn_comes_first() -> None:
    assert turns(queue_of(Limits(), ada=(1, 2, 3), bob=(3,))) == [1, 3, 2]
    assert turns(queue_of(Limits(), ada=(1, 2, 3), bob=(4, 5, 2))) == [1, 4, 2, 5, 3]
    assert turns(queue_of(Limits(), ada=(1,), bob=(2, 1))) == [1, 2]


def test_few_callers_cannot_keep_others_out_of_a_full_queue() -> None:
    limits = Limits(analyses=3, all_analyses=4)
    queue = queue_of(limits, ada=(1, 2, 3), bob=(4,), cleo=(5,))
    with pytest.raises(LimitReached):
        queue.add(AnalysisRequest("cleo", game_number(6)))  # nobody has more than two
    assert turns(queue) == [1, 4, 5, 2]


DIES_ONCE = """
import os, pathlib, signal
from noughts_server.runtime import analysis_process

marker = pathlib.Path({marker!r})
if not marker.exists():
    marker.touch()
    os.kill(os.getpid(), signal.SIGKILL)
analysis_process.main()
"""


async def test_killed_process_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = DIES_ONCE.format(marker=str(tmp_path / "died"))
    monkeypatch.setattr(analyses_module, "COMMAND", python("-c", program))
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 2)
        async with analysing(arena) as analyses:
            assert (await analysis_of(arena, analyses, 1)).document is not None


COUNTS_FOR_EVER = """
from noughts_server.runtime.judging_process import limit_processor_time

limit_processor_time(1)
while True:
    pass
"""


@pytest.mark.parametrize(
    "then, reason, attempts",
    [
        ("raise SystemExit('no memory')", "failed: the process failed", 2),
        ("print('{}')", "the process printed no analysis", 2),
        ("print('{')", "the process printed no answer", 2),
        (COUNTS_FOR_EVER, "it needs too much processor time", 1),
    ],
)
async def test_failed_analysis_is_tried_twice_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str, reason: str, attempts: int
) -> None:
    questions = []

    async def counted(*question: Any) -> Any:
        questions.append(question)
        return await ask_process(*question)

    monkeypatch.setattr(analyses_module, "ask_process", counted)
    monkeypatch.setattr(analyses_module, "COMMAND", python("-c", then))
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 2)
        async with analysing(arena) as analyses:
            for _ in range(2):
                assert reason in (await analysis_of(arena, analyses, 1)).refusal
    assert len(questions) == attempts


async def test_analysis_that_a_busy_machine_delayed_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 2)
        game = (await requested(arena, 1)).game
        assert game is not None
        with monkeypatch.context() as context, capture_logs() as logs:
            context.setattr(analyses_module, "COMMAND", python("-c", "import time; time.sleep(600)"))
            async with analysing(arena, seconds=1.0) as analyses:
                analyses.request("ada", game)
                await wait_until(lambda: bool(logs))
        assert "it took more than 1 s" in logs[0]["reason"]
        async with analysing(arena) as analyses:
            assert (await analysis_of(arena, analyses, 1)).document is not None


async def test_game_that_is_analysed_already_is_not_analysed_again(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 2)
        game = (await requested(arena, 1)).game
        assert game is not None
        await arena.store.write(partial(store_failure, game=game, reason="it is a test"))
        async with analysing(arena) as analyses:
            analyses.request("ada", game)  # by a caller who read the database before the analysis was stored
            await analysis_of(arena, analyses, 2)
        assert "it is a test" in (await requested(arena, 1)).refusal


async def test_rebuild_replaces_failures_and_drops_analyses_without_a_game(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        moves = await store_random_games(arena, "tictactoe", 4)
        for ordinal in (2, 4):
            game = (await requested(arena, ordinal)).game
            assert game is not None
            await arena.store.write(partial(store_failure, game=game, reason="it is a test"))
        arena.execute("INSERT INTO analyses (tournament_id, ordinal, document) VALUES (1, 9, '{}')")
        steps: list[tuple[int, int]] = []
        assert await rebuild(arena.store, lambda done, total: steps.append((done, total))) == 2
        assert steps == [(1, 2), (2, 2)]
        assert arena.rows("SELECT ordinal FROM analyses ORDER BY 1") == [(2,), (4,)]
        document = (await requested(arena, 4)).document
        assert document is not None
        check(read_analysis(document), parse_variant("tictactoe"), moves[3])


async def test_too_many_waiting_games_are_refused_over_grpc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses_module, "COMMAND", python("-c", "import time; time.sleep(600)"))
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 4)
    async with client_of(tmp_path / "x.sqlite", limits=Limits(analyses=1)) as client:

        def call(ordinal: int) -> Awaitable[pb.GetAnalysisResponse]:
            return client.games.GetAnalysis(pb.GetAnalysisRequest(name=f"tournaments/cup/games/{ordinal}"))

        async def is_pending(ordinal: int) -> bool:
            try:
                return (await call(ordinal)).state == pb.ANALYSIS_STATE_PENDING
            except grpc.aio.AioRpcError:
                return False

        assert await is_pending(1)
        while not await is_pending(2):
            pass  # the first game is not being analysed yet
        refusal = await refusal_of(call(3))
        assert refusal.code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "games that wait for their analysis" in refusal.status.message
        assert await is_pending(1)
        assert await is_pending(2)
