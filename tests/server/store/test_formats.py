"""Tests on a real store of pairings that depend on results, and of extensions, late entries and withdrawals."""

from collections import Counter
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noughts_referee.clock import TimeControl
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.competition.bracket import Decision
from noughts_server.competition.formats import DANISH, GAUNTLET, KNOCKOUT, LADDER, ROUND_ROBIN, SWISS, TournamentFormat
from noughts_server.core.errors import InvalidArgument, WrongState
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import commit_games
from noughts_server.store.games.standings import crosstable, standings
from noughts_server.store.people.bots import log_in
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.tournaments import brackets
from noughts_server.store.tournaments.entries import join_tournament, withdraw_entry
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.scheduled_starts import start_or_cancel
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    conditions,
    get_tournament,
    pause_tournament,
    schedule_of,
    start_tournament,
)
from tests.support.arena import NOW, Arena, open_arena

BOTS = ("ada", "bob", "cleo", "dora", "emil", "fay", "gus")
SETTINGS_WITH_ROUNDS: dict[str, dict[str, Any]] = {
    "swiss": {"schedule": SWISS, "rounds": 4},
    "danish": {"schedule": DANISH, "rounds": 5},
    "knockout": {"schedule": KNOCKOUT, "games_per_pair": 4},
    "decided": {"schedule": KNOCKOUT, "games_per_pair": 6, "stop_when_decided": True},
}


async def get_cup(arena: Arena) -> Tournament:
    return await arena.store.read(partial(get_tournament, slug="cup"))


async def play_to_the_end(arena: Arena, chance: Random | None = None) -> None:
    """Commit games until the tournament ends; with `chance` a random part of the claimed ones each time, in any order.

    The games that were left out are claimed and played again.
    """
    for _ in range(10_000):
        tournament = await get_cup(arena)
        if tournament.state is not TournamentState.RUNNING:
            return
        games = await arena.play(tournament)
        if chance is not None:
            chance.shuffle(games)
            games = games[: chance.randint(1, len(games))]
        await arena.commit(games)
    raise AssertionError("the tournament does not end")


def stored_pairings(arena: Arena) -> list[tuple[Any, ...]]:
    return arena.rows("SELECT ordinal, first_entry, second_entry, encounter, round FROM pairings ORDER BY ordinal")


@pytest.mark.parametrize("form", SETTINGS_WITH_ROUNDS)
async def test_pairings_follow_from_results_in_any_order_of_games(tmp_path: Path, form: str) -> None:
    outcomes = []
    for chance in (None, Random(1), Random(2)):
        async with open_arena(tmp_path / f"{chance is None or chance.random()}.db") as arena:
            await arena.tournament(bots=BOTS, **SETTINGS_WITH_ROUNDS[form])
            await play_to_the_end(arena, chance)
            outcomes.append((stored_pairings(arena), arena.rows("SELECT * FROM byes ORDER BY 2, 3"), arena.ratings()))
            ended = await get_cup(arena)
            assert ended.games_total == ended.games_done == ended.folded == len(stored_pairings(arena))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("form", SETTINGS_WITH_ROUNDS)
async def test_games_of_a_transaction_that_fails_leave_no_pairing_behind(arena: Arena, form: str) -> None:
    tournament = await arena.tournament(bots=BOTS, **SETTINGS_WITH_ROUNDS[form])
    before = stored_pairings(arena)
    games = await arena.play(tournament)

    def commit_and_fail(connection: Connection) -> None:
        commit_games(connection, games, arena.state, now_ms=NOW)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await arena.store.write(commit_and_fail)
    assert (stored_pairings(arena), (await get_cup(arena)).games_done) == (before, 0)
    await arena.commit(games)
    assert len(stored_pairings(arena)) > len(before)


async def test_a_bye_of_a_swiss_counts_as_winning_all_games_of_a_pairing(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, schedule=SWISS, games_per_pair=4)
    await play_to_the_end(arena)
    table = await arena.store.read(partial(standings, tournament=await get_cup(arena)))
    byes = Counter(entry for (entry,) in arena.rows("SELECT entry FROM byes"))
    assert len(byes) == 3
    for row in table:
        assert row.byes == byes[row.number]
        assert row.points == row.wins + row.draws / 2 + 4 * byes[row.number]
    assert [row.points for row in table] == sorted((row.points for row in table), reverse=True)


