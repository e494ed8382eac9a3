"""Findings of `tournament verify` in games whose seeds do not follow from their tournament's."""

import pytest

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_referee.rules import OldSeed, game_seed
from noughts_server.cli.commands.tournament.verify import compare


@pytest.mark.parametrize("seed", [5, OldSeed(5)], ids=["hashed", "by arithmetic"])
def test_games_with_other_seeds_than_the_expected_are_named(seed: int) -> None:
    numbers = range(1, 20)
    seeds = {number: game_seed(seed, number) for number in numbers}
    seeds[3] += 1
    seeds[11] = game_seed(seed, 12)
    games = [games_pb2.Game(name=f"tournaments/cup/games/{number}", seed=seeds[number]) for number in numbers]
    assert compare(tournaments_pb2.Tournament(seed=5), games) == (19, [3, 11])
