"""The home page of a signed-in user begins with what the user's own bots do."""

from collections.abc import Sequence

import pytest

from noughts_proto.v1 import tournaments_pb2
from noughts_server.core.messages import in_language
from noughts_server.testing import ServerUnderTest
from noughts_server.web.documents import Document
from noughts_server.web.languages import languages
from noughts_server.web.own_bots import OwnBot, OwnResult, bots_in_play
from noughts_server.web.running_stages import Round
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site
from tests.support.stepwise_bots import Stepwise


def standing(label: str, rank: int, points: float = 0) -> tournaments_pb2.Standing:
    return tournaments_pb2.Standing(label=label, bot_version=f"bots/{label}/versions/1", rank=rank, points=points)


def test_result_of_an_own_bot_is_its_place() -> None:
    rows = [standing("ann", 1, 2), standing("bob", 2, 1), standing("cy", 3)]
    assert str(OwnResult(rows, "bots/bob")) == "place 2 of 3"
    # Before the first result, all bots share the first place.
    assert str(OwnResult([standing(label, 1) for label in ("ann", "bob", "cy")], "bots/cy")) == "No result yet"


def test_result_of_own_bots_is_in_the_language_of_the_page() -> None:
    place = OwnResult([standing("ann", 1, 2), standing("bob", 2, 1), standing("cy", 3)], "bots/bob")
    with in_language(languages()["cs"]):
        assert str(place) == "místo 2 z 3"
        assert str(OwnResult([], "bots/bob", Round(3, 3, is_knockout=True))) == "Finále"


def test_result_of_own_bots_in_a_match_is_its_score() -> None:
    assert str(OwnResult([standing("ann", 1, 3), standing("bob", 2, 1)], "bots/bob")) == "ann 3–1 bob"
    assert str(OwnResult([standing("ann", 1), standing("bob", 1)], "bots/bob")) == "No result yet"


def test_each_own_bot_is_named_once_and_those_that_play_are_first() -> None:
    early, late = {"name": "tournaments/early"}, {"name": "tournaments/late"}
    states = [
        bot_state("idle"),
        bot_state("patient", entered=["tournaments/late"]),
        bot_state("next", entered=["tournaments/late", "tournaments/early"]),
        bot_state("busy", "tournaments/late/games/2", entered=["tournaments/early", "tournaments/late"]),
        bot_state("challenged", "tournaments/challenge/games/1", entered=["tournaments/early"]),
    ]
    assert bots_in_play(states, [early, late]) == [
        OwnBot("bots/challenged", "tournaments/challenge/games/1", None),
        OwnBot("bots/busy", "tournaments/late/games/2", late),
        OwnBot("bots/next", "", early),
        OwnBot("bots/patient", "", late),
    ]


def bot_state(name: str, game: str = "", entered: Sequence[str] = ()) -> Document:
    """Return a response to `GetBot`."""
    return {"bot": {"name": f"bots/{name}"}, "running_game": game, "entered": entered}


@pytest.mark.processes
def test_home_page_begins_with_games_and_tournaments_of_own_bots(server: ServerUnderTest, site: Site) -> None:
    token = server.token("una")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    assert ">Enter your bot</a>" in site.get("/", cookie=cookie).text
    for name in ("una-now", "una-next"):
        fields = {**form, "id": name, "schedule": "round_robin", "games_per_pair": "1", "bank": "", "increment": ""}
        assert site.post("/organise", fields, cookie=cookie).status == 303
    bots = {"una-one": Stepwise(), "una-two": Stepwise()}
    with in_other_thread(bots_online(server.address, token, **bots)):
        for name in ("una-now", "una-next"):
            for bot in bots:
                join = {**form, "bot": f"bots/{bot}"}
                assert site.post(f"/tournaments/{name}/join", join, cookie=cookie).status == 303
        assert site.post("/tournaments/una-now/start", form, cookie=cookie).status == 303
        game = '<a class="plays" href="/tournaments/una-now/games/1">Live</a>'
        eventually(lambda: game in site.get("/", cookie=cookie).text)
        text = site.get("/", cookie=cookie).text
        own = text.partition('id="own-part"')[2].partition("</section>")[0]
        assert own.count('<a href="/bots/') == 2
        assert own.count('<a href="/tournaments/una-now">una-now</a>') == 2
        assert "Enter your bot" not in text
        assert "Bots play noughts and crosses" not in text.partition("<body")[2]
        # The same page for a visitor.
        assert ">Enter your bot</a>" in site.get("/").text
        assert 'id="own-part"' not in site.get("/").text
        for player in bots.values():
            player.steps.release(9)
        eventually(lambda: game not in site.get("/", cookie=cookie).text)
        eventually(lambda: "Start: when the organiser starts it" in site.get("/", cookie=cookie).text)
    assert site.post("/tournaments/una-next/cancel", form, cookie=cookie).status == 303
    assert "None of your bots is in a tournament now." in site.get("/", cookie=cookie).text


@pytest.mark.processes
def test_home_page_with_a_token_that_is_not_valid_is_that_of_a_visitor(site: Site) -> None:
    answer = site.get("/", cookie="noughts_token=nou_" + "x" * 32)
    assert answer.status == 200
    assert ">Enter your bot</a>" in answer.text
