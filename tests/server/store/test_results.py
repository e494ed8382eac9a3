"""Every slot is stored exactly once, and ratings do not depend on the order in which games were committed."""

import asyncio
import functools
import random
import tempfile
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from noughts_referee.rules import Result
from noughts_referee.work_units import FinishedGame
from noughts_server.competition.elo import Rating, rate_game
from noughts_server.core.errors import NotFound, WrongState
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import TournamentProgress, commit_games
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.ratings.rating_lists import RebuildReport, rebuild_ratings
from noughts_server.store.tournaments.claims import claim_unit, unfinished_units
from noughts_server.store.tournaments.tournaments import (
    cancel_tournament,
    get_tournament,
    pause_tournament,
    start_tournament,
)
from tests.support.arena import NOW, Arena, open_arena

BOTS = ("ada", "bob", "cleo", "ada")


def ratings_after(games: list[FinishedGame], bots: tuple[int, ...]) -> dict[int, Rating]:
    """Rate these games in slot order in the simplest way; `bots` are the bots' ids by entry number."""
    rated: dict[int, Rating] = {}
    for game in sorted(games, key=lambda game: game.ordinal):
        first, second = bots[game.first], bots[game.second]
        if first != second and game.result != Result.VOID:
            rate_game(rated.setdefault(first, Rating()), rated.setdefault(second, Rating()), game.result)
    return rated


def stored_ratings(arena: Arena) -> dict[int, Rating]:
    return {bot: Rating(*numbers) for _, bot, *numbers in arena.ratings()}


def slots_in_rating_order(arena: Arena) -> list[tuple[int, int]]:
    """Return (tournament, ordinal) of all rated slots in order of their numbers, which must have no gap."""
    runs = arena.rows("SELECT first_seq, tournament_id, first_ordinal, games FROM rating_runs ORDER BY 1")
    slots, expected = [], 1
    for first_seq, tournament, first_ordinal, games in runs:
        assert first_seq == expected
        expected += games
        slots += [(tournament, first_ordinal + offset) for offset in range(games)]
    return slots


async def rebuild(arena: Arena) -> RebuildReport:
    return await arena.store.write(rebuild_ratings)


# Each slot is stored exactly once.


async def test_commit_stores_games_scores_ratings_and_progress(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=20)
    games = await arena.play(tournament)
    report = await arena.commit(games[:12])
    assert (report.games, report.stale, report.duplicates) == (games[:12], 0, 0)
    assert report.progress == [TournamentProgress(tournament.id, "tournaments/cup", 12, 20, finished=False)]
    report = await arena.commit(games[12:], now_ms=NOW + 5)
    assert report.progress == [TournamentProgress(tournament.id, "tournaments/cup", 20, 20, finished=True)]
    ended = await arena.store.read(partial(get_tournament, slug="cup"))
    assert (ended.state, ended.games_done, ended.folded, ended.ended_at) == (TournamentState.FINISHED, 20, 20, NOW + 5)
    assert stored_ratings(arena) == ratings_after(games, (1, 2))
    assert arena.rows("SELECT * FROM rating_runs") == [(1, 1, tournament.id, 1, 20)]


async def test_game_of_an_earlier_attempt_is_dropped_and_counted(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=10)
    first_attempt = await arena.play(tournament)
    second_attempt = await arena.play(tournament)
    assert {game.attempt for game in second_attempt} == {2}
    report = await arena.commit([*first_attempt, *second_attempt])
    assert (len(report.games), report.stale, report.duplicates) == (10, 10, 0)


async def test_slot_that_has_a_game_takes_no_other(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=10)
    games = await arena.play(tournament)
    # Slot 3 twice in a batch, then whole batches again: below the prefix, behind its gap, and after a restart.
    first = [games[0], *games[2:5], games[2]]
    report = await arena.commit(first)
    assert (len(report.games), report.duplicates) == (4, 1)
    before = arena.snapshot()
    assert (await arena.commit(first)).duplicates == 5
    async with open_arena(arena.path) as restarted:
        assert (await restarted.commit(first)).duplicates == 5
    assert arena.snapshot() == before


async def test_game_without_a_claim_or_a_slot_is_stale(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=64)
    claimed = await arena.play(tournament, 0)
    game = claimed[0]
    stale_games = [
        game._replace(ordinal=64),
        # One unit's attempt does not help another unit's slot.
        game._replace(ordinal=63),
        game._replace(ordinal=0),
        game._replace(ordinal=65),
        game._replace(tournament=99),
        game._replace(attempt=0),
    ]
    report = await arena.commit(stale_games)
    assert (report.games, report.stale) == ([], len(stale_games))


async def test_game_of_a_tournament_that_has_not_started_is_stale(arena: Arena) -> None:
    game = (await arena.play(await arena.tournament()))[0]
    opened = await arena.tournament("open", start=False)
    assert (await arena.commit([game._replace(tournament=opened.id)])).stale == 1


