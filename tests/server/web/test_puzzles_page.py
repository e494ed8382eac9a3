"""The page of a puzzle, without scripts: task, answers, hint, solution and the next puzzle."""

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.runtime.puzzles import search
from noughts_server.store.games.puzzles import next_unsearched
from tests.support.arena import open_arena
from tests.support.background import server_in_thread
from tests.support.browser import page_in
from tests.support.random_games import store_random_games
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    file = tmp_path_factory.mktemp("puzzles") / "games.sqlite"
    asyncio.run(_store_puzzles(file))
    with server_in_thread(f"sqlite:///{file}") as address, site_of(address) as running:
        yield running


async def _store_puzzles(file: Path) -> None:
    async with open_arena(file) as arena:
        await store_random_games(arena, "tictactoe", 40)
        await store_random_games(arena, "renju", 2, slug="renju-cup")
        while games := await arena.store.read(partial(next_unsearched, most=40)):
            await search(arena.store, games)


def test_only_the_winning_move_is_right(site: Site) -> None:
    puzzle = site.get("/api/v1/puzzles?variant=tictactoe&page_size=1").document["puzzles"][0]
    page = site.get("/puzzles?variant=tictactoe").text
    answers = [unescape(link) for link in re.findall(r'href="(/puzzles\?[^"]*move=\d+)#answer"', page)]
    assert len(answers) == 9 - len(puzzle["moves"])
    assert re.search(rf"Noughts and crosses: [XO] to move wins in {puzzle['moves_to_win']} moves</h2>", page)
    assert 'class="piece board marks"' in page
    assert puzzle["bot"] in page
    tournament, _games, number = puzzle["game"].rpartition("/games/")
    title = site.get(f"/api/v1/{tournament}").document["title"] or tournament.partition("/")[2]
    assert f"game {number} of {title}" in page
    for answer in answers:
        is_right = answer.endswith(f"move={puzzle['line'][0]}")
        answer_page = site.get(answer).text
        assert ("Right." in answer_page, "does not win" in answer_page) == (is_right, not is_right)
        # The next puzzle is the main thing to do only after the solution.
        assert ('class="button main" rel="next"' in answer_page) == is_right
        # The answer stands above the board, which shows the move.
        assert answer_page.index('id="answer"') < answer_page.index('class="board-place"')
        cell = answer.rpartition("=")[2]
        assert re.search(rf'class="[^"]*stone[^"]*"[^>]*data-cell="{cell}"', answer_page)


def test_puzzle_of_continuous_fours_says_what_is_asked(site: Site) -> None:
    puzzle = site.get("/api/v1/puzzles?variant=renju&page_size=1").document["puzzles"][0]
    assert puzzle["kind"] == "continuous_fours"
    assert "Only one move wins by continuous fours." in site.get("/puzzles?variant=renju").text
    wrong = next(cell for cell in range(225) if cell not in (*puzzle["moves"], puzzle["line"][0]))
    assert "does not win by continuous fours." in site.get(f"/puzzles?variant=renju&move={wrong}").text


def test_navigation_is_one_line_on_a_phone(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/puzzles")
        links = page.locator(".site-header nav li:not(.self)")
        expect(links.filter(has_text="Puzzles")).to_be_visible()
        boxes = [link.bounding_box() for link in links.all()]
        assert len({box["y"] for box in boxes if box}) == 1
        assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_filters_are_below_the_board_on_a_phone(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/puzzles")
        boxes = [page.locator(place).bounding_box() for place in ("h1", ".puzzle .board-place", ".filters")]
        tops = [box["y"] for box in boxes if box]
        assert tops == sorted(tops)
        assert tops[1] < 300


def test_board_is_large_on_a_wide_screen_and_help_is_in_one_line(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address, viewport={"width": 1920, "height": 1080}) as page:
        page.goto("/puzzles")
        board = page.locator(".puzzle .board-place").bounding_box()
        assert board is not None
        assert board["width"] > 700
        tops = "summaries => new Set(summaries.map(each => each.getBoundingClientRect().top)).size"
        assert page.locator(".puzzle summary").evaluate_all(tops) == 1


def test_next_leads_through_all_puzzles(site: Site) -> None:
    counts = site.get("/api/v1/puzzles").document["counts"]
    total = sum(count["puzzles"] for count in counts if count["variant"] == "tictactoe")
    address = "/puzzles?variant=tictactoe"
    seen = set()
    while address:
        page = site.get(address).text
        seen.add(re.search(r'href="(/tournaments/[^"]+\?ply=\d+)"', page)[1])  # type: ignore[index]
        next_link = re.search(r'rel="next" href="([^"]+)"', page)
        address = unescape(next_link[1]) if next_link else ""
    assert len(seen) == total > 3


def test_wrong_addresses_are_refused_and_missing_puzzles_named(site: Site) -> None:
    for wrong in ("move=x", "move=901", "moves=x", "variant=nothing", "page_token=x"):
        assert site.get(f"/puzzles?{wrong}").status == 400
    assert "No game has such a puzzle yet." in site.get("/puzzles?variant=connect4").text


def test_answer_off_the_board_is_ignored(site: Site) -> None:
    assert "does not win" not in site.get("/puzzles?variant=tictactoe&move=899").text
