"""Tests of candidates on a real store: pairs and verdict do not depend on the order in which games arrive."""

import math
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noughts_referee.rules import Draws, Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.competition.formats import CANDIDATES
from noughts_server.core.errors import InvalidArgument, TooManyEntries, WrongState
from noughts_server.statistics.sprt import Decision
from noughts_server.store.checking import check_database
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import commit_games
from noughts_server.store.pairing.matches import read_candidates
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament, pause_tournament, start_tournament
from tests.support.arena import NOW, Arena, open_arena

BOTS = ("base", "ada", "bob", "cleo")
WINS_OF_TEN = {1: 3, 2: 6, 3: 4}
"""Wins of each candidate in ten games, by entry number. Each candidate draws two games."""
SETTINGS: dict[str, Any] = {"schedule": CANDIDATES, "games_per_pair": 2_000, "sprt": "elo0=0,elo1=120,alpha=0.1"}


async def get_cup(arena: Arena) -> Tournament:
    return await arena.store.read(partial(get_tournament, slug="cup"))


async def scheduled_games(arena: Arena, tournament: Tournament, wins: dict[int, int]) -> list[FinishedGame]:
    """Return games of all slots so far, with openings of two plies; each slot always has the same game."""
    games = []
    for game in await arena.play(tournament):
        candidate, chance = max(game.first, game.second), Draws(98, game.ordinal).below(10)
        better = Result.SECOND_WINS if game.first == 0 else Result.FIRST_WINS
        if chance < wins[candidate]:
            result = better
        elif chance < wins[candidate] + 2:
            result = Result.DRAW
        else:
            result = Result.FIRST_WINS if better is Result.SECOND_WINS else Result.SECOND_WINS
        games.append(game._replace(result=result, termination=Termination.LINE, opening_plies=2))
    return games


async def play_all(arena: Arena, case: str = "in order", wins: dict[int, int] = WINS_OF_TEN) -> Tournament:
    """Commit scheduled games, a few at a time as `case` says, until the tournament ends."""
    chance, other_state = Random(case), FoldingState()
    while (tournament := await get_cup(arena)).state is TournamentState.RUNNING:
        games = await scheduled_games(arena, tournament, wins)
        if case == "at once":
            await arena.commit(games)
            continue
        if case != "in order":
            chance.shuffle(games)
        if case == "two recorders":
            arena.state, other_state = other_state, arena.state
        if case == "restarts":
            arena.state = FoldingState()
        await arena.commit(games[: 1 if case == "one by one" else chance.randint(1, 9)])
    return tournament


@pytest.mark.at_length
@pytest.mark.parametrize("wins", [WINS_OF_TEN, {1: 3, 2: 4, 3: 2}], ids=["accepted", "dropped"])
async def test_the_same_pairs_are_played_in_whatever_order_games_end(tmp_path: Path, wins: dict[int, int]) -> None:
    """Also if another recorder stores some of them, or the cache is lost: a restart."""
    outcomes: list[Any] = []
    for case in ("in order", "shuffled", "two recorders", "restarts", "at once", "one by one"):
        async with open_arena(tmp_path / f"{case}.db") as arena:
            await arena.tournament(bots=BOTS, **SETTINGS)
            ended = await play_all(arena, case, wins)
            pairs = arena.rows("SELECT ordinal, first_entry, second_entry, encounter FROM pairings ORDER BY 1")
            outcomes.append((pairs, ended.match_counts, arena.snapshot()))
            assert ended.games_total == ended.games_done == ended.folded == len(pairs)
            report = await arena.store.read(partial(check_database, errors_of=lambda game: ()))
            assert report.findings == []
            candidates = read_candidates(ended.match_counts, SETTINGS["sprt"], 3)
            assert [state for _, state in candidates] == (
                ["stopped", "accepted", "stopped"] if wins is WINS_OF_TEN else ["dropped"] * 3
            )
    assert all(outcome == outcomes[0] for outcome in outcomes)


async def test_candidates_share_alpha_and_meet_only_the_base(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, **SETTINGS)
    ended = await play_all(arena)
    assert arena.rows("SELECT COUNT(*) FROM games WHERE 0 NOT IN (first_entry, second_entry)") == [(0,)]
    [_, (best, state), _] = read_candidates(ended.match_counts, SETTINGS["sprt"], 3)
    assert state == "accepted"
    assert best.sprt is not None
    assert best.sprt.decision is Decision.H1
    assert best.sprt.upper == pytest.approx(math.log(0.95 / (0.1 / 3)))
    assert best.estimate.value is not None
    assert best.estimate.value > 0
    assert tournament.games_total == 2 * 8, "all candidates begin"


