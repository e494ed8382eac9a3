"""The state of a tournament in words."""

import pytest

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.drawing.tournament import state_wording
from noughts_server.cli.times import now_ms


@pytest.mark.parametrize(
    "seconds, words", [(0, "paused"), (10, "paused"), (720, "paused for 12 min"), (7_300, "paused for 2 h")]
)
def test_the_state_says_how_long_a_tournament_has_been_paused(seconds: int, words: str) -> None:
    paused = pb.Tournament(state=pb.TOURNAMENT_STATE_PAUSED)
    paused.pause_time.FromMilliseconds(round(now_ms()) - 1000 * seconds)
    assert state_wording(paused) == words
