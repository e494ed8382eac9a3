"""Boards: the server and the browser draw the same text, and what is drawn shows the game."""

import hashlib
import json
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, expect

from noughts_referee.rules import OPENING_RULES, OWN_NAMES, Position, column_name, parse_variant
from noughts_server.core.board_geometry import geometry
from noughts_server.web import known_game
from noughts_server.web.app import static_files
from noughts_server.web.board_svg import board_svg, picture
from noughts_server.web.documents import Document
from tests.support.browser import chromium, page_in
from tests.support.site import Site

WITH_OPENINGS = tuple(f"gomoku+{rule}" for rule in OPENING_RULES)
VARIANTS = (*OWN_NAMES, *WITH_OPENINGS, "mnk:1,1,1", "mnk:9,4,4", "mnk:10,2,2", "mnk:30,30,5", "mnk:21,6,5")
POSITIONS = 200
SVG = "{http://www.w3.org/2000/svg}"
DIGESTS = """async ([module, wanted]) => {
  const { boardSvg } = await import(module);
  return Promise.all(JSON.parse(wanted).map(async ([game, ply, options]) => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(boardSvg(game, ply, options)));
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }));
}"""


class Wanted(NamedTuple):
    """A board to draw."""

    game: Document
    ply: int
    options: dict[str, Any]


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
    return {"variant": variant, "board": geometry(variant), "moves": position.moves, "winning_cells": won}


def to_draw(variant: str, numbers: random.Random) -> Wanted:
    game = played(variant, numbers)
    plies = len(game["moves"])
    options = {
        "numbers": numbers.choice((0, 5, 1000)),
        "labels": numbers.random() < 0.7,
        "swapped": numbers.random() < 0.3,
        "whole": numbers.random() < 0.3,
    }
    return Wanted(game, numbers.choice((plies, numbers.randint(0, plies))), options)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.mark.processes
def test_server_and_browser_draw_the_same_boards(site: Site, browser: Browser) -> None:
    numbers = random.Random(1)
    wanted = [to_draw(variant, numbers) for variant in VARIANTS for _ in range(POSITIONS)]
    assert any(each.game["winning_cells"] for each in wanted)
    with page_in(browser, site.address) as page:
        page.goto("/signin")
        module = f"/static/{static_files()[0]}/board.js"
        drawn = page.evaluate(DIGESTS, [module, json.dumps(wanted)])
        different = [
            each
            for each, digest in zip(wanted, drawn, strict=True)
            if hashlib.sha256(board_svg(each.game, each.ply, **each.options).encode()).hexdigest() != digest
        ]
        # The first difference as text.
        for each in different[:1]:
            text = page.evaluate("async ([at, wanted]) => (await import(at)).boardSvg(...wanted)", [module, each])
            assert text == board_svg(each.game, each.ply, **each.options), each
    assert len(drawn) == len(wanted)
    assert different == []


@pytest.mark.processes
def test_browser_takes_over_the_board_that_the_server_drew(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address, java_script_enabled=False) as page:
        page.goto(f"/{cup}/games/1")
        drawn = page.locator("#board svg").evaluate("svg => svg.outerHTML")
    assert drawn == board_svg({**game_of(site, cup), "board": geometry("tictactoe")})
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
    monkeypatch.setattr(known_game, "geometry", lambda variant: None)
    answer = site.get(f"/{cup}/games/1.svg")
    assert answer.status == 404
    assert "The variant tictactoe is not installed" in answer.text


def test_titles_of_pictures_are_text() -> None:
    game: Document = {"board": geometry("tictactoe"), "moves": []}
    assert "<title>&lt;b&gt; - &amp;</title>" in picture(board_svg(game), "<b> - &")


def test_winning_lines_are_drawn_in_every_direction() -> None:
    board = geometry("gomoku")
    # Four lines of five begin at the last stone, on 7 7: to the left, and down in three directions.
    won = sorted({112 + step * number for step in (-1, 14, 15, 16) for number in range(5)})
    drawn = board_svg({"board": board, "moves": [*range(8), 112], "winning_cells": won}, labels=False)
    ends = [tuple(map(int, re.findall("-?[0-9]+", line))) for line in re.findall('win-line" d="(.*?)"', drawn)]
    centre, far, more = 2 + 7 * 40 + 20, 160, 12
    assert sorted(ends) == sorted(
        [
            (centre - far - more, centre, centre + more, centre),
            (centre + more, centre - more, centre - far - more, centre + far + more),
            (centre, centre - more, centre, centre + far + more),
            (centre - more, centre - more, centre + far + more, centre + far + more),
        ]
    )
    assert 'class="played second-lost"' in drawn


@pytest.mark.parametrize(
    "variant, moves, columns, rows",
    [
        ("mnk:30,30,5", [], (8, 22), (8, 22)),
        ("mnk:30,30,5", [0, 31], (0, 14), (0, 14)),
        ("mnk:30,30,5", [899], (15, 29), (15, 29)),
        ("mnk:30,30,5", [3 + 30 * 3, 20 + 30 * 5], (0, 23), (0, 23)),
        ("mnk:21,6,5", [10], (3, 17), (0, 5)),
        ("mnk:20,20,5", [0], (0, 19), (0, 19)),
    ],
)
def test_a_large_board_is_cropped_to_its_stones(
    variant: str, moves: list[int], columns: tuple[int, int], rows: tuple[int, int]
) -> None:
    known = parse_variant(variant)
    drawn = board_svg({"board": geometry(variant), "moves": moves})
    names = re.findall(r'class="name"[^>]*>([a-z0-9]+)<', drawn)
    wide = columns[1] - columns[0] + 1
    assert (names[0], names[wide - 1]) == tuple(column_name(column) for column in columns)
    assert (names[wide], names[-1]) == tuple(str(known.rows - row) for row in rows)
    assert drawn.count('class="stone ') == len(moves)
