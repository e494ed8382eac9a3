"""Boards: the server and the browser draw the same text, and what is drawn shows the game."""

import hashlib
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser

from noughts_referee.rules import OPENING_RULES, OWN_NAMES, Position, parse_variant
from noughts_server.web.app import static_files
from noughts_server.web.board_svg import board_svg
from noughts_server.web.boards import geometry
from noughts_server.web.documents import Document
from tests.support.browser import chromium, page_in
from tests.support.site import Site

WITH_OPENINGS = tuple(f"gomoku+{rule}" for rule in OPENING_RULES)
VARIANTS = (*OWN_NAMES, *WITH_OPENINGS, "mnk:1,1,1", "mnk:9,4,4", "mnk:10,2,2", "mnk:30,30,5")
POSITIONS = 200
DIGESTS = """async ([module, wanted]) => {
  const { boardSvg } = await import(module);
  return Promise.all(wanted.map(async ([game, ply, options]) => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(boardSvg(game, ply, options)));
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }));
}"""


class Wanted(NamedTuple):
    """What to draw."""

    game: Document
    ply: int
    options: dict[str, Any]


def played(variant: str, numbers: random.Random) -> Document:
    """A game of random moves to its end, or to a random ply before."""
    known = parse_variant(variant)
    position, most, over = Position(known), numbers.randint(0, known.cells), False
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
        drawn = page.evaluate(DIGESTS, [module, wanted])
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
