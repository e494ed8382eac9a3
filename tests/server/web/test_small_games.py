"""Small boards of games: both players with piece, clock or points, the last move, and names that keep their ends."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.drawing.board_svg import with_board
from noughts_server.testing import ServerUnderTest
from noughts_server.web.app import static_files
from noughts_server.web.words import clock, how_ended
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game

LONG = "a-bot-whose-name-is-much-longer-than-its-card-"
SHOW = """async ([module, games, keeps, more]) => {
    const { showGames } = await import(module);
    window.ownGrid ??= Object.assign(document.createElement("div"), { className: "grid" });
    if (!window.ownGrid.isConnected) document.body.append(window.ownGrid);
    const heard = performance.now();
    showGames(window.ownGrid, games.map((game) => ({ heard, ...game })), { keeps: () => keeps, more });
}"""


@pytest.mark.parametrize(
    "micros, words", [(None, ""), (65_900_000, "1:05"), (20_000_000, "0:20"), (7_300_000, "0:07.3"), (0, "0:00.0")]
)
def test_clocks_of_pages_are_those_of_scripts(micros: int | None, words: str) -> None:
    assert clock(micros) == words


@pytest.mark.parametrize(
    "result, termination, won, words",
    [
        ("1-0", "line", [1, 2, 3, 4, 5], "five in a row"),
        ("1-0", "line", list(range(12)), "12 in a row"),
        ("0-1", "timeout", [], "on time"),
        ("*", "void", [], "void"),
    ],
)
def test_endings_name_the_length_of_the_line(result: str, termination: str, won: list[int], words: str) -> None:
    game = {"variant": "gomoku20", "result": result, "termination": termination, "moves": [1], "winning_cells": won}
    assert how_ended(game) == words


@pytest.mark.processes
@pytest.mark.parametrize(
    "variant, won, last, words",
    [
        ("connect4", [3, 2, 1, 0, 10, 17, 24], 3, "four in a row"),  # two lines of four
        ("connect4", [38, 37, 36, 35, 39, 31, 24, 17], 38, "five in a row"),  # five across, four up
        ("qubic", [0, 21, 42, 63, 1, 2, 3], 0, "four in a row"),  # one of the two lines goes through the layers
    ],
)
def test_two_lines_at_once_count_as_the_longer_one(
    site: Site, browser: Browser, variant: str, won: list[int], last: int, words: str
) -> None:
    game = {"variant": variant, "result": "1-0", "termination": "line", "moves": [last], "winning_cells": won}
    assert how_ended(game) == words
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        module = f"/static/{static_files()[0]}/words.js"
        end = page.evaluate("async ([module, game]) => (await import(module)).ending(game)", [module, with_board(game)])
        assert end == words


@pytest.mark.processes
def test_sentences_of_scripts_name_the_loser_whose_clock_is_at_zero(site: Site, browser: Browser) -> None:
    lost = {"first": "ann", "second": "bob", "result": "0-1", "termination": "timeout", "state": "ended"}
    limits = {"bank_us": 0, "increment_us": 0, "move_us": 4_000_000}
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        folder = f"/static/{static_files()[0]}"
        script = """async ([folder, game]) => {
            const { reason } = await import(`${folder}/words.js`);
            const { showStrips } = await import(`${folder}/strips.js`);
            const found = {};
            showStrips(game, 0, 0, null, (name) => (found[name] ??= document.createElement("p")));
            return [reason(game), found["clock-first"].textContent, found["clock-second"].textContent];
        }"""
        game = {**lost, "moves": [], "times_us": [], "time": limits}
        assert page.evaluate(script, [folder, game]) == ["ann ran out of time", "0:00.0", "0:04.0"]


def game(number: int, **fields: object) -> dict[str, Any]:
    usual = {"name": f"games/{number}", "first": "ann", "second": "bob", "state": "running", "variant": "connect4"}
    return with_board({**usual, "moves": [38], **fields})


def show(page: Page, games: list[dict[str, Any]], *, keeps: bool = False, more: bool = False) -> None:
    page.evaluate(SHOW, [f"/static/{static_files()[0]}/grid.js", games, keeps, more])


@pytest.mark.processes
def test_cards_show_pieces_clocks_the_last_move_and_the_winner(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.clock.install()
        page.goto("/bots")
        page.clock.pause_at(page.evaluate("Date.now() + 3600000"))
        show(page, [game(1, moves=[38, 31], first_clock_us=65_500_000, second_clock_us=8_000_000)])
        card = page.locator(".small-game[data-name='games/1']")
        expect(card.locator(".pair .piece")).to_have_count(2)
        expect(card.locator(".pair.first")).to_have_class("pair first to-move")
        expect(card.locator(".pair.second b")).to_have_text("0:08.0")
        page.clock.run_for(1_000)
        expect(card.locator(".pair.first b")).to_have_text("1:04")
        expect(card.locator(".said")).to_have_text("move 2: d2")
        over = {"state": "ended", "result": "0-1", "termination": "line", "winning_cells": [31, 32, 33, 34]}
        show(page, [game(1, moves=[38, 31], **over)])
        expect(card.locator(".pair.second")).to_have_class("pair second winner")
        assert card.locator(".pair > b").all_inner_texts() == ["0", "1"]
        expect(card.locator(".said")).to_have_text("four in a row")


@pytest.mark.processes
def test_cards_of_games_without_moves_are_about_to_begin(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        show(page, [game(1, moves=[]), game(2, moves=[], state="waiting")])
        expect(page.locator("body > .grid .said")).to_have_text(["about to begin", "waiting"])


@pytest.mark.processes
def test_names_on_cards_keep_their_ends(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        for width in (390, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 844})
            page.goto("/bots")
            show(page, [game(number, first=f"{LONG}v{number}", second="bob") for number in range(3)])
            ends = page.locator("body > .grid .cut > :last-child")
            expect(ends).to_have_text(["ard-v0", "ard-v1", "ard-v2"])
            for end in ends.all():
                assert end.evaluate(
                    """end => end.getBoundingClientRect().right <=
                        end.closest(".pair").querySelector("b").getBoundingClientRect().left + 1"""
                )


@pytest.mark.processes
def test_games_that_are_over_keep_their_places_on_the_home_page(site: Site, browser: Browser) -> None:
    names = "[...document.querySelectorAll('body > .grid .small-game')].map((card) => card.dataset.name)"
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        show(page, [game(1), game(2)], keeps=True)
        expect(page.locator("body > .grid .small-game")).to_have_count(2)
        show(page, [game(2)], keeps=True)
        assert page.evaluate(names) == ["games/1", "games/2"]
        show(page, [game(2), game(3)], keeps=True)
        assert page.evaluate(names) == ["games/3", "games/2"]


@pytest.mark.processes
def test_boards_move_up_if_no_game_takes_an_empty_place(site: Site, browser: Browser) -> None:
    names = "[...document.querySelectorAll('body > .grid .small-game')].map((card) => card.dataset.name ?? 'empty')"
    with page_in(browser, site.address) as page:
        page.clock.install()
        page.goto("/bots")
        page.clock.pause_at(page.evaluate("Date.now() + 3600000"))
        show(page, [game(1), game(2), game(3)], more=True)
        expect(page.locator("body > .grid .small-game")).to_have_count(3)
        for places in (["empty", "games/2", "games/3"], ["games/2", "games/3"]):
            show(page, [game(2), game(3)], more=True)
            assert page.evaluate(names) == places
            page.clock.run_for(5_000)


@pytest.mark.processes
def test_small_games_without_scripts_show_players_and_the_last_move(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        game.play(4, 0)
        path = f"/{game.name.partition('/games/')[0]}"
        eventually(lambda: "move 2: a3" in site.get(path).text)
        text = site.get(path).text
        assert text.count('<span class="label">First</span>') == 1
        assert text.count('<svg class="piece board marks"') == 2
        game.play(1, 3, 7)
