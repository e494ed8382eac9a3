"""Boards in browsers: the script draws the same SVG as the server, and pictures show the position at a ply."""

import hashlib
import json
import random
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, expect

from noughts_referee.rules import OPENING_RULES, OWN_NAMES, Position, parse_variant
from noughts_server.core.board_geometry import geometry
from noughts_server.drawing import board_svg as drawing
from noughts_server.drawing.board_svg import board_svg, with_board
from noughts_server.web.app import static_files
from noughts_server.web.documents import Document
from tests.support.browser import page_in
from tests.support.site import Site

WITH_OPENINGS = tuple(f"gomoku+{rule}" for rule in OPENING_RULES)
VARIANTS = (*OWN_NAMES, *WITH_OPENINGS, "mnk:1,1,1", "mnk:9,4,4", "mnk:10,2,2", "mnk:30,30,5", "mnk:21,6,5")
POSITIONS = 40
SVG = "{http://www.w3.org/2000/svg}"
DRAW_ALL_DIGESTS = """async ([module, wanted]) => {
  const { draw } = await import(module);
  const place = document.createElement("div");
  return Promise.all(JSON.parse(wanted).map(async ([before, game, ply, numbers]) => {
    place.innerHTML = before;
    draw(place.firstChild, game, ply, numbers);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(place.innerHTML));
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }));
}"""
DRAW_ONE = """async ([module, [before, game, ply, numbers]]) => {
  const { draw } = await import(module);
  document.body.innerHTML = before;
  draw(document.body.firstChild, game, ply, numbers);
  return document.body.innerHTML;
}"""


class DrawingTask(NamedTuple):
    """The board that a browser shows before, the game and ply that its script must draw, and the expected board."""

    before: str
    game: Document
    ply: int
    numbers: int
    after: str


def random_game(variant: str, random_source: random.Random) -> Document:
    """Return a game of random moves up to its end or to a random ply."""
    variant_rules = parse_variant(variant)
    # In half of the games at most three stones, so that large boards are cropped.
    position, most_moves, has_ended = (
        Position(variant_rules),
        random_source.randint(0, random_source.choice((3, variant_rules.cells))),
        False,
    )
    while len(position.moves) < most_moves and not has_ended:
        cell, occupied = random_source.randrange(variant_rules.cells), position.own | position.opponent
        if variant_rules.takes(cell, occupied) and position.forbidden(cell) is None:
            position.play(cell)
            has_ended = position.outcome() is not None
    winning_cells = list(variant_rules.won_with(position.moves))
    return with_board({"variant": variant, "moves": position.moves, "winning_cells": winning_cells})


def random_drawing_task(variant: str, random_source: random.Random) -> DrawingTask:
    game = random_game(variant, random_source)
    plies = len(game["moves"])
    ply, numbered_moves = (
        random_source.choice((plies, random_source.randint(0, plies))),
        random_source.choice((0, 5, 1000)),
    )
    options = {
        "labels": random_source.random() < 0.7,
        "swapped": random_source.random() < 0.3,
        "whole": random_source.random() < 0.3,
        "live": True,
    }
    before = board_svg(game, random_source.choice((0, plies)), numbers=random_source.choice((0, 3)), **options)
    return DrawingTask(before, game, ply, numbered_moves, board_svg(game, ply, numbers=numbered_moves, **options))


@pytest.mark.processes
def test_browser_shows_moves_as_the_server_draws_them(site: Site, browser: Browser) -> None:
    random_source = random.Random(1)
    drawing_tasks = [random_drawing_task(variant, random_source) for variant in VARIANTS for _ in range(POSITIONS)]
    assert any(drawing_task.game["winning_lines"] for drawing_task in drawing_tasks)
    with page_in(browser, site.address) as page:
        page.goto("/signin")
        module = f"/static/{static_files()[0]}/board.js"
        digests = page.evaluate(
            DRAW_ALL_DIGESTS, [module, json.dumps([drawing_task[:4] for drawing_task in drawing_tasks])]
        )
        different = [
            each
            for each, digest in zip(drawing_tasks, digests, strict=True)
            if hashlib.sha256(each.after.encode()).hexdigest() != digest
        ]
        # The first difference as text.
        for difference in different[:1]:
            assert page.evaluate(DRAW_ONE, [module, difference[:4]]) == difference.after
    assert len(digests) == len(drawing_tasks)
    assert different == []


