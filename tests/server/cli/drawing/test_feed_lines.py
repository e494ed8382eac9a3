"""Events of a feed as JSON documents."""

from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli.drawing.feed_lines import events


def test_factor_of_scaled_times_is_a_number() -> None:
    game = pb.WatchedGame(name="tournaments/cup/games/1", variant="tictactoe", time_factor=1.5)
    (event,) = events(pb.WatchResponse(increments=pb.Increments(games=[game])))
    assert event["time_factor"] == 1.5