async def test_the_table_of_a_knockout_begins_with_its_winner(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, schedule=KNOCKOUT)
    await play_to_the_end(arena)
    table = await arena.store.read(partial(standings, tournament=await get_cup(arena)))
    finalists = {
        entry
        for _, first, second, _, round_number in stored_pairings(arena)
        if round_number == 3
        for entry in (first, second)
    }
    assert {row.number for row in table[:2]} == finalists


async def test_a_bracket_has_labels_and_the_result_of_each_match(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, schedule=KNOCKOUT)
    first_matches = (await arena.store.read(partial(crosstable, tournament=await get_cup(arena)))).matches
    assert [(match.first, match.second, match.decision) for match in first_matches if match.round == 1] == [
        (BOTS[0], None, Decision.BYE),
        (BOTS[4], BOTS[3], None),
        (BOTS[2], BOTS[5], None),
        (BOTS[6], BOTS[1], None),
    ]
    await play_to_the_end(arena)
    table = await arena.store.read(partial(crosstable, tournament=await get_cup(arena)))
    matches = table.matches
    assert sum(match.decision is not Decision.BYE for match in matches) == len(BOTS) - 1
    assert matches[-1].winner in (matches[-1].first, matches[-1].second)
    assert sum(match.games for match in matches) == len(stored_pairings(arena))
    assert table.standings[0].label == matches[-1].winner


@pytest.mark.parametrize("schedule", [KNOCKOUT, SWISS])
async def test_unfinished_matches_have_their_games_so_far(arena: Arena, schedule: TournamentFormat) -> None:
    tournament = await arena.tournament(bots=BOTS, schedule=schedule, games_per_pair=4)
    by_number = {game.ordinal: game for game in await arena.play(tournament)}
    await arena.commit([by_number[1], by_number[3]])
    table = await arena.store.read(partial(crosstable, tournament=await get_cup(arena)))
    first_pairing = stored_pairings(arena)[0]
    labels = {BOTS[entry] for entry in first_pairing[1:3]}
    (match,) = (each for each in (*table.matches, *table.pairings) if {each.first, each.second} == labels)
    assert (match.games, match.games_left, match.next_game) == (2, 2, 2)
    assert match.first_points + match.second_points == 2
    assert (match.winner, match.decision) == (None, None)


async def test_rounds_of_a_swiss_have_labels_and_results(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, schedule=SWISS, rounds=3)
    first_pairings = (await arena.store.read(partial(crosstable, tournament=tournament))).pairings
    assert [(pairing.round, pairing.games, pairing.winner, pairing.decision) for pairing in first_pairings] == [
        *[(1, 0, None, None)] * 3,
        (1, 0, first_pairings[-1].first, Decision.BYE),
    ]
    assert sorted(name for pairing in first_pairings for name in (pairing.first, pairing.second) if name) == sorted(
        BOTS
    )
    (first, *_) = await arena.play(tournament)
    await arena.commit([first])
    current_pairings = (await arena.store.read(partial(crosstable, tournament=tournament))).pairings
    assert sum(pairing.games for pairing in current_pairings) == 1
    await play_to_the_end(arena)
    table = await arena.store.read(partial(crosstable, tournament=tournament))
    points: Counter[str] = Counter()
    for pairing in table.pairings:
        assert pairing.first is not None
        assert pairing.decision is (Decision.BYE if pairing.second is None else Decision.POINTS)
        points[pairing.first] += pairing.first_points + (2 if pairing.second is None else 0)  # type: ignore[assignment]
        if pairing.second is not None:
            points[pairing.second] += pairing.second_points  # type: ignore[assignment]
            leader = pairing.first if pairing.first_points > pairing.second_points else pairing.second
            assert pairing.winner == (None if pairing.first_points == pairing.second_points else leader)
    # Void games count half a point to both in a pairing, and nothing in the standings.
    void_games = Counter(
        entry for pair in arena.rows("SELECT first_entry, second_entry FROM games WHERE result = 4") for entry in pair
    )
    assert points == {row.label: row.points + void_games[row.number] / 2 for row in table.standings}
    assert [pairing.round for pairing in table.pairings] == sorted(pairing.round for pairing in table.pairings)
    assert {pairing.round for pairing in table.pairings} == {1, 2, 3}


async def test_crosstable_of_many_swiss_rounds_has_only_the_newest_ones(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brackets, "_MOST_PAIRINGS", 7)
    await arena.tournament(bots=BOTS, schedule=SWISS, rounds=4)
    await play_to_the_end(arena)
    pairings = (await arena.store.read(partial(crosstable, tournament=await get_cup(arena)))).pairings
    assert {pairing.round for pairing in pairings} == {3, 4}