@pytest.mark.processes
def test_browser_continues_on_the_board_that_the_server_drew(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address, java_script_enabled=False) as page:
        page.goto(f"/{cup}/games/1")
        drawn = page.locator("#board svg").evaluate("svg => svg.outerHTML")
    assert drawn == board_svg({**game_of(site, cup), "board": geometry("tictactoe")}, live=True)
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/games/1")
        expect(page.locator("#moves a").first).to_be_visible()
        assert page.locator("#board svg").evaluate("svg => svg.outerHTML") == drawn
        plies = page.locator("#moves a").count()
        page.get_by_label("Move numbers").select_option("all")
        expect(page.locator("#board .order")).to_have_text([str(ply) for ply in range(1, plies + 1)])
        page.locator("#ply").fill("4")
        page.get_by_label("Move numbers").select_option("off")
        expect(page.locator("#board .last")).to_have_count(1)
        expect(page.locator("#board .order, #board .won, #board .win-line")).to_have_count(0)


def game_of(site: Site, cup: str) -> Document:
    """The first game of the tournament."""
    game = site.get(f"/api/v1/{cup}/games/1").document["game"]
    assert isinstance(game, dict)
    return game


def test_a_picture_shows_the_position_at_its_ply_and_can_be_cached(site: Site, cup: str) -> None:
    moves = game_of(site, cup)["moves"]
    picture = site.get(f"/{cup}/games/1.svg?ply=2&numbers=1")
    assert (picture.status, picture.headers["content-type"]) == (200, "image/svg+xml")
    drawn = ElementTree.fromstring(picture.text)
    stones = [element.get("data-cell") for element in drawn.iter() if "stone" in (element.get("class") or "").split()]
    assert stones == [str(cell) for cell in moves[:2]]
    assert [element.text for element in drawn.iter() if "order" in (element.get("class") or "")] == ["2"]
    assert drawn.findtext(f"{SVG}title") == "pascal - random, move 2"
    assert "prefers-color-scheme: dark" in str(drawn.findtext(f"{SVG}style"))
    assert picture.headers["cache-control"] == "public, max-age=86400"
    assert "style-src 'unsafe-inline'" in picture.headers["content-security-policy"]
    cached_answer = site.get(f"/{cup}/games/1.svg?ply=2&numbers=1", if_none_match=picture.headers["etag"])
    assert (cached_answer.status, cached_answer.body) == (304, b"")
    last = site.get(f"/{cup}/games/1.svg")
    assert last.text.count('class="stone ') == len(moves)
    assert site.get(f"/{cup}/games/1.svg?ply=99").text == last.text


@pytest.mark.parametrize("query", ["ply=-1", "ply=x", "ply=", "numbers=all"])
def test_a_picture_of_an_unknown_ply_is_refused(site: Site, cup: str, query: str) -> None:
    answer = site.get(f"/{cup}/games/1.svg?{query}")
    assert answer.status == 400
    assert "expected a whole number" in answer.text


def test_a_picture_of_an_unknown_game_or_variant_is_refused(
    site: Site, cup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.get(f"/{cup}/games/99.svg").status == 404
    monkeypatch.setattr(drawing, "geometry", lambda variant: None)
    answer = site.get(f"/{cup}/games/1.svg")
    assert answer.status == 404
    assert "The variant tictactoe is not installed" in answer.text


def test_an_empty_board_for_scripts_shows_the_used_area(site: Site) -> None:
    answer = site.get("/board?variant=mnk:30,30,5&used=0,31&labels=false")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    game = {"board": geometry("mnk:30,30,5"), "moves": [0, 31]}
    assert answer.body.decode() == board_svg(game, 0, labels=False, live=True)
    whole = site.get("/board?variant=mnk:30,30,5&used=0,31&whole=true")
    assert whole.body.decode() == board_svg(game, 0, whole=True, live=True)


@pytest.mark.parametrize(
    "query, status", [("variant=chess", 404), ("variant=tictactoe&used=9", 400), ("variant=tictactoe&used=x", 400)]
)
def test_unknown_boards_and_cells_are_refused(site: Site, query: str, status: int) -> None:
    assert site.get(f"/board?{query}").status == status


@pytest.mark.processes
def test_the_mark_of_a_disc_appears_when_the_disc_has_landed(site: Site, browser: Browser) -> None:
    game = with_board({"variant": "connect4", "moves": [38, 31]})
    script = """async ([module, [before, game]]) => {
      const { draw } = await import(module);
      document.body.innerHTML = before;
      draw(document.body.firstChild, game, 2);
      return [...document.querySelectorAll(".last")].map((mark) => getComputedStyle(mark).opacity);
    }"""
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        module = f"/static/{static_files()[0]}/board.js"
        assert page.evaluate(script, [module, [board_svg(game, 1, live=True), game]]) == ["0"]
        expect(page.locator(".last")).to_have_css("opacity", "1")
