"""Facts about a tournament before it begins."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noughts_referee.clock import parse_time_control
from noughts_referee.rules import parse_variant
from noughts_server.competition.forecast import longest_game, usual_plies
from noughts_server.competition.formats import GAUNTLET, KNOCKOUT, LADDER, MATCH, ROUND_ROBIN, SWISS
from noughts_server.competition.formats.tournament_format import FixedPairings, TournamentFormat
from noughts_server.competition.pairing_batch import Field
from noughts_server.competition.tournament_settings import TournamentSettings
from tests.support.waves import Chance, waves_of


@settings(deadline=None)
@given(st.sampled_from([ROUND_ROBIN, GAUNTLET]), st.integers(2, 20), st.integers(1, 5))
def test_games_of_schedules_are_those_that_are_played(kind: FixedPairings, entries: int, games: int) -> None:
    forecast = kind.forecast(TournamentSettings(games_per_pair=games), entries)
    assert forecast.least == forecast.most == forecast.usual == kind.schedule(entries, games).total


@settings(deadline=None)
@given(st.integers(2, 20), st.sampled_from([2, 4]), st.integers(0, 2**32))
def test_games_and_rounds_of_a_swiss_are_those_that_are_played(entries: int, games: int, seed: int) -> None:
    forecast = SWISS.forecast(TournamentSettings(games_per_pair=games), entries)
    *_, (end, _) = waves_of(SWISS.next_wave, Field(entries, games=games, seed=seed), Chance(seed))
    assert forecast.least == forecast.most == sum(pairing.games for pairing in end.played)
    assert forecast.rounds == max(pairing.round for pairing in end.played)


@settings(deadline=None)
@given(
    st.integers(2, 20),
    st.sampled_from([2, 4, 6, 10]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(0, 99),
)
def test_games_of_a_knockout_are_in_the_bounds(
    entries: int, games: int, stop_when_decided: bool, draws: float, seed: int
) -> None:
    forecast = KNOCKOUT.forecast(TournamentSettings(games_per_pair=games, stop_when_decided=stop_when_decided), entries)
    begin = Field(entries, games=games, stop_when_decided=stop_when_decided)
    *_, (end, _) = waves_of(KNOCKOUT.next_wave, begin, Chance(seed, draws))
    played = sum(pairing.games for pairing in end.played)
    assert forecast.least is not None
    assert forecast.most is not None
    assert forecast.least <= played <= forecast.most
    assert forecast.most == played or draws < 1
    assert forecast.rounds == max(pairing.round for pairing in end.played)


def test_ladder_has_no_number_of_games() -> None:
    forecast = LADDER.forecast(TournamentSettings(games_per_pair=4), 7)
    assert (forecast.least, forecast.most, forecast.rounds, forecast.usual) == (None, None, None, 12)


def test_rounds_wait_for_each_other() -> None:
    forecast = SWISS.forecast(TournamentSettings(games_per_pair=2), 8)
    # Each of three rounds has eight games, of which six run at once, so a round takes the time of two games.
    assert forecast.seconds(10.0, 6) == 3 * 2 * 10.0
    assert forecast.seconds(10.0, 1) == 24 * 10.0


@pytest.mark.parametrize(
    "kind, entries, games_one_after_another",
    [
        (ROUND_ROBIN, 8, 14),  # 56 games, four at once
        (ROUND_ROBIN, 3, 6),
        (GAUNTLET, 8, 14),  # the first entry plays in all games
        (SWISS, 8, 3 * 2),
        (KNOCKOUT, 8, 3 * 2),  # four matches at once, then two, then one
        (KNOCKOUT, 6, 3 * 2),
        (MATCH, 2, 2),
        (LADDER, 8, 2),
    ],
)
def test_bots_that_play_one_game_at_a_time_need_longer(
    kind: TournamentFormat, entries: int, games_one_after_another: int
) -> None:
    forecast = kind.forecast(TournamentSettings(games_per_pair=2), entries)
    assert forecast.seconds_one_by_one(10.0, 1_024) == games_one_after_another * 10.0
    assert forecast.seconds_one_by_one(10.0, 1) == forecast.usual * 10.0


@pytest.mark.parametrize("time, seconds", [("1/move", 40.0), ("60+0.5", 140.0), ("30+0", 60.0), ("180/1+0", 40.0)])
def test_longest_game_uses_all_the_time(time: str, seconds: float) -> None:
    assert longest_game([parse_time_control(time)], 40) == seconds


def test_longest_game_is_the_mean_of_entries_and_unknown_without_a_limit() -> None:
    times = [parse_time_control(time) for time in ("1/move", "3/move")]
    assert longest_game(times, 40) == 80.0
    assert longest_game([*times, parse_time_control("none")], 40) is None


def test_usual_games_are_as_long_as_boards_and_lines_suggest() -> None:
    assert [usual_plies(parse_variant(name)) for name in ("tictactoe", "connect4", "gomoku")] == [8, 38, 60]
    assert usual_plies(parse_variant("gomoku"), draw_after=30) == 30