async def test_the_crosstable_of_the_top_is_that_part_of_the_whole(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, games_per_pair=2)
    await arena.commit(await arena.play(tournament))
    whole = await arena.store.read(partial(crosstable, tournament=tournament))
    for count in (1, 2, 5, 100):
        top = {row.label for row in whole.standings[:count]}
        part = await arena.store.read(partial(crosstable, tournament=tournament, top=count))
        assert part.cells == [cell for cell in whole.cells if {cell.first, cell.second} <= top]
        assert (part.standings, part.next_page_token) == (whole.standings, "")
    with pytest.raises(InvalidArgument, match="top"):
        await arena.store.read(partial(crosstable, tournament=tournament, top=1_001))


async def test_more_rounds_than_opponents_are_refused_at_the_start(arena: Arena) -> None:
    with pytest.raises(WrongState, match="4 entries can play 3 rounds"):
        await arena.tournament(bots=BOTS[:4], schedule=SWISS, rounds=4)


async def test_an_impossible_scheduled_start_cancels_and_says_why(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], schedule=SWISS, rounds=4, start=False)
    tournament = await arena.store.write(partial(start_or_cancel, slug="cup", now_ms=NOW))
    assert tournament.state is TournamentState.CANCELLED
    assert "4 entries can play 3 rounds" in tournament.reason


@pytest.mark.parametrize(
    "others, field",
    [
        ({"rounds": 3}, "rounds"),
        ({"stop_when_decided": True}, "stop_when_decided"),
        ({"schedule": SWISS, "games_per_pair": 3}, "games_per_pair"),
        ({"draw_after": -1}, "draw_after"),
        ({"resign": "moves=3"}, "resign"),
        ({"draw": "moves=0,score=5"}, "draw"),
        ({"draw": "x" * 101}, "draw"),
        ({"adjudicate": "guess"}, "adjudicate"),
        ({"priority": 1_001}, "priority"),
        ({"throughput": 1_001}, "throughput"),
        ({"priority": 1}, "priority"),
        ({"fuel": 10**15 + 1}, "fuel"),
        ({"fuel": 1, "own_times": {"ada": TimeControl(1)}, "rated": False}, "fuel"),
    ],
)
async def test_settings_that_a_format_cannot_use_are_refused(arena: Arena, others: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgument, match=f"tournament.{field}"):
        await arena.tournament(**others)


async def test_games_added_later_equal_those_of_a_longer_tournament(tmp_path: Path) -> None:
    schedules = []
    for parts in ((6,), (2, 3, 1)):
        async with open_arena(tmp_path / f"{len(parts)}.db") as arena:
            await arena.tournament(bots=BOTS[:5], games_per_pair=parts[0])
            await play_to_the_end(arena)
            for more in parts[1:]:
                extended = await arena.store.write(partial(extend_tournament, slug="cup", games_per_pair=more))
                assert (extended.state, extended.ended_at) == (TournamentState.PAUSED, None)
                await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
                await play_to_the_end(arena)
            schedules.append(arena.rows("SELECT ordinal, first_entry, second_entry FROM games ORDER BY 1"))
            assert (await get_cup(arena)).settings.games_per_pair == 6
    assert schedules[0] == schedules[1]


async def join_late(arena: Arena, name: str) -> None:
    owner = arena.rows("SELECT id FROM owners")[0][0]
    await arena.store.write(partial(log_in, owner_id=owner, name=name, now_ms=NOW))
    await arena.store.write(partial(join_tournament, slug="cup", bot=name))


@pytest.mark.parametrize("kind", [ROUND_ROBIN, GAUNTLET])
async def test_a_late_entry_meets_all_opponents_and_nobody_plays_again(arena: Arena, kind: TournamentFormat) -> None:
    await arena.tournament(bots=BOTS[:3], games_per_pair=2, schedule=kind)
    await arena.commit((await arena.play(await get_cup(arena)))[:3])
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    await join_late(arena, "zoe")
    await join_late(arena, "yan")
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    await arena.store.write(partial(extend_tournament, slug="cup", games_per_pair=2))
    await play_to_the_end(arena)
    met = Counter(arena.rows("SELECT first_entry, second_entry FROM games"))
    pairs = combinations(range(5), 2) if kind is ROUND_ROBIN else [(0, other) for other in range(1, 5)]
    assert met == Counter({side: 2 for one, other in pairs for side in ((one, other), (other, one))})