async def test_claim_after_a_restart_lists_exactly_the_missing_slots(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=640)
    games = await arena.play(tournament)
    stored = [game for game in games if game.ordinal <= 100 or game.ordinal % 7 == 0]
    await arena.commit(stored)
    async with open_arena(arena.path) as restarted:
        # Units before the first gap (slot 101 is in unit 5) are not read again.
        units = await restarted.store.read(partial(unfinished_units, tournament_id=tournament.id))
        assert units == range(5, 32)
        missing = await restarted.play(tournament)
        assert {game.ordinal for game in missing} == set(range(1, 641)) - {game.ordinal for game in stored}
        late = [game for game in games if game not in stored]
        report = await restarted.commit(late)
        assert (report.games, report.stale) == ([], len(late))
        report = await restarted.commit(missing)
        assert [progress.finished for progress in report.progress] == [True]
        assert stored_ratings(restarted) == ratings_after(games, (1, 2))


async def test_complete_unit_has_nothing_left_to_claim(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=64)
    await arena.commit(await arena.play(tournament, 5))
    claim = await arena.store.write(partial(claim_unit, tournament_id=tournament.id, number=5))
    assert (claim.attempt, claim.slots) == (2, ())


async def test_unit_that_does_not_exist_cannot_be_claimed(arena: Arena) -> None:
    tournament = await arena.tournament()
    with pytest.raises(NotFound):
        await arena.store.write(partial(claim_unit, tournament_id=tournament.id, number=2))


async def test_paused_tournament_keeps_results_but_gives_no_units(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=4)
    games = await arena.play(tournament)
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    with pytest.raises(WrongState, match="paused"):
        await arena.store.write(partial(claim_unit, tournament_id=tournament.id, number=0))
    assert len((await arena.commit(games[:3])).games) == 3
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    report = await arena.commit(await arena.play(tournament))
    assert [(game.ordinal, game.attempt) for game in report.games] == [(4, 2)]


async def test_last_game_finishes_a_paused_tournament(arena: Arena) -> None:
    games = await arena.play(await arena.tournament())
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    report = await arena.commit(games)
    assert [progress.finished for progress in report.progress] == [True]


async def test_a_cancelled_tournament_rates_only_stored_results(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=20)
    games = await arena.play(tournament)
    stored = [game for game in games if game.ordinal in (1, 2, 5, 9, 10, 17)]
    await arena.commit(stored)
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW + 9))
    assert stored_ratings(arena) == ratings_after(stored, (1, 2))
    report = await arena.commit([game for game in games if game not in stored])
    assert (report.games, report.stale) == ([], 14)
    # The cancellation rated games, so the recorder must notice that its cached ratings are out of date.
    second = await arena.play(await arena.tournament("second"))
    await arena.commit(second)
    assert slots_in_rating_order(arena) == [(1, ordinal) for ordinal in range(1, 18)] + [(2, 1), (2, 2)]
    assert (await rebuild(arena)).differences == []


# The order of commits.


# Failing examples are not shrunk, because each one takes two databases.
@pytest.mark.long
@settings(max_examples=15, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    order=st.randoms(use_true_random=False),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    restarts=st.sets(st.integers(0, 11)),
    failures=st.sets(st.integers(0, 11)),
    recorders=st.lists(st.integers(0, 2), min_size=1, max_size=12),
)
def test_everything_stored_is_independent_of_the_order_of_commits(
    order: random.Random, sizes: list[int], restarts: set[int], failures: set[int], recorders: list[int]
) -> None:
    """Also if the recorders of several processes store the games."""
    assert stored_after(order, sizes, restarts, failures, recorders) == stored_in_order()


@functools.cache
def stored_in_order() -> dict[str, list[tuple[object, ...]]]:
    return stored_after(None, [500], set(), set(), [0])


def stored_after(
    order: random.Random | None, sizes: list[int], restarts: set[int], failures: set[int], recorders: list[int]
) -> dict[str, list[tuple[object, ...]]]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(play_two_tournaments(Path(folder) / "games.db", order, sizes, restarts, failures, recorders))


async def play_two_tournaments(
    path: Path,
    order: random.Random | None,
    sizes: list[int],
    restarts: set[int],
    failures: set[int],
    recorders: list[int],
) -> dict[str, list[tuple[object, ...]]]:
    """Return the stored rows after commits of these sizes with crashes and rolled back transactions between.

    `recorders` says which process stores each commit.
    """
    states = [FoldingState() for _ in range(3)]
    async with open_arena(path) as arena:
        # Only one is rated, because the order between two rated tournaments depends on the order of commits.
        rated = await arena.tournament("rated", bots=BOTS, games_per_pair=12)
        unrated = await arena.tournament("unrated", bots=BOTS[:3], games_per_pair=9, rated=False)
        games = await arena.play(rated) + await arena.play(unrated)
        if order:
            order.shuffle(games)
        step, begin = 0, 0
        while begin < len(games):
            size = sizes[step % len(sizes)]
            batch = games[begin : begin + size]
            recorder = recorders[step % len(recorders)]
            if step in restarts:
                states[recorder] = FoldingState()
            arena.state = states[recorder]
            if step in failures:
                await commit_and_roll_back(arena, batch)
            await arena.commit(batch)
            step, begin = step + 1, begin + size
        assert slots_in_rating_order(arena) == [(rated.id, ordinal) for ordinal in range(1, rated.games_total + 1)]
        snapshot = arena.snapshot()
        report = await rebuild(arena)
        assert report.differences == []
        assert arena.ratings() == snapshot["ratings"]
        return snapshot


