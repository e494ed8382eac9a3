"""Two games of the same entries, sides swapped, make an encounter."""

from collections import defaultdict

import pytest

from noughts_server.competition.formats.gauntlet import Gauntlet
from noughts_server.competition.formats.round_robin import RoundRobin


@pytest.mark.parametrize("kind", [RoundRobin, Gauntlet])
@pytest.mark.parametrize("entries, games", [(2, 2), (3, 4), (4, 2), (5, 5), (8, 6)])
def test_encounters_have_consecutive_numbers_and_two_games(
    kind: type[RoundRobin | Gauntlet], entries: int, games: int
) -> None:
    schedule = kind(entries, games)
    pairs = schedule.total // games
    games_by_encounter = defaultdict(list)
    ordinals = range(1, schedule.total + 1)
    for slot, encounter in zip(schedule.slots(ordinals), schedule.encounters(ordinals), strict=True):
        games_by_encounter[encounter].append(slot[1:])
    assert sorted(games_by_encounter) == list(range(pairs * -(-games // 2)))
    for slots in games_by_encounter.values():
        first, *second = slots
        assert second in ([], [first[::-1]])
    assert sum(len(slots) == 1 for slots in games_by_encounter.values()) == games % 2 * pairs