async def test_late_entry_after_the_end_is_refused_with_a_hint_to_extend(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:2], games_per_pair=2)
    await play_to_the_end(arena)
    with pytest.raises(WrongState) as refused:
        await join_late(arena, "zoe")
    assert refused.value.hint.startswith("`noughts tournament extend cup` opens it again")
    await arena.store.write(partial(extend_tournament, slug="cup"))
    await join_late(arena, "zoe")


async def test_slots_found_in_rows_equal_those_of_arithmetic(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:4], games_per_pair=2)
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    await join_late(arena, "zoe")
    tournament = await get_cup(arena)

    def compare(connection: Connection) -> None:
        schedule = schedule_of(connection, tournament)
        slots = [schedule.slot(ordinal) for ordinal in range(1, schedule.total + 1)]
        assert list(schedule.slots(range(1, schedule.total + 1))) == slots
        for before in (1, 5, 13, schedule.total, schedule.total + 1):
            for one in range(5):
                of_one = [slot.ordinal for slot in reversed(slots) if one in slot[1:] and slot.ordinal < before]
                assert list(schedule.slots_of(one, before)) == of_one
                for other in range(5):
                    of_pair = [slot.ordinal for slot in reversed(slots) if {one, other} == set(slot[1:])]
                    of_pair = [ordinal for ordinal in of_pair if ordinal < before and one != other]
                    assert list(schedule.slots_between(one, other, before)) == of_pair
        game_pairs = Counter(schedule.game_pairs(slot.ordinal for slot in slots))
        assert set(game_pairs.values()) == {2}

    await arena.store.read(compare)


async def test_rounds_added_to_a_finished_swiss_are_played(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, schedule=SWISS, rounds=2)
    await play_to_the_end(arena)
    with pytest.raises(InvalidArgument, match="got '6', expected at most 5 more: 7 entries can play 7 rounds"):
        await arena.store.write(partial(extend_tournament, slug="cup", rounds=6))
    await arena.store.write(partial(extend_tournament, slug="cup", rounds=2))
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    await play_to_the_end(arena)
    assert arena.rows("SELECT max(round), count(DISTINCT entry) FROM byes") == [(4, 4)]


async def test_bot_with_too_many_faults_is_withdrawn_with_its_last_fault(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS[:3], games_per_pair=4, forfeit_after=2)

    def as_crash_of_bob(game: FinishedGame) -> FinishedGame:
        if 1 not in (game.first, game.second):  # bob's entry
            return game
        result = Result.SECOND_WINS if game.first == 1 else Result.FIRST_WINS
        return game._replace(result=result, termination=Termination.CRASHED)

    games = [as_crash_of_bob(game) for game in await arena.play(tournament)]
    faults = [game for game in games if game.termination is Termination.CRASHED]
    report = await arena.commit(faults[:1])
    assert report.progress[0].withdrawn == ()
    report = await arena.commit(faults[1:2])
    [withdrawal] = report.progress[0].withdrawn
    assert (withdrawal.label, withdrawal.reason) == ("bob", "lost 2 games through its own fault (2 crashed)")
    report = await arena.commit(faults[2:3])
    assert report.progress[0].withdrawn == ()
    game_conditions = await arena.store.read(partial(conditions, tournament_id=tournament.id))
    assert game_conditions.withdrawn == {1: withdrawal.reason}


async def test_withdrawn_entry_of_a_swiss_is_not_paired_again(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, schedule=SWISS, rounds=4)
    withdrawals = await arena.store.write(partial(withdraw_entry, slug="cup", label="cleo", now_ms=NOW, reason="left"))
    assert [withdrawal.entry for withdrawal in withdrawals] == [2]
    await play_to_the_end(arena)
    assert {number for _, first, second, _, number in stored_pairings(arena) if 2 in (first, second)} <= {1}


