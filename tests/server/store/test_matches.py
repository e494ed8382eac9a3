"""Tests of matches on a real store: a decided test ends them at the same pair, in any order of games."""

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noughts_referee.clock import TimeControl
from noughts_referee.rules import Draws, Result, Termination
from noughts_referee.work_units import FinishedGame, GameSoFar
from noughts_server.competition.formats import MATCH
from noughts_server.core.errors import InvalidArgument, TooManyEntries, WrongState
from noughts_server.statistics.match_games import MatchStatistics
from noughts_server.statistics.sprt import Decision
from noughts_server.store.checking import check_database
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.analyses import GameToAnalyse, store_failure
from noughts_server.store.games.results import commit_games
from noughts_server.store.pairing.matches import read_statistics
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament, pause_tournament, schedule_of
from tests.support.arena import NOW, Arena, open_arena

TEST_SETTINGS: dict[str, Any] = {"schedule": MATCH, "games_per_pair": 400, "sprt": "elo0=0,elo1=120,alpha=0.1"}


async def get_cup(arena: Arena) -> Tournament:
    return await arena.store.read(partial(get_tournament, slug="cup"))


async def claimed_games(arena: Arena, tournament: Tournament) -> list[FinishedGame]:
    """Return all games of a match: ada wins 60 %, draws 20 %, loses 20 %; each has an opening of two plies."""
    games = []
    for game in await arena.play(tournament):
        chance = Draws(99, game.ordinal).below(10)
        ada_wins, bob_wins = (
            (Result.FIRST_WINS, Result.SECOND_WINS) if game.first == 0 else (Result.SECOND_WINS, Result.FIRST_WINS)
        )
        result = ada_wins if chance < 6 else Result.DRAW if chance < 8 else bob_wins
        games.append(game._replace(result=result, termination=Termination.LINE, opening_plies=2))
    return games


def stored_statistics(tournament: Tournament) -> MatchStatistics:
    return read_statistics(tournament.match_counts, tournament.settings.sprt)


async def test_test_that_ends_while_it_is_paused_has_no_reason_of_the_pause(arena: Arena) -> None:
    games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS))
    pause = partial(pause_tournament, slug="cup", now_ms=NOW, reason="ada was away for 10 min while its games waited")
    assert (await arena.store.write(pause)).reason
    await arena.commit(games)
    finished = await get_cup(arena)
    assert (finished.state, finished.reason) == (TournamentState.FINISHED, "")


async def test_the_match_ends_at_the_same_pair_in_whatever_order_games_end(tmp_path: Path) -> None:
    """Also if another recorder stores some of them, or the cache is lost: a restart."""
    outcomes: list[Any] = []
    for case in ("in order", "shuffled", "two recorders", "restarts", "at once"):
        chance = Random(case)
        async with open_arena(tmp_path / f"{case}.db") as arena:
            games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS))
            if case not in ("in order", "at once"):
                # Games end at most 60 places away from their order, as concurrent games do.
                games.sort(key=lambda game: game.ordinal + chance.random() * 60)
            other_state = FoldingState()
            while games and (await get_cup(arena)).state is TournamentState.RUNNING:
                count = len(games) if case == "at once" else chance.randint(1, 9)
                if case == "two recorders":
                    arena.state, other_state = other_state, arena.state
                if case == "restarts":
                    arena.state = FoldingState()
                report = await arena.commit(games[:count])
                del games[:count]
            ended = await get_cup(arena)
            assert report.progress[0].finished
            assert (await arena.commit(games)).stale == len(games)
            outcomes.append((arena.snapshot(), ended.match_counts, ended.games_total))
            statistics = stored_statistics(ended)
            assert statistics.sprt is not None
            assert statistics.sprt.decision is Decision.H1
            assert statistics.sprt.llr >= statistics.sprt.upper
            assert ended.games_total == ended.games_done == ended.folded == 2 * statistics.pentanomial.pairs
            assert (await arena.store.read(partial(schedule_of, tournament=ended))).total == ended.games_total
            check_report = await arena.store.read(partial(check_database, errors_of=lambda game: ()))
            assert check_report.findings == []
    assert all(outcome == outcomes[0] for outcome in outcomes)


async def test_a_match_counts_endings_openings_and_who_stored_its_games(arena: Arena) -> None:
    games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS))
    games[4] = games[4]._replace(result=Result.FIRST_WINS, termination=Termination.TIMEOUT)
    for referee, batch in (("east", games[1:9]), ("west", games[:1]), ("east", games[9:])):
        arena.state = FoldingState()
        commit = partial(commit_games, games=batch, state=arena.state, now_ms=NOW, referee=referee)
        await arena.store.write(commit)
    ended = await get_cup(arena)
    counts = ended.match_counts
    assert counts is not None
    assert sum(map(sum, counts["endings"].values())) == ended.games_total
    assert counts["endings"][str(int(Termination.TIMEOUT))] == [1, 0, 0, 0]
    assert len(counts["openings"]) <= 20
    assert [sum(results) for _, results in counts["openings"]] == sorted(
        (sum(results) for _, results in counts["openings"]), reverse=True
    )
    assert counts["referees"] == {"east": len(games) - 1, "west": 1}
    assert counts["course"][-1] == [stored_statistics(ended).pentanomial.pairs, round(counts["llr"], 3)]


