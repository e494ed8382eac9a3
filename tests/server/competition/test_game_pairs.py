"""Two games of the same entries, sides swapped, make a pair of games."""

from collections import defaultdict

import pytest

from noughts_server.competition.formats.gauntlet import Gauntlet
from noughts_server.competition.formats.round_robin import RoundRobin


@pytest.mark.parametrize("kind", [RoundRobin, Gauntlet])
@pytest.mark.parametrize("entries, games", [(2, 2), (3, 4), (4, 2), (5, 5), (8, 6)])
def test_game_pairs_have_consecutive_numbers_and_two_games(
    kind: type[RoundRobin | Gauntlet], entries: int, games: int
) -> None:
    schedule = kind(entries, games)
    pairs = schedule.total // games
    games_by_game_pair = defaultdict(list)
    ordinals = range(1, schedule.total + 1)
    for slot, game_pair in zip(schedule.slots(ordinals), schedule.game_pairs(ordinals), strict=True):
        games_by_game_pair[game_pair].append(slot[1:])
    assert sorted(games_by_game_pair) == list(range(pairs * -(-games // 2)))
    for slots in games_by_game_pair.values():
        first, *second = slots
        assert second in ([], [first[::-1]])
    assert sum(len(slots) == 1 for slots in games_by_game_pair.values()) == games % 2 * pairs