@pytest.mark.long
@pytest.mark.parametrize("forgetful", [False, True], ids=["", "restarted now and then"])
async def test_a_ladder_continues_in_any_order_of_games_and_takes_late_entries(arena: Arena, forgetful: bool) -> None:
    await arena.tournament(bots=BOTS, schedule=LADDER, games_per_pair=4, concurrency=64)
    chance = Random(3)
    open_games: dict[int, FinishedGame] = {}
    for step in range(150):
        tournament = await get_cup(arena)
        assert tournament.state is TournamentState.RUNNING
        open_games |= {game.ordinal: game for game in await arena.play(tournament)}
        playing = Counter(
            entry
            for number in {(ordinal - 1) // 4 for ordinal in open_games}
            for entry in stored_pairings(arena)[4 * number][1:3]
        )
        assert max(playing.values()) == 1, "a bot is in one pairing at once"
        if step == 40:
            await join_late(arena, "zoe")
        if step == 80:
            leave = partial(withdraw_entry, slug="cup", label="cleo", now_ms=NOW)
            assert [left.entry for left in await arena.store.write(leave)] == [2]
            pairings_before_withdrawal = len(stored_pairings(arena))
        if forgetful and chance.random() < 0.2:
            arena.state = FoldingState()
        ended_games = chance.sample(sorted(open_games), chance.randint(1, len(open_games)))
        await arena.commit([open_games.pop(ordinal) for ordinal in ended_games])
    rows = stored_pairings(arena)
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert (await get_cup(arena)).games_total == len(rows)
    meetings = [rows[start : start + 4] for start in range(0, len(rows), 4)]
    for games in meetings:
        (_, one, other, *_), *_ = games
        assert [game[1:3] for game in games] == 2 * [(one, other), (other, one)]
    assert any(7 in (first, second) for _, first, second, *_ in rows)
    assert not any(2 in (first, second) for _, first, second, *_ in rows[pairings_before_withdrawal:])


async def test_a_ladder_with_one_entry_left_waits_for_another(arena: Arena) -> None:
    await arena.tournament(bots=BOTS[:2], schedule=LADDER)
    await arena.store.write(partial(withdraw_entry, slug="cup", label="ada", now_ms=NOW))
    await arena.commit(await arena.play(await get_cup(arena)))
    stalled = await get_cup(arena)
    assert (stalled.state, stalled.games_done) == (TournamentState.RUNNING, stalled.games_total)
    await join_late(arena, "zoe")
    assert (await get_cup(arena)).games_total == stalled.games_total + 2


async def test_games_of_absent_entries_leave_room_for_those_present(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS[:2], schedule=LADDER, concurrency=2)
    await join_late(arena, "zoe")
    await join_late(arena, "yan")
    assert (await get_cup(arena)).games_total == 2  # ada and bob
    await arena.follow_presence(tournament, {0: True, 1: True})
    assert [row[1:3] for row in stored_pairings(arena)[2:]] in ([(2, 3), (3, 2)], [(3, 2), (2, 3)])
    # The state is the same after a restart, and the old games are played when both are back.
    arena.state = FoldingState()
    await arena.follow_presence(tournament, {3: True})
    assert len(stored_pairings(arena)) == 4
    report = await arena.follow_presence(tournament, {0: False})
    assert [(progress.games_total, progress.resumed) for progress in report.progress] == [(6, True)]
    assert {*stored_pairings(arena)[4][1:3]} == {0, 2}
    await arena.commit(await arena.play(await get_cup(arena)))
    games = arena.rows("SELECT first_entry, second_entry FROM games ORDER BY ordinal")
    assert games == [row[1:3] for row in stored_pairings(arena)[: len(games)]]


@pytest.mark.long
async def test_presence_that_is_stored_twice_pairs_nothing_twice(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, schedule=LADDER, concurrency=64)
    chance = Random(5)
    open_games: dict[int, FinishedGame] = {}
    absent: set[int] = set()
    for _ in range(100):
        come, gone = chance.sample(range(7), 2)
        absent = absent - {come} | {gone}
        changes = {come: False, gone: True}
        await arena.follow_presence(tournament, changes)
        await arena.follow_presence(tournament, changes)
        open_games |= {game.ordinal: game for game in await arena.play(await get_cup(arena))}
        if chance.random() < 0.2:
            arena.state = FoldingState()
        playable = [ordinal for ordinal, game in open_games.items() if absent.isdisjoint((game.first, game.second))]
        if playable:
            ended = chance.sample(playable, chance.randint(1, len(playable)))
            await arena.commit([open_games.pop(ordinal) for ordinal in ended])
    rows = stored_pairings(arena)
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert (await get_cup(arena)).games_total == len(rows) > 100


async def test_a_ladder_forgets_what_a_failed_transaction_has_paired(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, schedule=LADDER)
    games = await arena.play(tournament)
    await arena.commit(games[:2])
    before = stored_pairings(arena)

    def commit_and_fail(connection: Connection) -> None:
        commit_games(connection, games[2:], arena.state, now_ms=NOW)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await arena.store.write(commit_and_fail)
    assert stored_pairings(arena) == before
    await arena.commit(games[2:])
    rows = stored_pairings(arena)
    assert (await get_cup(arena)).games_total == len(rows) > len(before)
