"""What the page of a knockout says: seeds, reached rounds, scores so far, and links to live games."""

import re
import threading
from typing import Any

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.brackets import reached, seeds, with_extra_games
from tests.server.web.test_event_pages import Organiser
from tests.server.web.test_live_games_of_a_tournament import Waiting
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site


def match(first: str, second: str, winner: str = "", games: int = 2, games_left: int = 0) -> dict[str, Any]:
    return {"first": first, "second": second, "winner": winner, "games": games, "games_left": games_left}


ROUNDS = [
    [match("ann", "", "ann", 0), match("dee", "eve", "dee"), match("cy", "fay", "fay"), match("", "", "", 0)],
    [match("ann", "dee", "ann"), match("fay", "", "", 0)],
    [match("ann", "", "", 0)],
]
"""A bracket in its semifinals. Its last match of the first round is not complete, as in no real bracket."""


def test_seeds_follow_from_the_places_of_the_first_round() -> None:
    first_round = [match("ann", "", "ann", 0), match("eve", "dee"), match("cy", "fay"), match("gus", "bob")]
    assert seeds([first_round, ROUNDS[1], ROUNDS[2]]) == {
        "ann": 1,
        "bob": 2,
        "cy": 3,
        "dee": 4,
        "eve": 5,
        "fay": 6,
        "gus": 7,
    }
    assert seeds([]) == {}


def test_entries_of_a_bracket_are_out_or_in_a_round() -> None:
    found = reached(ROUNDS)
    assert {label: (str(at.round), at.is_out, at.has_won) for label, at in found.items()} == {
        "ann": ("Final", False, False),
        "dee": ("Semifinals", True, False),
        "eve": ("Quarterfinals", True, False),
        "cy": ("Quarterfinals", True, False),
        "fay": ("Semifinals", False, False),
    }
    final = [[match("ann", "fay", "fay")]]
    assert reached([*ROUNDS[:2], *final])["fay"].has_won
    assert not reached([*ROUNDS[:2], *final])["ann"].has_won


@pytest.mark.parametrize("games, games_left, is_extra", [(0, 4, False), (4, 0, False), (4, 2, True), (6, 0, True)])
def test_games_after_equal_points_are_extra_games(games: int, games_left: int, is_extra: bool) -> None:
    (marked,) = with_extra_games([match("ann", "dee", games=games, games_left=games_left)], 4)
    assert marked["extra"] is is_extra


@pytest.mark.processes
def test_bracket_shows_the_score_so_far_and_leads_to_the_live_game(server: ServerUnderTest, site: Site) -> None:
    organiser = Organiser(server, site, "lea")
    path = organiser.send("/organise", id="so-far", schedule="knockout", games_per_pair="2", bank="")
    allowed = threading.Event()
    bots = {"so-far-a": Waiting(allowed), "so-far-b": "first-free", "so-far-c": "first-free", "so-far-d": "random"}
    with bots_online(server.address, organiser.token, **bots):
        for bot in bots:
            organiser.send(f"{path}/join", bot=f"bots/{bot}")
        organiser.send(f"{path}/start")

        def waiting_match() -> dict[str, Any] | None:
            matches = site.get(f"/api/v1{path}/crosstable").document["matches"]
            return next((each for each in matches if "so-far-a" in (each["first"], each["second"])), None)

        waiting = eventually(waiting_match)
        game = f"{path}/games/{waiting['next_game']}"
        link = f'<a class="now" href="{game}">Game {waiting["games"] + 1} of 2</a>'
        eventually(lambda: link in site.get(path).text)
        page = site.get(path).text
        assert "<b>Semifinals</b>" in page
        assert re.search("[01] of 2 matches are over", page)
        (score,) = {
            tuple(re.findall(r'<span class="points">([^<]*)</span>', text))
            for text in page.partition('class="bracket"')[2].split('<div class="match')
            if link in text
        }
        assert score == (str(int(waiting["first_points"])), str(int(waiting["second_points"])))
        # The parts that the page's script fetches have it as well.
        assert link in site.get(f"{path}/parts?tab=overview&row=1").text
        allowed.set()
        eventually(lambda: site.get(f"/api/v1{path}").document["state"] == "finished")
    page = site.get(path).text
    assert 'class="slot path"' in page
    assert re.search(r'<td class="reached"><b>winner</b></td>', page)
    assert "out: Semifinals" in page
