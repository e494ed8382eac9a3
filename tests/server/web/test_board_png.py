"""Boards as PNG files, and the site without the renderer."""

import asyncio
import struct
import subprocess
import threading
from contextlib import suppress
from typing import Any

import psutil
import pytest

from noughts_server.core.board_geometry import geometry
from noughts_server.core.computing import Computing
from noughts_server.testing import ServerUnderTest
from noughts_server.web import board_png
from noughts_server.web.documents import Document
from noughts_server.web.upstream import GUEST, Failure
from tests.support.patience import PATIENCE
from tests.support.site import Site

pytestmark = pytest.mark.processes
SIZE = (1200, 630)
VARIANTS = ("tictactoe", "connect4", "gomoku", "qubic", "mnk:30,30,5")


@pytest.fixture(autouse=True)
def own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw in a thread of this test: an earlier test's event loop can end before its last picture is drawn."""
    monkeypatch.setattr(board_png, "_drawing", Computing("png"))


def size(png_file: bytes) -> tuple[int, int]:
    """The width and the height of a PNG file."""
    assert png_file[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png_file[16:24])
    return width, height


def game_of(variant: str, **more: object) -> Document:
    """Return the document of a game with three moves, as the API would."""
    return {"board": geometry(variant), "moves": [3, 10, 4], "winning_cells": [], **more}


async def png(game: Document, ply: int) -> bytes:
    return await board_png.board_png(board_png.png_source(game, ply))


def test_a_png_shows_the_position_at_its_ply_and_can_be_cached(site: Site, cup: str) -> None:
    path = f"/{cup}/games/1"
    last = site.get(f"{path}.png")
    assert (last.status, last.headers["content-type"]) == (200, "image/png")
    assert size(last.body) == SIZE
    assert last.headers["cache-control"] == "public, max-age=86400"
    assert site.get(f"{path}.png?ply=99").body == last.body
    assert site.get(f"{path}.png?ply=1").body != last.body
    assert site.get(f"{path}.png", if_none_match=last.headers["etag"]).status == 304
    assert site.get(f"{path}.png?ply=x").status == 400
    assert site.get(f"/{cup}/games/99.png").status == 404


async def test_boards_of_all_kinds_of_variants_are_drawn() -> None:
    pictures = [await png(game_of(variant), 2) for variant in VARIANTS]
    assert all(size(picture) == SIZE for picture in pictures)
    assert len(set(pictures)) == len(VARIANTS)


async def test_pictures_are_drawn_with_the_lowest_priority() -> None:
    priorities = set[int]()
    ply = 0
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        while 19 not in priorities:  # a drawing can be over before its process is seen
            ply += 1
            drawing = tasks.create_task(png(game_of("mnk:30,30,5", moves=list(range(200))), ply))
            while not drawing.done():
                with suppress(psutil.Error):
                    children = psutil.Process().children(recursive=True)
                    priorities |= {child.nice() for child in children if "resvg_py" in " ".join(child.cmdline())}
                await asyncio.sleep(0.001)
            assert size(drawing.result()) == SIZE


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_renderer_gets_no_names_addresses_or_unknown_css(variant: str) -> None:
    svg = board_png.png_source(game_of(variant, first="<script>", second="file:///etc/passwd", name="tournaments/x"), 3)
    for words in ("script", "passwd", "tournaments", "href", "url(", "<text", "<image", "var(", "@", ":is("):
        assert words not in svg, words
    assert svg.count("http") == 1  # only the XML namespace


async def test_pictures_are_drawn_once_and_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing, most_at_once, drawn = 0, 0, 0
    run = subprocess.run

    def counting_run(*arguments: Any, **keywords: Any) -> Any:
        nonlocal drawing, most_at_once, drawn
        drawing, drawn = drawing + 1, drawn + 1
        most_at_once = max(most_at_once, drawing)
        try:
            return run(*arguments, **keywords)
        finally:
            drawing -= 1

    monkeypatch.setattr(subprocess, "run", counting_run)
    monkeypatch.setattr(board_png, "_SECONDS", 60)
    game = game_of("mnk:5,4,3")
    await asyncio.gather(*(png(game, ply) for ply in (1, 2, 1, 2, 3)))
    assert (most_at_once, drawn) == (1, 3)
    # A picture whose request has timed out is still not drawn at the same time as another one.
    monkeypatch.setattr(board_png, "_SECONDS", 0.001)
    results = await asyncio.gather(*(png(game_of("mnk:5,6,3"), ply) for ply in (1, 2, 3)), return_exceptions=True)
    assert any(isinstance(result, Failure) for result in results)
    assert await png(game, 1)  # this picture is cached, so it does not wait
    monkeypatch.setattr(board_png, "_SECONDS", 60)
    await png(game_of("mnk:5,7,3"), 1)
    assert most_at_once == 1


async def test_a_renderer_that_fails_or_takes_too_long_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_png, "_RENDER", "raise SystemExit(1)")
    with pytest.raises(Failure, match="could not be drawn"):
        await png(game_of("mnk:4,4,3"), 1)
    monkeypatch.setattr(board_png, "_RENDER", "import time; time.sleep(600)")
    monkeypatch.setattr(board_png, "_SECONDS", 0.2)
    with pytest.raises(Failure, match="too many pictures"):
        await png(game_of("mnk:4,4,3"), 1)


def test_without_the_renderer_previews_are_svg_and_the_address_says_why(
    server: ServerUnderTest, site: Site, cup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/{cup}/games/1"
    text = site.get(path).text
    assert f'<meta property="og:image" content="{site.address}{path}.png?ply=' in text
    assert '<meta name="twitter:card" content="summary_large_image">' in text
    monkeypatch.setattr(board_png, "find_spec", lambda name: None)
    answer = site.get(f"{path}.png")
    assert answer.status == 501
    assert "the package resvg-py is not installed" in answer.text
    assert ".[png]" in answer.text
    text = site.get(path).text
    assert ".png?ply=" not in text
    assert f'<meta property="og:image" content="{site.address}{path}.svg?ply=' in text
    assert '<meta name="twitter:card" content="summary">' in text


async def test_visitors_take_turns_to_have_pictures_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    order, finish = list[str](), threading.Event()

    def render_in_order(svg: str) -> bytes:
        finish.wait(PATIENCE)
        order.append(svg)
        return b""

    async def draw(visitor: str) -> None:
        GUEST.set(visitor)
        await board_png.board_png(visitor)

    monkeypatch.setattr(board_png, "_rendered", render_in_order)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for visitor in ("192.0.2.1",) * 5 + ("192.0.2.2",):
            tasks.create_task(draw(visitor))
        await asyncio.sleep(0)
        finish.set()
    assert order.index("192.0.2.2") == 1
