"""Scores of bots in finished games: chosen in the form, shown on the page of the game, and in its files."""

import json
import re

import pytest
from playwright.sync_api import expect

from noughts_bots import Bot, Move, Position
from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import beside
from tests.support.background import bots_online
from tests.support.browser import chromium, page_in
from tests.support.processes import eventually
from tests.support.site import Site

pytestmark = pytest.mark.processes


class Counting(Bot):
    """Plays the first free cell; its score is the number of free cells."""

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], float(len(position.free)))


@pytest.mark.parametrize("keep", [True, False])
def test_kept_scores_are_shown_and_exported_after_the_game(server: ServerUnderTest, site: Site, keep: bool) -> None:
    token, name = server.token("lea"), f"kept-{keep}".lower()
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    wanted = {
        **form,
        "id": name,
        "schedule": "round_robin",
        "games_per_pair": "1",
        "rated": "on",
        **({"keep_scores": "on"} if keep else {}),
    }
    assert site.post("/organise", wanted, cookie=cookie).status == 303
    with beside(bots_online(server.address, token, **{"lea-one": Counting(), "lea-two": Counting()})):
        for bot in ("lea-one", "lea-two"):
            joined = site.post(f"/tournaments/{name}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie)
            assert joined.status == 303
        assert site.post(f"/tournaments/{name}/start", form, cookie=cookie).status == 303
        eventually(lambda: site.get(f"/api/v1/tournaments/{name}").document["state"] == "finished")
    game = f"/tournaments/{name}/games/1"
    expected = [9, 8, 7, 6, 5, 4, 3] if keep else []
    api = site.get(f"/api/v1{game}").document["game"]["scores"]
    assert list(api.values()) == expected
    line = json.loads(site.get(f"/tournaments/{name}/games.jsonl").text)
    assert line.get("scores", []) == expected
    table = site.get(f"/api/v1/tournaments/{name}/games?format=csv").text
    assert (",9.0 8.0 7.0 6.0 5.0 4.0 3.0," in table) is keep
    assert site.get(f"/tournaments/{name}/games.csv").status == 200
    values = re.findall(r"V\[([-0-9]+)\]", site.get(f"{game}.sgf").text)
    assert values == [str(-score if ply % 2 else score) for ply, score in enumerate(expected)]
    rules = site.get(f"/tournaments/{name}?tab=rules").text
    assert ("kept with the games" in rules) is keep
    with chromium() as browser, page_in(browser, site.address) as page:
        page.goto(game)
        page.keyboard.press("Home")
        expect(page.locator("#explorer")).to_have_attribute("href", re.compile("time_class=untimed&moves=$"))
        page.keyboard.press("End")
        if keep:
            expect(page.locator("#score-graph .line")).to_have_count(2)
            expect(page.locator("#score-bar")).to_be_visible()
            expect(page.locator("#score-first")).to_have_text("+3")
            expect(page.get_by_text("and not kept")).to_have_count(0)
        else:
            expect(page.locator("#scores")).to_be_hidden()
