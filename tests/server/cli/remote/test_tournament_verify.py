"""What `tournament verify` finds in games whose seeds do not follow from their tournament's."""

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_referee.rules import game_seed
from noughts_server.cli.remote.tournament_verify import compare


def test_the_games_whose_chance_was_chosen_otherwise_are_named() -> None:
    numbers = range(1, 20)
    seeds = {number: game_seed(5, number) for number in numbers}
    seeds[3] += 1
    seeds[11] = game_seed(5, 12)
    games = [games_pb2.Game(name=f"tournaments/cup/games/{number}", seed=each) for number, each in seeds.items()]
    assert compare(tournaments_pb2.Tournament(seed=5), games) == (19, [3, 11])
