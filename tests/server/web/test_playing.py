"""Games that visitors play in a real browser, by mouse, keyboard and touch, against bots and other persons."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_proto.security import Dialling
from noughts_proto.v1 import bots_pb2
from noughts_server.client.client import connected
from noughts_server.testing import ServerUnderTest
from noughts_server.web.browser_player import BrowserPlayer
from noughts_server.web.house_bots import HOUSE_BOTS, best_fit, house_bots, strengths
from noughts_server.web.play_tables import TableSettings
from noughts_server.web.signin import Visitor
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def tables(server: ServerUnderTest) -> Iterator[Site]:
    """A site on which visitors can play, with many tables and without pauses of its bots."""
    settings = TableSettings(most=20, address_most=20, games_a_minute=1_000, address_games=1_000, pause=0.0)
    with site_of(server.address, token=server.token("site", "play", "site"), tables=settings) as running:
        yield running


def choose_opponent(page: Page, opponent: str) -> None:
    page.locator(f"[name=opponent][value='{opponent}']").check()


def start_game(page: Page, opponent: str, *, variant: str = "tictactoe", begins: str = "you") -> None:
    """Fill in the form for a game, and wait until the board is shown."""
    page.goto("/play")
    choose_opponent(page, opponent)
    page.get_by_label("Variant").fill(variant)
    page.locator(f"#begins-{begins}").check()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#status")).not_to_have_text("")


def test_mark_does_not_depend_on_who_moves_first(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto("/play")
        page.get_by_text("More choices").click()
        page.get_by_label("My mark").select_option("o")
        choose_opponent(page, "house:first-free")
        page.locator("#begins-you").check()
        page.get_by_role("button", name="Play").click()
        expect_status(page, "Your turn: you are O.")
        page.get_by_role("button", name="b2, free").click()
        expect(page.get_by_role("button", name="b2, O")).to_be_visible()
        expect(page.locator("#board .stone.nought[data-cell='4']")).to_be_visible()
        expect(page.get_by_role("button", name="a3, X")).to_be_visible()
        # The page asks before it abandons a live game.
        page.get_by_role("button", name="Swap sides").click()
        page.get_by_role("button", name="No, go back").click()
        expect(page.get_by_role("button", name="b2, O")).to_be_visible()
        page.get_by_role("button", name="Swap sides").click()
        page.get_by_role("dialog", name="Abandon this game").get_by_role("button", name="New game").click()
        expect_status(page, "Your turn: you are O.")
        expect(page.locator("#board .stone.cross[data-cell='0']")).to_be_visible()


def play_cells(page: Page, *names: str) -> None:
    """Click these cells, each as soon as it is this visitor's turn."""
    for name in names:
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name=f"{name}, free", exact=True).click()
        expect(page.get_by_role("button", name=re.compile(rf"^{name}, [XO]$"))).to_be_visible()


def expect_status(page: Page, words: str) -> None:
    expect(page.locator("#status")).to_have_text(words)


