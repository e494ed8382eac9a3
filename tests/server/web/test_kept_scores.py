"""Scores of bots are kept with finished games if the form says so, and then shown on pages and exported to files."""

import json
import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Browser, expect

from noughts_bots import Bot, Move, Position
from noughts_bots.reference.specs import make_built_in, parse_spec
from noughts_referee.rules import parse_variant
from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.model_endpoint import Reply, Request, free_cells, model_endpoint
from tests.support.processes import eventually
from tests.support.site import Site

pytestmark = pytest.mark.processes


class Counting(Bot):
    """Plays the first free cell; its score is the number of free cells. It expects the next cell, and comments."""

    def choose(self, position: Position) -> Move:
        cells, free = position.free[:2], len(position.free)
        return Move(cells[0], float(free), "<b>so there</b>" * (free == 5), depth=free, nodes=10**6, pv=cells)


def play(server: ServerUnderTest, site: Site, name: str, bots: Mapping[str, str | Bot], **settings: str) -> None:
    """Play a tournament of these bots, created with the form of the website."""
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {**form, "id": name, "schedule": "round_robin", "games_per_pair": "1", "rated": "on", **settings}
    assert site.post("/organise", fields, cookie=cookie).status == 303
    with in_other_thread(bots_online(server.address, token, **bots)):
        for bot in bots:
            answer = site.post(f"/tournaments/{name}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie)
            assert answer.status == 303
        assert site.post(f"/tournaments/{name}/start", form, cookie=cookie).status == 303
        eventually(lambda: site.get(f"/api/v1/tournaments/{name}").document["state"] == "finished")


@pytest.mark.parametrize("keep", [True, False])
def test_kept_scores_are_shown_and_exported_after_the_game(
    server: ServerUnderTest, site: Site, browser: Browser, keep: bool
) -> None:
    name = f"kept-{keep}".lower()
    kept = {"keep_scores": "on"} if keep else {}
    play(server, site, name, {"lea-one": Counting(), "lea-two": Counting()}, **kept)
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
    with page_in(browser, site.address) as page:
        page.goto(game)
        page.keyboard.press("Home")
        expect(page.locator("#explorer")).to_have_attribute("href", re.compile("time_class=untimed&moves=$"))
        page.keyboard.press("End")
        if keep:
            expect(page.locator("#score-graph .line")).to_have_count(2)
            expect(page.locator("#score-bar")).to_be_visible()
            expect(page.locator("#score-first")).to_have_text("says: equal")
            expect(page.locator("#score-first")).to_have_attribute("title", "The score that the bot reported: +3")
            expect(page.get_by_text("and not kept")).to_have_count(0)
            expect(page.locator("#thought-first")).to_contain_text("7. a1: score +3, 3 moves deep, 1,000,000 positions")
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


class Boasting(Bot):
    """Plays the first free cell, and is sure that it wins."""

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], score=1_000_100_000_000.0)


def test_list_of_moves_shows_the_current_move_below_large_scores(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    bots = {"lea-boasting-one": Boasting(), "lea-boasting-two": Boasting()}
    play(server, site, "boasting", bots, variant="mnk:8,8,8", keep_scores="on")
    with page_in(browser, site.address, viewport={"width": 1280, "height": 720}) as page:
        page.goto("/tournaments/boasting/games/1")
        expect(page.locator("#scores")).to_be_visible()
        bottom = "part => document.querySelector(part).getBoundingClientRect().bottom"
        assert page.evaluate(bottom, ".moves [aria-current]") <= page.evaluate(bottom, ".list")
        # All parts of the panel are visible, and the current move is still so in a list that became smaller.
        assert page.evaluate(bottom, ".options") <= page.evaluate(bottom, ".side")
        page.evaluate("document.querySelector('.list').style.maxHeight = '60px'")
        eventually(lambda: page.evaluate(bottom, ".moves [aria-current]") <= page.evaluate(bottom, ".list"))
        expect(page.locator("#score-first")).to_have_text("says: winning")
        expect(page.locator("#score-first")).to_have_attribute("title", re.compile(r"\+1T$"))
        page.set_viewport_size({"width": 390, "height": 844})
        for label in page.locator(".strip .label").all():
            assert label.evaluate("label => label.scrollWidth <= label.clientWidth")
        page.goto("/tournaments/boasting/games/1/embed")
        expect(page.locator("#score-bar")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_game_ended_by_scores_says_why_on_its_page(server: ServerUnderTest, site: Site) -> None:
    rules = {"draw": "moves=1,score=9,after=2", "resign": "moves=2,score=600"}
    play(server, site, "by-scores", {"lea-one": Counting(), "lea-two": Counting()}, **rules)
    game = "/tournaments/by-scores/games/1"
    assert "Adjudicated: both reported -9 to 9 at the last move of each." in site.get(game).text
    assert site.get(f"/api/v1{game}").document["game"]["scores"] == {"0": 9, "1": 8}
    text = site.get("/tournaments/by-scores?tab=rules").text
    assert all(f"<code>{rules[name]}</code>" in text for name in ("draw", "resign"))
    play(server, site, "proven", {"lea-one": Counting(), "lea-two": Counting()}, adjudicate="exact")
    assert "Adjudicated: proven a draw." in site.get("/tournaments/proven/games/1").text
    assert "as soon as the judge has proven who wins" in site.get("/tournaments/proven?tab=rules").text


def test_reasoning_of_language_models_is_shown_as_text(server: ServerUnderTest, site: Site) -> None:
    def reason(request: Request) -> Reply:
        return Reply(f"<b>I take the corner.</b>\nMOVE: {free_cells(request)[0]}")

    with model_endpoint(deep=reason) as endpoint:
        spec = parse_spec(f"llm{{model=deep,url={endpoint.url},answer=text}}:")
        model = make_built_in(spec, parse_variant("tictactoe"))
        model.prepare()
        play(server, site, "reasoning", {"lea-deep": model, "lea-first": "first-free"}, keep_scores="on")
        model.close()
    text = site.get("/tournaments/reasoning/games/1").text
    assert "&lt;b&gt;I take the corner.&lt;/b&gt;" in text
    assert "<b>I take" not in text


@pytest.mark.parametrize("field, value", [("resign", "moves=3"), ("draw", "moves=0,score=1"), ("adjudicate", "guess")])
def test_the_form_names_the_field_of_a_wrong_rule(server: ServerUnderTest, site: Site, field: str, value: str) -> None:
    token = server.token("lea")
    fields = {"csrf": Visitor(token).csrf, "id": "wrong-rule", "schedule": "round_robin", field: value}
    answer = site.post("/organise", fields, cookie=f"noughts_token={token}")
    assert answer.status == 400
    assert f'id="wrong-{field}"' in answer.text