async def test_a_dropped_candidate_gets_no_more_pairs(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, **SETTINGS)
    ended = await play_all(arena, "at once", wins={1: 3, 2: 4, 3: 2})
    counted_games = sum(statistics.games for statistics, _ in read_candidates(ended.match_counts, SETTINGS["sprt"], 3))
    assert ended.games_total - counted_games <= tournament.games_total, "only pairs that were scheduled already"
    # By candidate, which is the entry other than 0 in each game.
    last_games = {
        max(row): ordinal for ordinal, *row in arena.rows("SELECT ordinal, first_entry, second_entry FROM games")
    }
    assert min(last_games.values()) < ended.games_total - tournament.games_total


async def test_a_withdrawn_candidate_is_out_without_a_decision(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, **SETTINGS)
    while (tournament := await get_cup(arena)).state is TournamentState.RUNNING:
        games = await scheduled_games(arena, tournament, WINS_OF_TEN)
        await arena.commit(
            [
                game._replace(result=Result.FIRST_WINS, termination=Termination.ADJUDICATED, fault="was withdrawn")
                if 2 in (game.first, game.second)
                else game
                for game in games
            ]
        )
    states = [state for _, state in read_candidates(tournament.match_counts, SETTINGS["sprt"], 3)]
    assert states[1] == "stopped"
    assert "accepted" not in states


async def test_a_failed_transaction_leaves_no_trace(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, **SETTINGS)
    games = await scheduled_games(arena, tournament, WINS_OF_TEN)

    def commit_and_fail(connection: Any) -> None:
        commit_games(connection, games, arena.state, now_ms=NOW)
        raise ZeroDivisionError

    await arena.commit(games[:3])
    with pytest.raises(ZeroDivisionError):
        await arena.store.write(commit_and_fail)
    assert (await get_cup(arena)).games_total == tournament.games_total
    await arena.commit(games[3:])
    assert (await get_cup(arena)).games_total == 2 * tournament.games_total


async def test_candidates_can_be_paused(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS, **SETTINGS)
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    await arena.commit(await games_claimed_before_a_pause(arena, tournament))
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    assert (await play_all(arena)).state is TournamentState.FINISHED


async def games_claimed_before_a_pause(arena: Arena, tournament: Tournament) -> list[FinishedGame]:
    """Start the tournament, claim its games, and pause it again."""
    await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    games = await scheduled_games(arena, tournament, WINS_OF_TEN)
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
    return games


async def test_the_largest_number_of_games_is_that_of_each_candidate(arena: Arena) -> None:
    await arena.tournament(bots=BOTS, **{**SETTINGS, "games_per_pair": 6})
    ended = await play_all(arena)
    assert (ended.state, ended.games_done) == (TournamentState.FINISHED, 18)
    assert {state for _, state in read_candidates(ended.match_counts, SETTINGS["sprt"], 3)} == {"stopped"}


async def test_candidates_cannot_be_extended_or_join_late(arena: Arena) -> None:
    with pytest.raises(WrongState):
        await arena.tournament("alone", bots=("base",), **SETTINGS)
    await arena.tournament(bots=BOTS, **SETTINGS)
    await play_all(arena)
    with pytest.raises(WrongState, match="candidates"):
        await arena.store.write(partial(extend_tournament, slug="cup"))
    with pytest.raises(TooManyEntries, match="65"):
        await arena.tournament("many", bots=[f"bot{number}" for number in range(66)], **SETTINGS)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"sprt": ""}, "a test, e.g. elo0=0,elo1=10: it decides which candidates are dropped"),
        ({"sprt": "elo0=5,elo1=0"}, "elo0 below elo1"),
        ({"sprt": "elo0=0,elo1=5,alpha=1e-9"}, "because 64 candidates share it"),
        ({"games_per_pair": 3}, "even number"),
    ],
)
async def test_bad_settings_are_refused(arena: Arena, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        await arena.tournament(bots=BOTS, **{**SETTINGS, **settings})