async def commit_and_roll_back(arena: Arena, games: list[FinishedGame]) -> None:
    def fail(connection: object) -> None:
        commit_games(connection, games, arena.state, now_ms=NOW)  # type: ignore[arg-type]
        raise LookupError

    with pytest.raises(LookupError):
        await arena.store.write(fail)


async def test_tournaments_of_a_list_are_rated_in_order_of_commits(arena: Arena) -> None:
    one = await arena.tournament("one", bots=("ada", "bob", "cleo"), games_per_pair=10)
    two = await arena.tournament("two", bots=("cleo", "ada"), games_per_pair=20)
    games = await arena.play(one) + await arena.play(two)
    random.Random(5).shuffle(games)
    for begin in range(0, len(games), 11):
        await arena.commit(games[begin : begin + 11])
    log = slots_in_rating_order(arena)
    assert sorted(log) == [(one.id, ordinal) for ordinal in range(1, 31)] + [
        (two.id, ordinal) for ordinal in range(1, 21)
    ]
    for _, slots in groupby(sorted(log, key=lambda slot: (slot[0], log.index(slot))), key=lambda slot: slot[0]):
        ordinals = [ordinal for _, ordinal in slots]
        assert ordinals == sorted(ordinals)
    before = arena.ratings()
    assert (await rebuild(arena)).differences == []
    assert arena.ratings() == before


async def test_games_of_a_bot_against_itself_are_not_rated(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada", "ada"), games_per_pair=10)
    await arena.commit(await arena.play(tournament))
    assert arena.ratings() == []
    assert (await rebuild(arena)).differences == []


async def test_two_recorders_on_one_database_lose_nothing(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=20)
    games = await arena.play(tournament)
    random.Random(3).shuffle(games)
    async with open_arena(arena.path) as other:
        for begin in range(0, len(games), 5):
            await (arena, other)[begin // 5 % 2].commit(games[begin : begin + 5])
    assert stored_ratings(arena) == ratings_after(games, (1, 2, 3))
    assert arena.rows("SELECT state, games_done, folded FROM tournaments") == [(TournamentState.FINISHED, 60, 60)]


# Rebuilding.


async def test_rebuild_finds_and_repairs_wrong_ratings(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=20)))
    correct_ratings = arena.ratings()
    arena.execute("UPDATE ratings SET rating = rating + 1e-9 WHERE bot_id = 2")
    arena.execute("DELETE FROM ratings WHERE bot_id = 3")
    arena.execute("INSERT INTO bots (name, owner_id, created_at) VALUES ('ghost', 1, 0)")
    arena.execute("INSERT INTO ratings VALUES (1, 4, 2000, 5, 5, 0, 0)")
    progress: list[tuple[int, int]] = []
    report = await arena.store.write(
        partial(rebuild_ratings, on_progress=lambda done, total: progress.append((done, total)))
    )
    assert [(difference.rating_list, difference.bot) for difference in report.differences] == [
        ("tictactoe/untimed", "bob"),
        ("tictactoe/untimed", "cleo"),
        ("tictactoe/untimed", "ghost"),
    ]
    assert report.differences[1].stored is None
    assert report.differences[2].rebuilt is None
    assert (report.slots, report.bots, progress[-1]) == (60, 3, (60, 60))
    assert arena.ratings() == correct_ratings
    assert (await rebuild(arena)).differences == []


async def test_rebuild_of_nothing_finds_nothing(arena: Arena) -> None:
    assert await rebuild(arena) == RebuildReport(0, 0, [])


async def test_slot_that_another_program_stored_is_not_stored_twice(arena: Arena) -> None:
    games = await arena.play(await arena.tournament(games_per_pair=10))
    await arena.commit(games[:3])
    columns = "attempt, first_entry, second_entry, result, termination, moves, times, ended_at"
    arena.execute(
        f"INSERT INTO games (tournament_id, ordinal, {columns})"
        f" SELECT tournament_id, 5, {columns} FROM games WHERE ordinal = 1"
    )
    with pytest.raises(Exception, match=r"(?i)unique"):
        await arena.commit(games[3:])
    assert arena.rows("SELECT count(*) FROM games") == [(4,)]
