"""Scores of bots are kept with finished games if the form says so, and then shown on pages and exported to files."""

import json
import re

import pytest
from playwright.sync_api import expect

from noughts_bots import Bot, Move, Position
from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import chromium, page_in
from tests.support.processes import eventually
from tests.support.site import Site

pytestmark = pytest.mark.processes


class Counting(Bot):
    """Plays the first free cell; its score is the number of free cells. It expects the next cell, and comments."""

    def choose(self, position: Position) -> Move:
        cells, free = position.free[:2], len(position.free)
        return Move(cells[0], float(free), "<b>so there</b>" * (free == 5), depth=free, nodes=10**6, pv=cells)


@pytest.mark.parametrize("keep", [True, False])
def test_kept_scores_are_shown_and_exported_after_the_game(server: ServerUnderTest, site: Site, keep: bool) -> None:
    token, name = server.token("lea"), f"kept-{keep}".lower()
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {
        **form,
        "id": name,
        "schedule": "round_robin",
        "games_per_pair": "1",
        "rated": "on",
        # A rule on scores keeps them, too.
        **({"draw": "moves=99,score=0", "adjudicate": ""} if keep else {}),
    }
    assert site.post("/organise", fields, cookie=cookie).status == 303
    with in_other_thread(bots_online(server.address, token, **{"lea-one": Counting(), "lea-two": Counting()})):
        for bot in ("lea-one", "lea-two"):
            answer = site.post(f"/tournaments/{name}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie)
            assert answer.status == 303
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
    assert len(line.get("thoughts", {})) == len(expected)
    written = site.get(f"{game}.sgf").text
    assert ("N[depth 9 nodes 1000000 pv a3 b3]" in written and "<b>so there</b>" in written) is keep
    assert ("1. a3 {+0.09/9" in site.get(f"/tournaments/{name}/games.pgn").text) is keep
    text = site.get(game).text
    assert ("a3 b3</td>" in text and "&lt;b&gt;so there" in text) is keep
    assert "<b>so there" not in text
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
            expect(page.locator("#thought-first")).to_contain_text("7. a1: +3, depth 3, 1,000,000 nodes")
            page.locator("#moves a").nth(4).click()
            expect(page.locator("#comment")).to_have_text("<b>so there</b>")
            page.locator("#thought-first").hover()
            expect(page.locator("#board .expected")).to_have_count(2)
            page.locator("#thought-second").focus()
            expect(page.locator("#board .order").first).to_have_text("4")
            page.locator("#words").hover()
            page.locator("#ply").focus()
            expect(page.locator("#board .expected")).to_have_count(0)
            expect(page.locator("#board .played > *")).to_have_count(5)
            page.locator(".thoughts summary").click()
            page.locator(".thoughts [data-line='0']").hover()
            expect(page.locator("#board .played > *")).to_have_count(2)
        else:
            expect(page.locator("#scores")).to_be_hidden()
            expect(page.locator("#thinking")).to_be_hidden()
            expect(page.locator(".thoughts")).to_have_count(0)
