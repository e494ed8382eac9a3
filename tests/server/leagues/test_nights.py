"""The nights of a course: when they begin, and what is played."""

from datetime import datetime

from noughts_proto.security import Dialling
from noughts_proto.v1.tournaments_pb2 import SCHEDULE_ROUND_ROBIN, GetTournamentRequest
from noughts_server.client.client import connected
from noughts_server.leagues.course import Course
from noughts_server.leagues.ladders import LADDERS
from noughts_server.leagues.nights import next_night
from noughts_server.leagues.tournaments import create_tournament
from noughts_server.testing import serving

COURSE = Course("ai", "connect4", 4, "60+0.5", "02:00", "", "py", "http://127.0.0.1:7480")
NOW = datetime.fromisoformat("2026-11-24T01:30:00+00:00")


def test_the_next_night_is_today_or_tomorrow() -> None:
    now = datetime.fromisoformat("2026-11-24T01:30:00+00:00")
    assert next_night("02:00", now).isoformat() == "2026-11-24T02:00:00+00:00"
    assert next_night("01:30", now).isoformat() == "2026-11-25T01:30:00+00:00"


def test_a_night_is_a_rated_round_robin_as_the_course_has_it() -> None:
    with serving() as server, connected(server.address, server.token(), Dialling()) as client:
        assert create_tournament(client, COURSE.night(NOW), "night", numbered=True) == "tournaments/night"
        made = client.call(client.tournaments.GetTournament, GetTournamentRequest(name="tournaments/night")).tournament
        assert (made.title, made.variant, made.games_per_pair) == ("ai, 2026-11-24", "connect4", 4)
        assert (made.time.bank_us, made.time.increment_us, made.rated) == (60_000_000, 500_000, True)
        assert made.schedule == SCHEDULE_ROUND_ROBIN
        assert not made.seed  # the server drew it, and it stays secret
        assert create_tournament(client, COURSE.night(NOW), "night", numbered=True) == "tournaments/night-2"
        assert create_tournament(client, LADDERS[0].settings, "night") is None
