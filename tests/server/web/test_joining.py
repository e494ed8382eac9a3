"""Joining windows on the website: announced, and no button that could only be refused."""

from datetime import UTC, datetime, timedelta

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import tournaments_pb2
from noughts_server.client.client import connected
from noughts_server.testing import ServerUnderTest
from noughts_server.web.joining import join_window, takes_entries, takes_first_entries
from tests.server.web.test_signin import SignedIn
from tests.support.background import bots_online
from tests.support.site import Site


def stamp(hours: int | None) -> str | None:
    """Return the time in this many hours, as in documents of the website."""
    return None if hours is None else (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


@pytest.mark.parametrize(
    "hours_to_begin, hours_to_end, is_open, words",
    [
        (None, None, True, ""),
        (1, None, False, "joining begins"),
        (1, 2, False, "joining begins <time"),
        (-1, 1, True, "joining ends"),
        (None, -1, False, "joining ended"),
    ],
)
def test_join_window_is_told_in_words(
    hours_to_begin: int | None, hours_to_end: int | None, is_open: bool, words: str
) -> None:
    tournament = {"state": "open", "join_from": stamp(hours_to_begin), "join_until": stamp(hours_to_end)}
    assert takes_first_entries(tournament) is is_open
    assert join_window(tournament).startswith(words)
    assert bool(join_window(tournament)) == bool(words)


def test_tournament_that_runs_has_no_join_window() -> None:
    tournament = {"state": "running", "join_from": stamp(-1), "join_until": stamp(1)}
    assert join_window(tournament) == ""
    assert not takes_first_entries(tournament)


@pytest.mark.parametrize(
    "state, schedule, is_open",
    [
        ("open", "round_robin", True),
        ("running", "round_robin", False),
        ("running", "ladder", True),
        ("finished", "ladder", False),
    ],
)
def test_bots_join_a_ladder_that_runs(state: str, schedule: str, is_open: bool) -> None:
    assert takes_entries({"state": state, "schedule": schedule, "join_from": None, "join_until": None}) is is_open


def test_open_tournaments_are_listed_with_ladders_that_run(server: ServerUnderTest, site: Site) -> None:
    make_tournament(server, "starts-later", datetime.now(UTC))
    token = server.token("lea")
    visitor = SignedIn(site, token)
    assert visitor.post("/organise", {"id": "steps", "schedule": "ladder", "variant": "tictactoe"}).status == 303
    with bots_online(server.address, token, climber="random", jumper="random"):
        for bot in "climber", "jumper":
            assert visitor.post("/tournaments/steps/join", {"bot": f"bots/{bot}"}).status == 303
        assert visitor.post("/tournaments/steps/start").status == 303
        upcoming, _, ladders = site.get("/tournaments?state=open").text.partition("open to bots at any time")
        assert visitor.post("/tournaments/steps/cancel").status == 303
    assert 'href="/tournaments/starts-later"' in upcoming
    assert 'href="/tournaments/steps"' in ladders


def make_tournament(server: ServerUnderTest, name: str, join_from: datetime) -> str:
    """Make a tournament of lea's that bots can join from a time on, and return its page's address."""
    tournament = tournaments_pb2.Tournament(name=f"tournaments/{name}", variant="tictactoe", games_per_pair=2)
    tournament.join_from.FromDatetime(join_from)
    request = tournaments_pb2.CreateTournamentRequest(tournament=tournament)
    with connected(server.address, server.token("lea"), Dialling()) as client:
        client.call(client.tournaments.CreateTournament, request)
    return f"/tournaments/{name}"


def test_page_says_when_joining_begins_and_has_no_button_before(server: ServerUnderTest, site: Site) -> None:
    place = make_tournament(server, "joined-later", datetime.now(UTC) + timedelta(hours=1))
    token = server.token("lea")
    with bots_online(server.address, token, waiting="random"):
        stranger_page, owner_page = site.get(place), SignedIn(site, token).get(place)
    assert "joining begins" in stranger_page.text
    assert "Sign in to join" not in stranger_page.text
    assert "Your bots cannot enter now: joining begins" in owner_page.text
    assert 'id="do-join"' not in owner_page.text


def test_sign_in_leads_to_the_wanted_page_after_a_wrong_token(site: Site) -> None:
    answer = site.post("/signin", {"token": "nou_wrong", "next": "/bots"})
    assert answer.status == 401
    assert '<input type="hidden" name="next" value="/bots">' in answer.text
