"""The recorder accepts games at once, commits them in groups, and loses none."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial

import pytest

from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import Draining
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.recorder import (
    COMMIT_SECONDS,
    COMMITTED,
    COMMITTED_HERE,
    LONGEST_COMMIT_SECONDS,
    PROGRESSED,
    Recorder,
    commit_interval,
)
from noughts_server.runtime.recorder import recording as publishing
from noughts_server.store.games.results import CommitReport
from tests.support.arena import Arena

HOUR_SECONDS = 3600.0


@asynccontextmanager
async def recording(
    arena: Arena, *, interval_seconds: float = 0.01, backlog_limit: int = 50_000
) -> AsyncIterator[tuple[Recorder, list[CommitReport]]]:
    """A recorder whose loop runs, and the reports that it published; closed at the end."""
    reports: list[CommitReport] = []
    recorder = Recorder(arena.store, reports.append, interval_seconds=interval_seconds, backlog_limit=backlog_limit)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        yield recorder, reports
        await recorder.close()


async def claimed_games(arena: Arena, games: int) -> list[FinishedGame]:
    return await arena.play(await arena.tournament(games_per_pair=games))


def stored_count(arena: Arena) -> int:
    return int(arena.rows("SELECT count(*) FROM games")[0][0])


async def test_everything_recorded_is_committed_and_published_in_groups(arena: Arena) -> None:
    games = await claimed_games(arena, 100)
    async with recording(arena) as (recorder, reports):
        for game in games:
            recorder.record([game])
        assert recorder.backlog == 100
        await recorder.flush()
        assert recorder.backlog == 0
        assert stored_count(arena) == 100
    assert [game for report in reports for game in report.games] == games
    assert len(reports) == 1
    assert reports[0].progress[0].finished


@pytest.mark.parametrize("referees", [0, 1, 16, 17, 64, 128, 1_000])
def test_many_referees_commit_less_often(referees: int) -> None:
    interval = commit_interval(referees)
    assert COMMIT_SECONDS <= interval <= LONGEST_COMMIT_SECONDS
    assert referees / interval <= 64 or interval == LONGEST_COMMIT_SECONDS
    assert (interval == COMMIT_SECONDS) is (referees <= 16)


async def test_only_commits_that_concern_other_referees_are_published_to_them(arena: Arena) -> None:
    bus = MemoryBus()
    subjects: list[str] = []
    reports: list[CommitReport] = []

    def note(report: CommitReport, subject: str) -> None:
        subjects.append(subject)
        reports.append(report)

    for subject in (COMMITTED_HERE, COMMITTED, PROGRESSED):
        bus.subscribe(subject, partial(note, subject=subject))
    games = await claimed_games(arena, 10)
    async with publishing(arena.store, bus) as recorder:
        for part in (games[:4], games[4:]):
            recorder.record(part)
            await recorder.flush()
    assert subjects == [COMMITTED_HERE, COMMITTED, COMMITTED_HERE, COMMITTED, PROGRESSED]
    assert [report.games for report in reports] == [games[:4], games[:4], games[4:], games[4:], []]
    assert [progress.finished for progress in reports[-1].progress] == [True]


async def test_commits_begin_an_interval_apart(arena: Arena) -> None:
    games = iter(await claimed_games(arena, 10_000))
    now = asyncio.get_running_loop().time
    async with recording(arena, interval_seconds=0.1) as (recorder, reports):
        began = now()
        while len(reports) < 3:
            recorder.record([next(games)])
            await asyncio.sleep(0.002)
        assert now() - began >= 0.2


async def test_flush_does_not_wait_for_the_interval(arena: Arena) -> None:
    games = await claimed_games(arena, 30)
    async with recording(arena, interval_seconds=HOUR_SECONDS) as (recorder, reports):
        for begin in range(0, 30, 10):
            recorder.record(games[begin : begin + 10])
            await recorder.flush()
            assert recorder.backlog == 0
    assert [len(report.games) for report in reports] == [10, 10, 10]


async def test_flush_of_nothing_returns_at_once(arena: Arena) -> None:
    async with recording(arena, interval_seconds=HOUR_SECONDS) as (recorder, reports):
        await recorder.flush()
    assert reports == []


async def test_closing_commits_what_is_left(arena: Arena) -> None:
    games = await claimed_games(arena, 20)
    async with recording(arena, interval_seconds=HOUR_SECONDS) as (recorder, _):
        recorder.record(games[:5])
        await recorder.flush()
        recorder.record(games[5:])
    assert stored_count(arena) == 20
    await recorder.close()
    with pytest.raises(Draining):
        recorder.record(games)


async def test_room_waits_while_the_backlog_is_above_its_limit(arena: Arena) -> None:
    games = await claimed_games(arena, 40)
    async with recording(arena, backlog_limit=10) as (recorder, _):
        recorder.record(games[:10])
        await recorder.wait_for_space()
        assert recorder.backlog == 10
        recorder.record(games[10:])
        await recorder.wait_for_space()
        assert recorder.backlog <= 10


async def test_repeated_and_stale_games_are_counted_in_the_report(arena: Arena) -> None:
    games = await claimed_games(arena, 10)
    async with recording(arena) as (recorder, reports):
        recorder.record([*games, *games[:3], games[0]._replace(attempt=9)])
        await recorder.flush()
        recorder.record(games[:2])
        await recorder.flush()
    assert [(len(report.games), report.duplicates, report.stale) for report in reports] == [(10, 3, 1), (0, 2, 0)]


async def test_games_are_kept_while_another_process_holds_the_database(arena: Arena) -> None:
    games = await claimed_games(arena, 10)
    with closing(sqlite3.connect(arena.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with recording(arena) as (recorder, reports):
            recorder.record(games)
            # The store itself waits for a shorter time.
            await asyncio.sleep(0.5)
            assert recorder.backlog == 10
            other.execute("ROLLBACK")
            await recorder.flush()
    assert [len(report.games) for report in reports] == [10]


async def test_a_broken_database_ends_the_recorder_and_all_that_wait(arena: Arena) -> None:
    games = await claimed_games(arena, 10)
    arena.execute("DROP TABLE pair_scores")
    recorder = Recorder(arena.store, lambda report: None, backlog_limit=5)
    recorder.record(games)
    flushing, waiting, running = await asyncio.gather(
        recorder.flush(), recorder.wait_for_space(), recorder.run(), return_exceptions=True
    )
    assert "pair_scores" in str(running)
    for error in (flushing, waiting):
        assert isinstance(error, RuntimeError)
        assert error.__cause__ is running
    assert recorder.backlog == 10
    assert stored_count(arena) == 0
    await recorder.close()
