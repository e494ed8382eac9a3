"""The output of a command that waits for a tournament."""

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.server_games.tournament_end import progress_line


def test_line_counts_one_game_in_the_singular() -> None:
    tournament = pb.Tournament(name="tournaments/cup", games_done=1, games_total=1)
    assert progress_line(tournament) == "cup: 1 of 1 game played"


def test_line_has_the_test_of_a_match() -> None:
    tournament = pb.Tournament(name="tournaments/cup", games_done=1_204, games_total=100_000)
    tournament.match.sprt.llr, tournament.match.sprt.lower, tournament.match.sprt.upper = 1.31, -2.944, 2.944
    tournament.match.sprt.decision = "continue"
    assert progress_line(tournament) == "cup: 1,204 of 100,000 games played, LLR 1.31 (-2.94 to 2.94)"
