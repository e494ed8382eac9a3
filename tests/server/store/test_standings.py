"""The standings of a database have the order that tables of the same games have, in every format."""

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.competition import formats
from noughts_server.records.replay import stored_record
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.exports import export
from noughts_server.store.games.standings import standings
from noughts_server.store.tournaments import brackets
from noughts_server.store.tournaments.brackets import listed_rounds
from noughts_server.store.tournaments.entries import withdraw_entry
from noughts_server.store.tournaments.tournaments import get_tournament, pause_tournament
from noughts_server.tables.standings import RankedEntry, Standing, compute_standings
from noughts_server.tables.tally import Tally
from tests.support.arena import NOW, Arena, open_arena
from tests.support.settings import repetitions

BOTS = ("ada", "bob", "cleo", "dora", "emil", "fay", "gus")
SETTINGS: dict[str, dict[str, Any]] = {
    "swiss": {"rounds": 3},
    "danish": {"rounds": 3},
    "match": {"bots": BOTS[:2], "games_per_pair": 6},
    "candidates": {"games_per_pair": 12, "sprt": "elo0=0,elo1=50"},
}
_WITH_TIES = (Result.DRAW, Result.FIRST_WINS, Result.DRAW, Result.SECOND_WINS, Result.VOID)


async def play_with_ties(arena: Arena, chance: Random) -> None:
    """Play a tournament with results at random, of which many are draws, and withdraw an entry on the way."""
    for step in range(400):
        tournament = await arena.store.read(partial(get_tournament, slug="cup"))
        if tournament.state is not TournamentState.RUNNING:
            return
        if step == 1 and chance.random() < 0.5:
            await arena.store.write(partial(withdraw_entry, slug="cup", label="bob", reason="test", now_ms=NOW))
        games = await arena.play(tournament)
        await arena.commit([_with_result(game, chance.choice(_WITH_TIES)) for game in games])
    await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))


def _with_result(game: FinishedGame, result: Result) -> FinishedGame:
    return game._replace(result=result, termination=Termination.VOID if result is Result.VOID else Termination.LINE)


def rank_and_tie_breaks(row: Standing | RankedEntry) -> tuple[Any, ...]:
    return row.label, row.rank, row.points, row.head_to_head, row.sonneborn_berger, row.tie_break


@pytest.mark.at_length
@pytest.mark.parametrize("seed", range(repetitions(3)))
@pytest.mark.parametrize("form", [str(tournament_format) for tournament_format in formats.FORMATS])
async def test_a_database_ranks_as_tables_rank_its_games(tmp_path: Path, form: str, seed: int) -> None:
    async with open_arena(tmp_path / "test.db") as arena:
        settings = {"bots": BOTS, "games_per_pair": 2, **SETTINGS.get(form, {})}
        await arena.tournament(schedule=formats.format_named(form), **settings)
        await play_with_ties(arena, Random(seed))

        def read(connection: Any) -> tuple[list[Standing], list[RankedEntry]]:
            tournament = get_tournament(connection, "cup")
            table = standings(connection, tournament)
            scores = Tally(stored_record(game) for game in export(connection, tournament.id)).scores
            names = {row.number: row.label for row in table}
            matches_won = {names[each]: count for each, count in brackets.matches_won(connection, tournament).items()}
            byes = {row.label: row.bye_points for row in table}
            return table, compute_standings(byes, scores, byes, matches_won if form == "knockout" else None)

        stored_rows, expected_rows = await arena.store.read(read)
    assert list(map(rank_and_tie_breaks, stored_rows)) == list(map(rank_and_tie_breaks, expected_rows))


@pytest.mark.parametrize("form", ["swiss", "danish", "round-robin"])
async def test_buchholz_is_the_sum_of_the_points_of_all_opponents(tmp_path: Path, form: str) -> None:
    async with open_arena(tmp_path / "test.db") as arena:
        settings = {"bots": BOTS, "games_per_pair": 2, **SETTINGS.get(form, {})}
        await arena.tournament(schedule=formats.format_named(form), **settings)
        chance = Random(5)
        tournament = await arena.store.read(partial(get_tournament, slug="cup"))
        while tournament.state is TournamentState.RUNNING:
            results = (Result.DRAW, Result.FIRST_WINS, Result.SECOND_WINS)
            games = await arena.play(tournament)
            await arena.commit([_with_result(game, chance.choice(results)) for game in games])
            tournament = await arena.store.read(partial(get_tournament, slug="cup"))
        table = await arena.store.read(lambda connection: standings(connection, tournament))
        labels = {row.number: row.label for row in table}
        rounds = await arena.store.read(lambda connection: list(listed_rounds(connection, tournament, labels)))
        if form == "round-robin":
            assert {row.buchholz for row in table} == {None}
            return
        assert len(rounds) == 3 * 4  # three pairings and a bye in each of three rounds
        points = {row.label: row.points for row in table}
        expected = dict.fromkeys(points, 0.0)
        for pairing in rounds:
            assert pairing.first is not None
            expected[pairing.first] += points[pairing.second or pairing.first]
            if pairing.second is not None:
                expected[pairing.second] += points[pairing.first]
        assert {row.label: row.buchholz for row in table} == expected
