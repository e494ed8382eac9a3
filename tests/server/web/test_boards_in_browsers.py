"""Boards in browsers: a script shows moves as the server draws them, and pictures show their positions."""

import hashlib
import json
import random
from collections.abc import Iterator
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
from tests.support.browser import chromium, page_in
from tests.support.site import Site

WITH_OPENINGS = tuple(f"gomoku+{rule}" for rule in OPENING_RULES)
VARIANTS = (*OWN_NAMES, *WITH_OPENINGS, "mnk:1,1,1", "mnk:9,4,4", "mnk:10,2,2", "mnk:30,30,5", "mnk:21,6,5")
POSITIONS = 40
SVG = "{http://www.w3.org/2000/svg}"
DIGESTS = """async ([module, wanted]) => {
  const { draw } = await import(module);
  const place = document.createElement("div");
  return Promise.all(JSON.parse(wanted).map(async ([before, game, ply, numbers]) => {
    place.innerHTML = before;
    draw(place.firstChild, game, ply, numbers);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(place.innerHTML));
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }));
}"""
SHOWN = """async ([module, [before, game, ply, numbers]]) => {
  const { draw } = await import(module);
  document.body.innerHTML = before;
  draw(document.body.firstChild, game, ply, numbers);
  return document.body.innerHTML;
}"""


class Wanted(NamedTuple):
    """A board that a browser has, and the moves to show on it."""

    before: str
    game: Document
    ply: int
    numbers: int
    after: str


def played(variant: str, numbers: random.Random) -> Document:
    """A game of random moves to its end, or to a random ply before."""
    known = parse_variant(variant)
    # Few stones, so that large boards are cropped, or any number.
    position, most, over = Position(known), numbers.randint(0, numbers.choice((3, known.cells))), False
    while len(position.moves) < most and not over:
        cell, occupied = numbers.randrange(known.cells), position.own | position.opponent
        if known.takes(cell, occupied) and position.forbidden(cell) is None:
            position.play(cell)
            over = position.outcome() is not None
    won = list(known.won_with(position.moves))
    return with_board({"variant": variant, "moves": position.moves, "winning_cells": won})


def to_draw(variant: str, numbers: random.Random) -> Wanted:
    game = played(variant, numbers)
    plies = len(game["moves"])
    ply, orders = numbers.choice((plies, numbers.randint(0, plies))), numbers.choice((0, 5, 1000))
    options = {
        "labels": numbers.random() < 0.7,
        "swapped": numbers.random() < 0.3,
        "whole": numbers.random() < 0.3,
        "live": True,
    }
    before = board_svg(game, numbers.choice((0, plies)), numbers=numbers.choice((0, 3)), **options)
    return Wanted(before, game, ply, orders, board_svg(game, ply, numbers=orders, **options))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.mark.processes
def test_browser_shows_moves_as_the_server_draws_them(site: Site, browser: Browser) -> None:
    numbers = random.Random(1)
    wanted = [to_draw(variant, numbers) for variant in VARIANTS for _ in range(POSITIONS)]
    assert any(each.game["winning_lines"] for each in wanted)
    with page_in(browser, site.address) as page:
        page.goto("/signin")
        module = f"/static/{static_files()[0]}/board.js"
        shown = page.evaluate(DIGESTS, [module, json.dumps([each[:4] for each in wanted])])
        different = [
            each
            for each, digest in zip(wanted, shown, strict=True)
            if hashlib.sha256(each.after.encode()).hexdigest() != digest
        ]
        # The first difference as text.
        for each in different[:1]:
            assert page.evaluate(SHOWN, [module, each[:4]]) == each.after
    assert len(shown) == len(wanted)
    assert different == []


@pytest.mark.processes
def test_browser_takes_over_the_board_that_the_server_drew(site: Site, browser: Browser, cup: str) -> None:
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


def test_a_picture_shows_the_position_at_its_ply_and_is_kept(site: Site, cup: str) -> None:
    moves = game_of(site, cup)["moves"]
    picture = site.get(f"/{cup}/games/1.svg?ply=2&numbers=1")
    assert (picture.status, picture.headers["content-type"]) == (200, "image/svg+xml")
    drawn = ElementTree.fromstring(picture.text)
    stones = [each.get("data-cell") for each in drawn.iter() if "stone" in (each.get("class") or "").split()]
    assert stones == [str(cell) for cell in moves[:2]]
    assert [each.text for each in drawn.iter() if "order" in (each.get("class") or "")] == ["2"]
    assert drawn.findtext(f"{SVG}title") == "pascal - random, move 2"
    assert "prefers-color-scheme: dark" in str(drawn.findtext(f"{SVG}style"))
    assert picture.headers["cache-control"] == "public, max-age=86400"
    assert "style-src 'unsafe-inline'" in picture.headers["content-security-policy"]
    known = site.get(f"/{cup}/games/1.svg?ply=2&numbers=1", if_none_match=picture.headers["etag"])
    assert (known.status, known.body) == (304, b"")
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
    shown = {"board": geometry("mnk:30,30,5"), "moves": [0, 31]}
    assert answer.body.decode() == board_svg(shown, 0, labels=False, live=True)
    whole = site.get("/board?variant=mnk:30,30,5&used=0,31&whole=true")
    assert whole.body.decode() == board_svg(shown, 0, whole=True, live=True)


@pytest.mark.parametrize(
    "query, status", [("variant=chess", 404), ("variant=tictactoe&used=9", 400), ("variant=tictactoe&used=x", 400)]
)
def test_unknown_boards_and_cells_are_refused(site: Site, query: str, status: int) -> None:
    assert site.get(f"/board?{query}").status == status
