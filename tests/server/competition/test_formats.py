"""What a format says about its tournaments without their games."""

from collections import Counter

import pytest

from noughts_server.competition.formats import (
    CANDIDATES,
    DANISH,
    FORMATS,
    GAUNTLET,
    KNOCKOUT,
    LADDER,
    MATCH,
    ROUND_ROBIN,
    SWISS,
    TournamentFormat,
)
from noughts_server.competition.tournament_settings import TournamentSettings

TEST = "elo0=0,elo1=10"


def test_only_some_formats_have_a_setting_that_can_be_raised_later() -> None:
    assert {format: format.extended_setting for format in FORMATS} == {
        ROUND_ROBIN: "games_per_pair",
        GAUNTLET: "games_per_pair",
        SWISS: "rounds",
        DANISH: "rounds",
        KNOCKOUT: "",
        LADDER: "",
        MATCH: "",
        CANDIDATES: "",
    }


@pytest.mark.parametrize("entries, games", [(2, 1), (5, 3), (6, 2)])
def test_each_entry_of_a_round_robin_has_as_many_games_as_its_schedule(entries: int, games: int) -> None:
    schedule = ROUND_ROBIN.schedule(entries, games)
    played: Counter[int] = Counter()
    for ordinal in range(1, schedule.total + 1):
        played.update(schedule.slot(ordinal)[1:])
    assert {ROUND_ROBIN.games_of_each(TournamentSettings(games_per_pair=games), entries)} == set(played.values())


@pytest.mark.parametrize(
    "format, sprt, expected",
    [(MATCH, "", 10), (MATCH, TEST, None), (CANDIDATES, TEST, None), (GAUNTLET, "", None), (SWISS, "", None)],
    ids=str,
)
def test_games_of_each_entry_are_unknown_if_results_decide(
    format: TournamentFormat, sprt: str, expected: int | None
) -> None:
    assert format.games_of_each(TournamentSettings(games_per_pair=10, sprt=sprt), 2) == expected