async def test_a_failed_transaction_leaves_no_trace_in_the_match(arena: Arena) -> None:
    games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS))

    def commit_and_fail(connection: Any) -> None:
        commit_games(connection, games, arena.state, now_ms=NOW)
        raise ZeroDivisionError

    await arena.commit(games[:3])
    with pytest.raises(ZeroDivisionError):
        await arena.store.write(commit_and_fail)
    assert stored_statistics(await get_cup(arena)).pentanomial.pairs == 1
    await arena.commit(games[3:])
    assert (await get_cup(arena)).state is TournamentState.FINISHED


async def test_a_commit_that_is_repeated_after_the_decision_reports_its_games(arena: Arena) -> None:
    games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS))
    first = await arena.commit(games)
    again = await arena.store.write(partial(commit_games, games=games, state=FoldingState(), now_ms=NOW, again=True))
    assert {game.ordinal for game in again.games} == {game.ordinal for game in first.games}
    assert again.progress[0].finished


async def test_a_match_without_a_test_plays_all_games(arena: Arena) -> None:
    await arena.commit(await claimed_games(arena, await arena.tournament(schedule=MATCH, games_per_pair=60)))
    ended = await get_cup(arena)
    assert (ended.state, ended.games_done) == (TournamentState.FINISHED, 60)
    statistics = stored_statistics(ended)
    assert (statistics.pentanomial.pairs, statistics.sprt) == (30, None)
    assert statistics.estimate.value is not None
    assert statistics.estimate.value > 50


async def test_games_lost_by_a_withdrawal_end_the_match_without_a_verdict(arena: Arena) -> None:
    games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS))
    conceded = [
        game._replace(result=Result.SECOND_WINS, termination=Termination.ADJUDICATED, fault="was withdrawn")
        for game in games[13:]
    ]
    await arena.commit(games[:13] + conceded)
    ended = await get_cup(arena)
    assert (ended.state, ended.games_total) == (TournamentState.FINISHED, 14)
    statistics = stored_statistics(ended)
    assert (statistics.pentanomial.pairs, statistics.games) == (6, 13)
    assert statistics.sprt is not None
    assert statistics.sprt.decision is Decision.CONTINUE


async def test_the_decision_deletes_journaled_games(arena: Arena) -> None:
    tournament = await arena.tournament(**TEST_SETTINGS, time=TimeControl(bank_us=10**9, increment_us=10**7))
    games = await claimed_games(arena, tournament)
    running = [GameSoFar(*games[-1][:5], b"\x04", b"\x00\x01", 10**9, 10**9, 0)]
    commit = partial(commit_games, state=arena.state, now_ms=NOW, advanced=running)
    await arena.store.write(partial(commit, games=[]))
    assert len(arena.rows("SELECT * FROM journal")) == 1
    await arena.commit(games[:-1])
    await arena.store.write(partial(commit, games=[]))
    assert arena.rows("SELECT * FROM journal") == []


async def test_only_two_bots_can_play_a_match(arena: Arena) -> None:
    with pytest.raises(TooManyEntries, match="2"):
        await arena.tournament(bots=("ada", "bob", "cleo"), schedule=MATCH)
    with pytest.raises(WrongState):
        await arena.tournament(bots=("ada",), schedule=MATCH)


async def test_a_match_cannot_be_extended(arena: Arena) -> None:
    await arena.commit(await claimed_games(arena, await arena.tournament(schedule=MATCH)))
    with pytest.raises(WrongState, match="match"):
        await arena.store.write(partial(extend_tournament, slug="cup", games_per_pair=2))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"games_per_pair": 3}, "even number"),
        ({"sprt": "elo0=5,elo1=0"}, "elo0 below elo1"),
        ({"sprt": "elo0=0"}, "no elo1"),
        ({"sprt": "elo0=0,elo1=much"}, "got 'elo1=much'"),
        ({"sprt": "x" * 201}, "at most 200"),
        ({"rounds": 3}, "a match tournament has no number of rounds"),
    ],
)
async def test_bad_settings_of_a_match_are_refused(arena: Arena, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        await arena.tournament(schedule=MATCH, **settings)


async def test_other_formats_have_no_test(arena: Arena) -> None:
    with pytest.raises(InvalidArgument, match="a round-robin tournament has no test"):
        await arena.tournament(sprt="elo0=0,elo1=5")


async def test_games_after_the_decision_lose_their_analyses(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.db") as arena:
        games = await claimed_games(arena, await arena.tournament(**TEST_SETTINGS, live_analysis=True))
        await arena.commit(games[2:])  # they wait for the first pair
        for ordinal in (3, 4, 799, 800):
            game = GameToAnalyse(1, ordinal, "tictactoe", (), 0, counts=True)
            await arena.store.write(partial(store_failure, game=game, reason="it is a test"))
        await arena.commit(games[:2])
        assert 4 < (await get_cup(arena)).games_total < 799
        assert arena.rows("SELECT ordinal FROM analyses ORDER BY 1") == [(3,), (4,)]
        # An analysis that ends after its game was dropped is not stored.
        await arena.store.write(partial(store_failure, game=game, reason="it is a test"))
        assert arena.rows("SELECT count(*) FROM analyses") == [(2,)]
