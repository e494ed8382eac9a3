"""Progress counts the games of all rounds, also of those that are not scheduled yet."""

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.expected_games import expected_games, whole_number_of_games
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site

SETTINGS = {"games_per_pair": 2, "rounds": 0, "stop_when_decided": False, "sprt": "", "state": "running"}


@pytest.mark.parametrize(
    "schedule, entries, scheduled, expected",
    [
        ("swiss", 8, 8, 24),
        ("swiss", 5, 4, 12),
        ("knockout", 8, 8, 14),
        ("knockout", 8, 16, 16),
        ("round_robin", 8, 56, 56),
        ("swiss", 8, 0, 0),
        ("ladder", 8, 100, 0),
    ],
)
def test_progress_includes_rounds_that_are_not_scheduled(
    schedule: str, entries: int, scheduled: int, expected: int
) -> None:
    tournament = {**SETTINGS, "schedule": schedule, "games_total": scheduled, "entries": entries}
    assert expected_games(tournament) == expected


def test_finished_tournament_counts_the_games_that_were_played() -> None:
    tournament = {**SETTINGS, "schedule": "swiss", "games_total": 20, "entries": 8, "state": "finished"}
    assert expected_games(tournament) == 20


@pytest.mark.parametrize(
    "schedule, entries, sprt, whole",
    [
        ("swiss", 8, "", 24),
        ("swiss", 0, "", 0),
        ("round_robin", 0, "", 8),
        ("match", 2, "elo0=0,elo1=5", 0),
        ("knockout", 8, "", 0),
    ],
)
def test_lists_have_no_whole_if_it_is_unknown(schedule: str, entries: int, sprt: str, whole: int) -> None:
    tournament = {**SETTINGS, "schedule": schedule, "games_total": 8, "entries": entries, "sprt": sprt}
    assert whole_number_of_games(tournament) == whole


@pytest.mark.processes
def test_page_of_a_swiss_counts_the_games_of_all_rounds(server: ServerUnderTest, site: Site) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {**form, "id": "counted", "schedule": "swiss", "games_per_pair": "2"}
    assert site.post("/organise", fields, cookie=cookie).status == 303
    bots = ["counted-1", "counted-2", "counted-3", "counted-4"]
    with in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "random"))):
        pass
    # The bots are offline, so the first round waits.
    for bot in bots:
        assert site.post("/tournaments/counted/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
    assert site.post("/tournaments/counted/start", form, cookie=cookie).status == 303
    eventually(lambda: site.get("/api/v1/tournaments/counted").document["games_total"] == 4)
    assert '<span id="total">8</span> games' in site.get("/tournaments/counted").text
    eventually(lambda: "0 of 8 games" in site.get("/").text)
    # Only the four games of the first round are scheduled so far.
    assert '<td class="number" data-word="games">0 of 8</td>' in site.get("/tournaments?search=counted").text
    assert site.post("/tournaments/counted/cancel", form, cookie=cookie).status == 303


@pytest.mark.processes
def test_standings_of_a_swiss_show_buchholz_and_the_order_of_ties(server: ServerUnderTest, site: Site) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    assert site.post("/organise", {**form, "id": "tied", "schedule": "swiss"}, cookie=cookie).status == 303
    bots = ["tied-1", "tied-2", "tied-3", "tied-4"]
    with in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "first-free"))):
        for bot in bots:
            assert site.post("/tournaments/tied/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        assert site.post("/tournaments/tied/start", form, cookie=cookie).status == 303
        eventually(lambda: site.get("/api/v1/tournaments/tied").document["state"] == "finished")
    # `first-free` wins when it moves first, so all bots have the same points.
    text = site.get("/tournaments/tied?tab=standings").text
    assert ">Buchholz</abbr>" in text
    assert ">SB</abbr>" in text
    assert "Ties are broken by head-to-head score, Sonneborn-Berger and wins, in this order." in text
    assert {row["buchholz"] for row in site.get("/api/v1/tournaments/tied").document["standings"]} == {4.0}
