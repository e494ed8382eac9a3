"""The script that shows games on a board: its functions in Node, and its boards in a browser."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from noughts_referee.rules import cell_name, parse_variant
from noughts_server.report.collect import ShownGame
from noughts_server.report.embedded import games_json
from noughts_server.report.page import viewer_script
from noughts_server.tables.recorded_game import RecordedGame
from tests.support.browser import chromium
from tests.support.node import NODE
from tests.support.tools import run

pytestmark = pytest.mark.processes


def run_in_node(script: str, *arguments: str) -> Any:
    """Run a script after the viewer's, and return the JSON that it prints."""
    return json.loads(run(NODE, "--input-type=module", "-e", f"{viewer_script()}\n{script}", *arguments))


def random_game(variant: str, rng: random.Random) -> RecordedGame:
    """Return a game of random moves until a line is complete or the board is full."""
    board = parse_variant(variant)
    moves: list[int] = []
    for cell in rng.sample(range(board.cells), board.cells):
        moves.append(cell)
        if board.won_with(moves):
            return RecordedGame(variant, "A", "B", "1-0" if len(moves) % 2 else "0-1", tuple(moves), "line")
    return RecordedGame(variant, "A", "B", "1/2-1/2", tuple(moves), "board_full")


@pytest.mark.parametrize("variant", ["tictactoe", "gomoku", "qubic", "mnk:30,7,5"])
def test_the_board_after_each_ply_is_that_of_the_rules(variant: str, tmp_path: Path) -> None:
    board = parse_variant(variant)
    games = [random_game(variant, random.Random(seed)) for seed in range(4)]
    document, number = games_json(ShownGame(place, game) for place, game in enumerate(games, start=1))
    assert number == 4
    empty = tmp_path / "empty.html"
    empty.write_text(f"<!doctype html><title>Boards</title><script>{viewer_script()}</script>", encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page()
        page.goto(empty.as_uri())
        views = page.evaluate(
            """(text) => {
              const data = JSON.parse(text);
              return data.games.map((row) => {
                const game = read(data, row);
                document.body.innerHTML = game.drawn;
                return Array.from({ length: game.moves.length + 1 }, (_, ply) => {
                  draw(document.body.firstChild, game, ply);
                  return { words: words(game, ply), board: document.body.innerHTML };
                });
              });
            }""",
            str(document),
        )
    for game, views_of_game in zip(games, views, strict=True):
        for ply, view in enumerate(views_of_game):
            stones = re.findall(r'class="stone (first|second)[^"]*" data-cell="(\d+)"', view["board"])
            assert [int(cell) for _, cell in stones] == list(game.moves[:ply])
            assert [side for side, _ in stones] == [("first", "second")[place % 2] for place in range(ply)]
            winning_cells = board.won_with(list(game.moves)) if ply == len(game.moves) else ()
            assert view["board"].count('class="won"') == len(winning_cells)
            assert not ply or cell_name(board, game.moves[ply - 1]) in view["words"]
        assert game.result in views_of_game[-1]["words"]


def test_description_of_a_ply_has_times_openings_and_faults() -> None:
    game = RecordedGame(
        variant="tictactoe",
        first="A",
        second="B",
        result="0-1",
        moves=(4, 0, 8),
        termination="timeout",
        opening_plies=1,
        times_ms=(0, 1.234, 2500),
        fault="took too long",
    )
    document, _ = games_json([ShownGame(7, game)])
    words = run_in_node(
        "const data = JSON.parse(process.argv[1]); const game = read(data, data.games[0]);"
        "console.log(JSON.stringify([0, 1, 2, 3].map((ply) => words(game, ply))));",
        str(document),
    )
    assert words == [
        "Ply 0 of 3.",
        "Ply 1 of 3. X A: b2, opening.",
        "Ply 2 of 3. O B: a3, 1.23 ms.",
        "Ply 3 of 3. X A: c1, 2.50 s. 0-1, timeout. the loser took too long.",
    ]


def test_keys_choose_a_ply_within_the_game() -> None:
    key_and_ply = [
        ["ArrowLeft", 0],
        ["ArrowLeft", 5],
        ["ArrowRight", 8],
        ["ArrowRight", 9],
        ["Home", 4],
        ["End", 4],
        ["a", 4],
    ]
    next_plies = run_in_node(
        f"console.log(JSON.stringify({json.dumps(key_and_ply)}.map(([key, ply]) => keyed(key, ply, 9))));",
    )
    assert next_plies == [0, 4, 9, 9, 0, 9, None]


def test_the_page_works_in_a_browser(report: Any, round_robin: Any, tmp_path: Path) -> None:
    text = report(round_robin(["A", "</script>", "C"]))
    # After the page's own script: press keys on the board, and choose a bot.
    actions = """<script type="module">
      const press = (key) => document.getElementById("game-board").dispatchEvent(new KeyboardEvent("keydown", { key }));
      press("Home"); press("ArrowRight"); press("ArrowRight");
      const filter = document.getElementById("game-filter");
      document.body.dataset.words = document.getElementById("game-words").textContent;
      filter.value = "C"; filter.dispatchEvent(new Event("change"));
      document.body.dataset.listed = document.getElementById("game-list").length;
      document.body.dataset.stones = document.querySelectorAll("#game-board .cross, #game-board .nought").length;
    </script>"""
    page = tmp_path / "report.html"
    page.write_text(text.replace("</body>", f"{actions}</body>"), encoding="utf-8")
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(page.as_uri())
        content = tab.content()
    body = re.search(r"<body[^>]*>", content)
    assert body
    assert 'data-words="Ply 2 of 7. O &lt;/script&gt;: a3, 0.2 ms."' in body[0]
    assert 'data-listed="4"' in body[0]
    assert 'data-stones="7"' in body[0]
