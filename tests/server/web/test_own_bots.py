"""The home page of a signed-in user begins with what the user's own bots do."""

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site
from tests.support.stepwise_bots import Stepwise

pytestmark = pytest.mark.processes


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
        game = '<a href="/tournaments/una-now/games/1"><span class="on-air">una-one</span></a>'
        eventually(lambda: game in site.get("/", cookie=cookie).text)
        text = site.get("/", cookie=cookie).text
        assert text.index('<a href="/tournaments/una-now">una-now</a>') < text.index(">una-next</a>")
        assert "Start: when the organiser starts it" in text
        assert '<a class="button" href="/me">My page</a>' in text
        assert "Enter your bot" not in text
        assert "Bots play noughts and crosses" not in text.partition("<body")[2]
        # The same page for a visitor.
        assert ">Enter your bot</a>" in site.get("/").text
        assert 'id="own-part"' not in site.get("/").text
        for player in bots.values():
            player.steps.release(9)
        eventually(lambda: game not in site.get("/", cookie=cookie).text)
    assert site.post("/tournaments/una-next/cancel", form, cookie=cookie).status == 303
    assert "None of your bots is in a tournament now." in site.get("/", cookie=cookie).text


def test_home_page_with_a_token_that_is_not_valid_is_that_of_a_visitor(site: Site) -> None:
    answer = site.get("/", cookie="noughts_token=nou_" + "x" * 32)
    assert answer.status == 200
    assert ">Enter your bot</a>" in answer.text