def test_winning_line_is_green_and_losing_line_is_red(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free")
        expect_status(page, "Your turn: you are X.")
        # The bot plays the first free cells: a3, then b3, in the upper row.
        play_cells(page, "a1", "b1", "c1")
        expect_status(page, "You have won.")
        expect(page.locator(".won")).to_have_count(3)
        assert "lost" not in (page.locator("#board svg.board").get_attribute("class") or "")
        green = page.evaluate("getComputedStyle(document.querySelector('.won')).fill")
        # Then the bot moves first and completes the upper row.
        page.get_by_role("button", name="Swap sides").click()
        expect_status(page, "Your turn: you are O.")
        play_cells(page, "a1", "b1")
        expect_status(page, "first-free has won.")
        expect(page.locator("#status")).to_have_class("outcome ended lost")
        expect(page.locator("svg.board.lost .won")).to_have_count(3)
        red = page.evaluate("getComputedStyle(document.querySelector('.won')).fill")
        assert (green, red) == ("rgb(207, 238, 213)", "rgb(246, 208, 205)")


def test_a_game_can_be_played_only_by_keyboard(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:minimax", begins="you")
        expect_status(page, "Your turn: you are X.")
        page.locator("[role=button][tabindex='0']").focus()
        expect(page.get_by_role("button", name="b2, free")).to_be_focused()
        page.keyboard.press("Enter")
        while page.locator("#status").inner_text() != "A draw.":
            expect(page.locator("svg.board.open, .outcome.ended")).to_have_count(1)
            if page.locator(".outcome.ended").count():
                break
            play_by_keys(page, drawing_move(page))
        expect_status(page, "A draw.")
        expect(page.locator(".won")).to_have_count(0)
        page.get_by_role("button", name="New game", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name=re.compile(", free$"))).to_have_count(9)


def drawing_move(page: Page) -> int:
    """Return the move of the reference bot `minimax`, which plays perfectly, for the board on the page."""
    from noughts_bots.reference.specs import make_bot, parse_spec
    from noughts_referee.rules import Position, parse_variant

    moves = [
        int(cell)
        for cell in page.evaluate("[...document.querySelectorAll('#board .stone')].map((s) => s.dataset.cell)")
    ]
    move = make_bot(parse_spec("minimax")).choose(Position.after(parse_variant("tictactoe"), moves))
    assert isinstance(move, int) or hasattr(move, "cell")
    return move if isinstance(move, int) else move.cell


def play_by_keys(page: Page, cell: int) -> None:
    """Move the focus to a cell with the arrow keys, and play it with the space bar."""
    focused_cell = page.evaluate("[...document.querySelectorAll('.cell')].indexOf(document.activeElement)")
    assert focused_cell >= 0, "the focus has left the board"
    for key, steps in (("ArrowDown", cell // 3 - focused_cell // 3), ("ArrowRight", cell % 3 - focused_cell % 3)):
        opposite_key = {"ArrowDown": "ArrowUp", "ArrowRight": "ArrowLeft"}[key]
        for _ in range(abs(steps)):
            page.keyboard.press(key if steps > 0 else opposite_key)
    page.keyboard.press("Space")
    expect(page.locator(f"#board .stone[data-cell='{cell}']")).to_have_count(1)


def test_a_taken_cell_is_refused_with_a_message(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free")
        play_cells(page, "b2")
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name="b2, X").click()
        expect(page.locator("#problem")).to_have_text("b2 is taken.")
        page.get_by_role("button", name="a3, O").click()
        expect(page.locator("#problem")).to_have_text("a3 is taken.")
        # A legal move removes the message.
        play_cells(page, "c1")
        expect(page.locator("#problem")).to_have_text("")


def test_moves_can_be_taken_back_and_a_game_resigned(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free")
        expect(page.get_by_role("button", name="Take back")).to_be_disabled()
        play_cells(page, "a1", "c1")
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name="Take back").click()
        expect(page.get_by_role("button", name="c1, free")).to_be_visible()
        expect(page.locator("#board .stone")).to_have_count(2)
        expect_status(page, "Your turn: you are X.")
        play_cells(page, "b1", "c1")
        expect_status(page, "You have won.")
        # In a game that has ended, the move that ended it can be taken back.
        page.get_by_role("button", name="Take back").click()
        expect(page.get_by_role("button", name="c1, free")).to_be_visible()
        expect(page.locator("#board .stone")).to_have_count(4)
        page.get_by_role("button", name="Resign").click()
        page.get_by_role("dialog", name="Resign this game?").get_by_role("button", name="Resign").click()
        expect_status(page, "first-free has won: the other side has given up.")


def test_two_people_play_in_two_browsers(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as one, page_in(browser, tables.address) as two:
        start_game(one, "person")
        expect_status(one, "Waiting for the other person.")
        invitation = one.locator("#invitation-link").get_attribute("href")
        assert invitation is not None
        two.goto(invitation)
        expect_status(one, "Your turn: you are X.")
        expect_status(two, "The other person is to move.")
        two.get_by_role("button", name="a1, free").click()
        expect(two.locator("#problem")).to_have_text("Wait: it is not your turn.")
        for page, name in ((one, "b2"), (two, "a1"), (one, "b3"), (two, "c3"), (one, "b1")):
            play_cells(page, name)
        expect_status(one, "You have won.")
        expect_status(two, "The other person has won.")
        expect(two.locator("svg.board.lost")).to_be_visible()
        expect(two.get_by_role("button", name="Take back")).to_have_count(0)
        # Each of them can start the next game, in which both take part.
        two.get_by_role("button", name="Swap sides").click()
        expect_status(two, "Your turn: you are X.")
        expect_status(one, "The other person is to move.")
        play_cells(two, "a1")
        expect_status(one, "Your turn: you are O.")


def test_two_people_play_at_one_screen_by_touch(tables: Site, browser: Browser) -> None:
    phone = {"width": 390, "height": 844}
    with page_in(browser, tables.address, viewport=phone, has_touch=True, color_scheme="dark") as page:
        start_game(page, "screen", variant="connect4")
        for name in ("a1", "b1", "a2", "b2", "a3", "b3"):
            # The disc falls to the lowest free cell of the column that was touched.
            page.get_by_role("button", name=re.compile(rf"^{name[0]}6, ")).tap()
            expect(page.get_by_role("button", name=re.compile(rf"^{name}, (Red|Yellow)$"))).to_be_visible()
        page.get_by_role("button", name=re.compile("^a6, ")).tap()
        expect_status(page, "Red has won.")
        expect(page.locator(".won")).to_have_count(4)
        assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]


def test_the_move_under_the_pointer_is_shown_before_it_is_played(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free", variant="connect4")
        ghost = page.locator(".ghosts .ghost")
        page.get_by_role("button", name="a4, free").hover()
        expect(ghost).to_have_attribute("data-cell", "35")
        expect(page.locator(".ghosts .column")).to_have_attribute("height", "240")
        page.get_by_role("button", name="a4, free").click()
        # The bot answers in the same column, so the next disc would lie on two others.
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(ghost).to_have_attribute("data-cell", "21")
        page.mouse.move(0, 0)
        expect(ghost).to_have_count(0)
        page.keyboard.press("ArrowRight")
        expect(ghost).to_have_attribute("data-cell", "36")


@pytest.mark.parametrize("variant", ["gomoku", "gomoku20", "qubic"])
def test_a_large_board_fits_on_a_phone(tables: Site, browser: Browser, variant: str) -> None:
    with page_in(browser, tables.address, viewport={"width": 390, "height": 844}, has_touch=True) as page:
        start_game(page, "screen", variant=variant)
        expect(page.locator(".cell").last).to_be_visible()
        board = page.locator("#board")
        assert board.evaluate("board => board.scrollWidth <= board.clientWidth")
        page.locator(".cell").last.tap()
        expect(page.locator("#board .stone")).to_have_count(1)


def test_an_online_bot_can_be_played(tables: Site, browser: Browser, server: ServerUnderTest) -> None:
    from tests.server.web.test_organising import in_other_thread
    from tests.support.background import bots_online

    with (
        in_other_thread(bots_online(server.address, server.token("ada"), **{"ada-bot": "first-free"})),
        page_in(browser, tables.address) as page,
    ):
        start_game(page, "bots/ada-bot", begins="they")
        expect_status(page, "Your turn: you are O.")
        play_cells(page, "a1", "b1")
        expect_status(page, "ada-bot has won.")
        page.get_by_role("link", name="Page of this game for spectators").click()
        expect(page.locator("#outcome")).to_contain_text("ada-bot won, 1-0")


def test_visitor_is_refused_if_all_tables_are_taken(server: ServerUnderTest) -> None:
    settings = TableSettings(most=1, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("crowded"), tables=settings) as site:
        assert site.post("/play", form).status == 303
        answer = site.post("/play", form)
        assert answer.status == 429
        assert "All 1 tables are taken." in answer.text


def test_new_visitor_gets_the_table_that_was_idle_the_longest(server: ServerUnderTest) -> None:
    settings = TableSettings(most=2, address_most=1, kept=3.0, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("full"), tables=settings, proxies=["127.0.0.1"]) as site:
        first, second = (site.post("/play", form, x_real_ip=f"192.0.2.{n}").headers["location"] for n in (1, 2))
        time.sleep(3.1)
        move = {"game": site.get(f"{first}/state").document["game"], "cell": "4", "ply": "0"}
        assert site.post(f"{first}/move", move).status == 200
        assert site.get(f"{second}/state").status == 200
        assert site.post("/play", form, x_real_ip="192.0.2.3").status == 303
        assert (site.get(first).status, site.get(second).status) == (200, 404)
        assert site.post("/play", form, x_real_ip="192.0.2.4").status == 429


def test_guest_names_of_another_owner_are_skipped(server: ServerUnderTest) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with connected(server.address, server.token("mallory"), Dialling()) as client:
        for name in ("bots/shop-guest-1", "bots/shop-random-2"):
            client.call(client.bots.RegisterBot, bots_pb2.RegisterBotRequest(name=name))
    with site_of(server.address, token=server.token("shop")) as site:
        tables = [site.post("/play", form) for _ in range(2)]
        assert [answer.status for answer in tables] == [303, 303]
        assert "shop-guest-3" in site.get(tables[0].headers["location"]).text
        # The list of bots and the search are without those that stand for visitors.
        assert "shop-" not in site.get("/bots?search=-guest-3").text
        assert "bots/shop-guest-3" not in site.get("/search?q=-guest-3").text
        assert "bots/shop-guest-3" in site.get("/bots?owner=shop").text


def test_tables_and_games_of_one_visitor_are_limited(server: ServerUnderTest) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    settings = TableSettings(address_games=10)
    with site_of(server.address, token=server.token("greedy"), tables=settings, proxies=["127.0.0.1"]) as site:
        first = site.post("/play", form, x_real_ip="192.0.2.1")
        browser, _, flags = first.headers["set-cookie"].partition(";")
        assert "HttpOnly" in flags
        second, refused = (site.post("/play", form, x_real_ip="192.0.2.1", cookie=browser) for _ in range(2))
        assert (second.status, refused.status) == (303, 429)
        assert "You already play at 2 tables. Close one of them." in refused.text
        # Another browser behind the same address has tables of its own.
        assert site.post("/play", form, x_real_ip="192.0.2.1").status == 303
        listed = site.get("/play", cookie=browser).text
        place = first.headers["location"]
        assert f'href="{place}">Continue</a>' in listed
        assert place not in site.get("/play").text
        assert site.post(f"{place}/close", {}).headers["location"] == "/play"
        assert site.get(place).status == 404
        # A table whose game is over makes room.
        assert site.post("/play", form, x_real_ip="192.0.2.1", cookie=browser).status == 303
        place = second.headers["location"]
        game = site.get(f"{place}/state").document["game"]
        assert site.post(f"{place}/resign", {"game": game}).status == 200
        eventually(lambda: site.post("/play", form, x_real_ip="192.0.2.1", cookie=browser).status == 303)
        assert site.get(place).status == 404
        table = site.post("/play", form, x_real_ip="192.0.2.2").headers["location"]
        statuses = []
        for _ in range(10):
            game = site.get(f"{table}/state").document["game"]
            statuses.append(site.post(f"{table}/again", {"game": game}).status)
        assert statuses == [200] * 9 + [429]


def test_games_a_minute_are_limited(server: ServerUnderTest) -> None:
    settings = TableSettings(games_a_minute=3, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you"}
    with site_of(server.address, token=server.token("hasty"), tables=settings) as site:
        table = site.post("/play", form).headers["location"]
        statuses = []
        for _ in range(4):
            game = site.get(f"{table}/state").document["game"]
            statuses.append(site.post(f"{table}/again", {"game": game}).status)
        assert statuses == [200, 200, 429, 429]


def test_a_cancelled_game_is_not_listed_and_can_be_followed_by_another(server: ServerUnderTest) -> None:
    token = server.token("left")
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you"}
    with site_of(server.address, token=token) as site:
        table = site.post("/play", form).headers["location"]
        game = site.get(f"{table}/state").document["game"]
        cookie, csrf = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
        challenge = f"/{game.partition('/games')[0]}"
        assert challenge in site.get("/tournaments?challenges=true").text
        assert site.post(f"{challenge}/cancel", csrf, cookie=cookie).status == 303
        assert challenge not in site.get("/tournaments?challenges=true").text
        assert challenge in site.get("/tournaments?challenges=true&state=cancelled").text
        next_game = site.post(f"{table}/again", {"game": game}).document
        assert next_game["game"] != game


def test_site_stops_while_a_table_is_being_opened(
    server: ServerUnderTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = threading.Event()

    async def never(guest: BrowserPlayer, game: str) -> None:
        waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(BrowserPlayer, "wait_for_game", never)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with ThreadPoolExecutor(1) as visitor:
        with site_of(server.address, token=server.token("ending")) as site:
            opening = visitor.submit(site.post, "/play", form)
            assert waiting.wait(20)
            began = time.monotonic()
        assert time.monotonic() - began < 20
        assert opening.exception(20) or opening.result().status == 503
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def test_an_idle_table_is_removed(server: ServerUnderTest) -> None:
    settings = TableSettings(most=1, idle=0.5, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("idle"), tables=settings) as site:
        first = site.post("/play", form).headers["location"]
        eventually(lambda: site.post("/play", form).status == 303)
        assert site.get(first).status == 404


def test_error_of_a_wrong_field_is_shown_next_to_it(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.route("**/play?variant=*", lambda route: route.abort())  # or the form hides bots that do not play the game
        page.goto("/play")
        page.get_by_label("Variant").fill("chess")
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("alert").first).to_contain_text("Unknown game.")
        expect(page.get_by_label("Variant")).to_be_focused()
        page.get_by_label("Variant").fill("connect4")
        choose_opponent(page, "house:three-stage")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("[name=opponent]:checked")).to_have_attribute("aria-invalid", "true")


def test_each_game_tile_proposes_a_bot_that_plays_it(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto("/play")
        for tile in page.locator(".tile").all():
            variant = tile.locator("input").get_attribute("value") or ""
            tile.locator("input").check()
            spec = (page.locator("[name=opponent]:checked").get_attribute("value") or "").removeprefix("house:")
            bots = page.locator(".house .card:visible [name=opponent]").all()
            assert {bot.get_attribute("value") for bot in bots} == {f"house:{bot.spec}" for bot in house_bots(variant)}
            known = strengths(variant)
            assert known[spec] == known[best_fit(variant).spec]
            numbers = [
                words.partition(":")[0] for words in page.locator(".house .meter:visible span").all_inner_texts()
            ]
            assert numbers == [str(known[bot.spec]) for bot in house_bots(variant)]
        choose_opponent(page, "screen")
        page.locator(".tile [value=connect4]").check()
        expect(page.locator("[name=opponent]:checked")).to_have_value("screen")


def test_refused_opponent_is_explained_next_to_the_button(server: ServerUnderTest, browser: Browser) -> None:
    with (
        site_of(server.address, token=server.token("refusing")) as site,
        page_in(browser, site.address, viewport={"width": 390, "height": 800}) as page,
    ):
        page.route("**/play?variant=*", lambda route: route.abort())  # or the form hides bots that do not play the game
        page.goto("/play")
        page.get_by_label("Variant").fill("qubic")
        choose_opponent(page, "house:minimax")
        page.get_by_role("button", name="Play").click()
        words = "minimax does not play Qubic. Choose random, first-free, fives, nextstep or threats."
        expect(page.locator(".go .fault")).to_have_text(words)
        expect(page.locator(".go .fault")).to_be_in_viewport()
        expect(page.locator("[name=opponent]:checked")).to_have_value("house:threats:nodes=500")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#status")).to_have_text(re.compile("turn|to move"))


def test_typed_game_shows_only_bots_that_play_it(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto("/play")
        for field, number in (("Columns", "6"), ("Rows", "6"), ("In a row", "4")):
            page.get_by_label(field, exact=True).fill(number)
        expect(page.get_by_label("Variant")).to_have_value("mnk:6,6,4")
        cards = page.locator(".house .card:visible")
        expect(cards).to_have_count(len(house_bots("mnk:6,6,4")))
        assert len(house_bots("mnk:6,6,4")) < len(HOUSE_BOTS)
        expect(page.locator("[name=opponent]:checked")).to_have_value(f"house:{best_fit('mnk:6,6,4').spec}")


def test_chosen_strength_is_kept_for_other_games(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto("/play")
        expect(page.locator("#first-mover")).to_be_hidden()
        choose_opponent(page, "house:random")
        page.reload()
        page.locator(".tile [value=gomoku]").check()
        expect(page.locator("[name=opponent]:checked")).to_have_value("house:random")
        expect(page.locator("#first-mover")).to_have_text("Black moves first.")
        choose_opponent(page, "house:threats:nodes=500")
        page.locator(".tile [value=connect4]").check()
        expect(page.locator("[name=opponent]:checked")).to_have_value(re.compile("nextstep|fives"))
        expect(page.locator("#first-mover")).to_have_text("Red moves first.")


def test_strengths_are_from_1_to_8_and_new_bots_fit_in() -> None:
    for variant in ("tictactoe", "connect4", "gomoku", "mnk:6,6,4"):
        known = list(strengths(variant).values())
        assert (known[0], known[-1]) == (1, 8)
        assert known == sorted(known)
    assert [bot.spec for bot in house_bots("tictactoe")][-1] == "minimax"
    assert best_fit("gomoku", 8).spec == "threats:nodes=500"
    assert best_fit("gomoku", 1).spec == "random"


def test_a_lost_game_shows_the_mistake_and_can_be_played_again_from_there(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free", begins="they")
        expect_status(page, "Your turn: you are O.")
        # The bot plays a3, b3 and c3, which c3 or any other move in the upper row would have stopped.
        play_cells(page, "a1", "b1")
        buttons = page.locator(".table .actions")
        place = buttons.bounding_box()
        expect_status(page, "first-free has won.")
        expect(page).to_have_title(re.compile("^Lost: first-free - You"))
        expect(page.locator("#lesson")).to_be_visible()
        assert buttons.bounding_box() == place  # they stay under the pointer
        # Games of other tests can be live: the analysis then waits up to a minute after the one before.
        expect(page.locator("#lesson-said")).to_contain_text("was the mistake. Better: ", timeout=180_000)
        page.get_by_role("button", name="Again from here").click()
        expect_status(page, "Your turn: you are O.")
        expect(page).to_have_title(re.compile("^first-free - You"))
        stones = page.locator("#board .stone").count()
        assert stones in (1, 3)


def test_game_can_be_repeated_only_from_an_own_turn(tables: Site) -> None:
    form = {"opponent": "house:first-free", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    table = tables.post("/play", form).headers["location"]
    game = tables.get(f"{table}/state").document["game"]
    assert tables.post(f"{table}/move", {"game": game, "cell": "4", "ply": "0"}).status == 200
    for ply, status in (("1", 409), ("7", 409), ("x", 400), ("0", 200)):
        assert tables.post(f"{table}/back", {"game": game, "ply": ply}).status == status, ply
    assert tables.get(f"{table}/state").document["opening"] == 0


@pytest.mark.parametrize(
    "variant, names", [("connect4", {"Red", "Yellow"}), ("gomoku", {"Black", "White"}), ("qubic", {"X", "O"})]
)
def test_pieces_are_named_by_their_colour(
    server: ServerUnderTest, browser: Browser, variant: str, names: set[str]
) -> None:
    with site_of(server.address, token=server.token(f"{variant}club")) as site, page_in(browser, site.address) as page:
        start_game(page, "screen", variant=variant)
        assert set(page.locator(".player .label").all_inner_texts()) == names
        expect(page.locator(".player .piece")).to_have_count(2)


@pytest.mark.parametrize(
    "changed_fields, words",
    [
        ({"opponent": "house:nobody"}, "first-free"),
        ({"opponent": "somebody"}, "a bot, or a person"),
        ({"opponent": "bots/nobody"}, "nobody"),
        ({"variant": "chess"}, "Unknown game."),
        ({"variant": "gomoku+swap2"}, "opening rules are not supported"),
        ({"variant": "connect4", "opponent": "house:three-stage"}, "three-stage"),
        ({"begins": "both"}, "Who moves first: got"),
        ({"mark": "z"}, "Expected begins, x, o or lot."),
        ({"move": "-1"}, "seconds"),
        ({"move": "86400"}, "at most 60 seconds"),
        ({"bank": "86400"}, "at most 900 seconds"),
    ],
)
def test_impossible_games_are_refused(tables: Site, changed_fields: dict[str, str], words: str) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins", **changed_fields}
    answer = tables.post("/play", form)
    assert answer.status in (400, 404)
    assert words in answer.text


def test_a_move_needs_the_key_of_the_table_and_the_turn(tables: Site) -> None:
    created = tables.post(
        "/play", {"opponent": "house:first-free", "variant": "connect4", "begins": "you", "mark": "begins"}
    )
    assert created.status == 303, created.text
    table = created.headers["location"]
    game = tables.get(f"{table}/state").document["game"]
    move = {"game": game, "cell": "38", "ply": "0"}
    assert tables.post("/play/other/move", move).status == 404
    assert tables.post(f"{table}/move", {**move, "game": "tournaments/other/games/1"}).status == 409
    assert tables.post(f"{table}/move", {**move, "ply": "1"}).document["message"] == "It is not your turn."
    assert "fall" in tables.post(f"{table}/move", {**move, "cell": "3"}).document["message"]
    assert tables.post(f"{table}/move", {**move, "cell": "4000"}).document["message"] == "There is no cell 4000."
    assert tables.post(f"{table}/move", {**move, "cell": "x"}).status == 400
    assert tables.post(f"{table}/move", move, origin="http://elsewhere.example").status == 403
    assert tables.post(f"{table}/move", move).status == 200
    assert tables.post(f"{table}/move", move).status == 409


def test_a_site_without_a_token_says_how_to_allow_games(site: Site) -> None:
    assert "--token-file" in site.get("/play").text
    answer = site.post("/play", {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"})
    assert answer.status == 404


def test_a_site_with_an_unknown_token_says_so(server: ServerUnderTest) -> None:
    with site_of(server.address, token="nou_worthless") as site:
        answer = site.post(
            "/play", {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
        )
    assert answer.status == 409
    assert "token" in answer.text
