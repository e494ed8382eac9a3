"""Games in the browser that begin from a position of another game: the link on its page, the form and the record."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from noughts_referee.rules import parse_variant
from noughts_server.testing import ServerUnderTest
from noughts_server.web.house_bots import best_fit
from noughts_server.web.play_tables import TableSettings
from tests.server.web.playing import choose_opponent
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.random_games import random_moves
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes
FORM = {"opponent": "house:random", "begins": "you", "mark": "begins"}


@pytest.fixture(scope="module")
def tables(server: ServerUnderTest) -> Iterator[Site]:
    """A site on which visitors can play, with many tables and without pauses of its bots."""
    settings = TableSettings(most=40, address_most=40, address_games=100, games_a_minute=100, pause=0.0)
    with site_of(server.address, token=server.token("site"), tables=settings) as running:
        yield running


def link_of(page: str) -> str:
    (address,) = re.findall(r'href="(/play\?variant=[^"]+)"', page)
    return str(address).replace("&amp;", "&")


def test_each_ply_of_a_game_has_a_link_to_its_position(tables: Site, cup: str) -> None:
    game = tables.get(f"/api/v1/{cup}/games/1").document["game"]
    moves = game["moves"]
    for ply in (0, 1, 3):
        page = tables.get(f"/{game['name']}?ply={ply}").text
        cells = "%2C".join(map(str, moves[:ply]))
        assert link_of(page).replace(",", "%2C") == f"/play?variant=tictactoe&moves={cells}"
        assert "Play on from here yourself" in page
    last_page = tables.get(f"/{game['name']}").text
    assert link_of(last_page) == f"/play?variant=tictactoe&moves={','.join(map(str, moves[:-1]))}"
    assert "Play the last move yourself" in last_page
    assert "Start position" in tables.get(link_of(last_page)).text


def test_site_without_games_offers_no_positions(site: Site, cup: str) -> None:
    assert 'id="try"' not in site.get(f"/{cup}/games/1").text


@pytest.mark.parametrize("begins", ["you", "they"])
@pytest.mark.parametrize(
    "variant", ["tictactoe", "connect4", "gomoku", "renju", "caro", "mnk:7,6,4", "tictactoe3d", "qubic", "mnk:30,30,5"]
)
def test_record_begins_with_the_moves_of_the_start_position(tables: Site, variant: str, begins: str) -> None:
    moves = random_moves(parse_variant(variant), 5)[:-1]
    form = {**FORM, "variant": variant, "begins": begins, "moves": ",".join(map(str, moves))}
    answer = tables.post("/play", form)
    assert answer.status == 303, answer.text
    table = answer.headers["location"]
    state = tables.get(f"{table}/state").document
    assert state["sides"] == [(len(moves) + (begins == "they")) % 2]
    assert (state["start"], state["opening"]) == (len(moves), len(moves))
    if begins == "they":
        # The bot's move can end the game.
        eventually(lambda: count_moves(tables, state["game"]) > len(moves))
    tables.post(f"{table}/resign", {"game": state["game"]})
    eventually(lambda: tables.get(f"/api/v1/{state['game']}").status == 200)
    game = tables.get(f"/api/v1/{state['game']}").document["game"]
    assert game["moves"][: len(moves)] == moves
    assert game["opening_plies"] == len(moves)


def count_moves(tables: Site, name: str) -> int:
    return len(re.findall(r'href="/tournaments/[^"]+\?ply=\d+"', tables.get(f"/{name}").text))


@pytest.mark.parametrize(
    "variant, moves, words",
    [
        ("tictactoe", "0,3,1,4,2", "move 5 on c3, which ends the game"),
        ("tictactoe", "0,0", "a move 2 that"),
        ("tictactoe", "0,9", "from 0 to 8"),
        ("tictactoe", "0,,1", "a whole number"),
        ("tictactoe", "0,1,2,3,4,5,6,7,8,0", "at most 9 moves"),
        ("connect4", "3", "a move 1 that"),
        ("chess", "3", "expected one of"),
    ],
)
def test_positions_that_no_game_can_start_from_are_refused(tables: Site, variant: str, moves: str, words: str) -> None:
    for answer in (
        tables.get(f"/play?variant={variant}&moves={moves}"),
        tables.post("/play", {**FORM, "variant": variant, "moves": moves}),
    ):
        assert answer.status == 400
        assert words in answer.text


def test_visitor_tries_a_position_and_takes_back_only_later_moves(tables: Site, cup: str, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto(f"/{cup}/games/1")
        page.locator("#begin").click()
        page.locator("#on").click()
        page.locator("#on").click()
        page.get_by_role("link", name="Play on from here yourself").click()
        expect(page.get_by_role("group", name="Start position").locator(".stone")).to_have_count(2)
        choose_opponent(page, "house:first-free")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#status")).to_have_text("Your turn: you are X.")
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(page.get_by_role("button", name="Take back")).to_be_disabled()
        page.get_by_role("button", name=re.compile(", free$")).first.click()
        expect(page.locator("#board .stone")).to_have_count(4)
        page.get_by_role("button", name="Take back").click()
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(page.get_by_role("button", name="Take back")).to_be_disabled()
        page.get_by_role("button", name="Swap sides").click()
        expect(page.locator("#board .stone")).to_have_count(3)
        expect(page.locator("#status")).to_have_text("Your turn: you are O.")


def test_form_of_a_position_offers_only_bots_that_play_it(tables: Site) -> None:
    page = tables.get("/play?variant=qubic&moves=0,1").text
    assert 'value="house:minimax"' not in page
    assert re.search(rf'value="house:{best_fit("qubic").spec}"\s+checked', page)
    assert re.search(r'value="you"\s+checked', page)
