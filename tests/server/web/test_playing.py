"""Games in a real browser: won, lost and drawn, by mouse, keyboard and touch, alone and with another person."""

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
from noughts_server.web.house_bots import house_bots
from noughts_server.web.play_rooms import TableSettings
from noughts_server.web.signin import Visitor
from tests.support.browser import chromium, page_in
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def tables(server: ServerUnderTest) -> Iterator[Site]:
    """A site where one can play."""
    settings = TableSettings(most=20, address_most=20, address_games=60, pause=0.0)
    with site_of(server.address, token=server.token("site"), tables=settings) as running:
        yield running


def choose_opponent(page: Page, opponent: str) -> None:
    page.locator(f"[name=opponent][value='{opponent}']").check()


def sit_down(page: Page, opponent: str, *, variant: str = "tictactoe", begins: str = "you") -> None:
    page.goto("/play")
    choose_opponent(page, opponent)
    page.get_by_label("Variant").fill(variant)
    page.locator(f"#begins-{begins}").check()
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#status")).not_to_have_text("")


def test_marks_are_chosen_apart_from_who_begins(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto("/play")
        page.get_by_label("My mark").select_option("o")
        choose_opponent(page, "house:first-free")
        page.locator("#begins-you").check()
        page.get_by_role("button", name="Play").click()
        told(page, "Your turn: you are O.")
        page.get_by_role("button", name="b2, free").click()
        expect(page.get_by_role("button", name="b2, O")).to_be_visible()
        expect(page.locator("#board .stone.nought[data-cell='4']")).to_be_visible()
        expect(page.get_by_role("button", name="a3, X")).to_be_visible()
        # A game that is live is not abandoned by a slip.
        page.get_by_role("button", name="Swap sides").click()
        page.get_by_role("button", name="No, go back").click()
        expect(page.get_by_role("button", name="b2, O")).to_be_visible()
        page.get_by_role("button", name="Swap sides").click()
        page.get_by_role("dialog", name="Abandon this game").get_by_role("button", name="New game").click()
        told(page, "Your turn: you are O.")
        expect(page.locator("#board .stone.cross[data-cell='0']")).to_be_visible()


def click(page: Page, *names: str) -> None:
    """Plays these cells, each when it is the person's turn."""
    for name in names:
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name=f"{name}, free", exact=True).click()
        expect(page.get_by_role("button", name=re.compile(rf"^{name}, [XO]$"))).to_be_visible()


def told(page: Page, words: str) -> None:
    expect(page.locator("#status")).to_have_text(words)


def test_a_game_is_won_by_mouse_and_its_line_is_green(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        sit_down(page, "house:first-free")
        told(page, "Your turn: you are X.")
        # It plays the first free cells: a3, then b3, in the upper row.
        click(page, "a1", "b1", "c1")
        told(page, "You have won.")
        expect(page.locator(".won")).to_have_count(3)
        assert "lost" not in (page.locator("#board svg.board").get_attribute("class") or "")
        green = page.evaluate("getComputedStyle(document.querySelector('.won')).fill")
        # And then lost: the same house begins, and has the upper row when nobody stops it.
        page.get_by_role("button", name="Swap sides").click()
        told(page, "Your turn: you are O.")
        click(page, "a1", "b1")
        told(page, "first-free has won.")
        expect(page.locator("#status")).to_have_class("outcome ended lost")
        expect(page.locator("svg.board.lost .won")).to_have_count(3)
        red = page.evaluate("getComputedStyle(document.querySelector('.won')).fill")
        assert (green, red) == ("rgb(207, 238, 213)", "rgb(246, 208, 205)")


def test_a_game_is_drawn_by_keyboard_alone(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        sit_down(page, "house:minimax", begins="you")
        told(page, "Your turn: you are X.")
        page.locator("[role=button][tabindex='0']").focus()
        expect(page.get_by_role("button", name="b2, free")).to_be_focused()
        page.keyboard.press("Enter")
        while page.locator("#status").inner_text() != "A draw.":
            expect(page.locator("svg.board.open, .outcome.ended")).to_have_count(1)
            if page.locator(".outcome.ended").count():
                break
            by_keys(page, drawing_move(page))
        told(page, "A draw.")
        expect(page.locator(".won")).to_have_count(0)
        page.get_by_role("button", name="New game", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name=re.compile(", free$"))).to_have_count(9)


def drawing_move(page: Page) -> int:
    """The perfect player's reply to what is on the board, from the rules' own search."""
    from noughts_bots.reference.specs import make_bot, parse_spec
    from noughts_referee.rules import Position, parse_variant

    moves = [
        int(each)
        for each in page.evaluate("[...document.querySelectorAll('#board .stone')].map((s) => s.dataset.cell)")
    ]
    chosen = make_bot(parse_spec("minimax")).choose(Position.after(parse_variant("tictactoe"), moves))
    assert isinstance(chosen, int) or hasattr(chosen, "cell")
    return chosen if isinstance(chosen, int) else chosen.cell


def by_keys(page: Page, wanted: int) -> None:
    """Goes there with the arrow keys, and plays."""
    at = page.evaluate("[...document.querySelectorAll('.cell')].indexOf(document.activeElement)")
    assert at >= 0, "the focus has left the board"
    for key, steps in (("ArrowDown", wanted // 3 - at // 3), ("ArrowRight", wanted % 3 - at % 3)):
        back = {"ArrowDown": "ArrowUp", "ArrowRight": "ArrowLeft"}[key]
        for _ in range(abs(steps)):
            page.keyboard.press(key if steps > 0 else back)
    page.keyboard.press("Space")
    expect(page.locator(f"#board .stone[data-cell='{wanted}']")).to_have_count(1)


def test_a_taken_cell_and_the_other_sides_turn_are_refused_in_words(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        sit_down(page, "house:first-free")
        click(page, "b2")
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name="b2, X").click()
        expect(page.locator("#problem")).to_have_text("b2 is taken.")
        page.get_by_role("button", name="a3, O").click()
        expect(page.locator("#problem")).to_have_text("a3 is taken.")
        # The next move is a move, and the words go.
        click(page, "c1")
        expect(page.locator("#problem")).to_have_text("")


def test_moves_are_taken_back_and_a_game_is_given_up(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        sit_down(page, "house:first-free")
        expect(page.get_by_role("button", name="Take back")).to_be_disabled()
        click(page, "a1", "c1")
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name="Take back").click()
        expect(page.get_by_role("button", name="c1, free")).to_be_visible()
        expect(page.locator("#board .stone")).to_have_count(2)
        told(page, "Your turn: you are X.")
        click(page, "b1", "c1")
        told(page, "You have won.")
        # Also from a game that is over: back before the move that ended it.
        page.get_by_role("button", name="Take back").click()
        expect(page.get_by_role("button", name="c1, free")).to_be_visible()
        expect(page.locator("#board .stone")).to_have_count(4)
        page.get_by_role("button", name="Resign").click()
        page.get_by_role("dialog", name="Resign this game?").get_by_role("button", name="Resign").click()
        told(page, "first-free has won: the other side has given up.")


def test_two_people_play_in_two_browsers(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as one, page_in(browser, tables.address) as two:
        sit_down(one, "person")
        told(one, "Waiting for the other person.")
        invitation = one.locator("#invitation-link").get_attribute("href")
        assert invitation is not None
        two.goto(invitation)
        told(one, "Your turn: you are X.")
        told(two, "The other person is to move.")
        two.get_by_role("button", name="a1, free").click()
        expect(two.locator("#problem")).to_have_text("Wait: it is not your turn.")
        for page, name in ((one, "b2"), (two, "a1"), (one, "b3"), (two, "c3"), (one, "b1")):
            click(page, name)
        told(one, "You have won.")
        told(two, "The other person has won.")
        expect(two.locator("svg.board.lost")).to_be_visible()
        expect(two.get_by_role("button", name="Take back")).to_have_count(0)
        # Either begins the next one, and the other is there, too.
        two.get_by_role("button", name="Swap sides").click()
        told(two, "Your turn: you are X.")
        told(one, "The other person is to move.")
        click(two, "a1")
        told(one, "Your turn: you are O.")


def test_two_people_play_at_one_screen_by_touch(tables: Site, browser: Browser) -> None:
    phone = {"width": 390, "height": 844}
    with page_in(browser, tables.address, viewport=phone, has_touch=True, color_scheme="dark") as page:
        sit_down(page, "screen", variant="connect4")
        for name in ("a1", "b1", "a2", "b2", "a3", "b3"):
            # Wherever a column is touched, the disc falls to its lowest free cell.
            page.get_by_role("button", name=re.compile(rf"^{name[0]}6, ")).tap()
            expect(page.get_by_role("button", name=re.compile(rf"^{name}, (Red|Yellow)$"))).to_be_visible()
        page.get_by_role("button", name=re.compile("^a6, ")).tap()
        told(page, "Red has won.")
        expect(page.locator(".won")).to_have_count(4)
        assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]


def test_the_move_under_the_pointer_is_shown_before_it_is_played(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        sit_down(page, "house:first-free", variant="connect4")
        ghost = page.locator(".ghosts .ghost")
        page.get_by_role("button", name="a4, free").hover()
        expect(ghost).to_have_attribute("data-cell", "35")
        expect(page.locator(".ghosts .column")).to_have_attribute("height", "240")
        page.get_by_role("button", name="a4, free").click()
        # The opponent answers on it, and the next disc lies on both.
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(ghost).to_have_attribute("data-cell", "21")
        page.mouse.move(0, 0)
        expect(ghost).to_have_count(0)
        page.keyboard.press("ArrowRight")
        expect(ghost).to_have_attribute("data-cell", "36")


@pytest.mark.parametrize("variant", ["gomoku", "gomoku20", "qubic"])
def test_a_large_board_fits_on_a_phone(tables: Site, browser: Browser, variant: str) -> None:
    with page_in(browser, tables.address, viewport={"width": 390, "height": 844}, has_touch=True) as page:
        sit_down(page, "screen", variant=variant)
        expect(page.locator(".cell").last).to_be_visible()
        board = page.locator("#board")
        assert board.evaluate("board => board.scrollWidth <= board.clientWidth")
        page.locator(".cell").last.tap()
        expect(page.locator("#board .stone")).to_have_count(1)


def test_a_bot_that_is_online_is_played_by_a_click(tables: Site, browser: Browser, server: ServerUnderTest) -> None:
    from tests.server.web.test_organising import beside
    from tests.support.background import bots_online

    with (
        beside(bots_online(server.address, server.token("ada"), **{"ada-bot": "first-free"})),
        page_in(browser, tables.address) as page,
    ):
        sit_down(page, "bots/ada-bot", begins="they")
        told(page, "Your turn: you are O.")
        click(page, "a1", "b1")
        told(page, "ada-bot has won.")
        page.get_by_role("link", name="Page of this game for spectators").click()
        expect(page.locator("#outcome")).to_contain_text("ada-bot won, 1-0")


def test_who_comes_when_all_tables_are_taken_is_told_so(server: ServerUnderTest) -> None:
    settings = TableSettings(most=1, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("crowded"), tables=settings) as site:
        assert site.post("/play", form).status == 303
        answer = site.post("/play", form)
        assert answer.status == 429
        assert "All 1 tables are taken." in answer.text


def test_new_visitor_gets_the_table_that_has_had_no_move_for_long(server: ServerUnderTest) -> None:
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


def test_name_that_belongs_to_another_owner_does_not_stop_visitors(server: ServerUnderTest) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with connected(server.address, server.token("mallory"), Dialling()) as client:
        for name in ("bots/shop-guest-1", "bots/shop-random-2"):
            client.call(client.bots.RegisterBot, bots_pb2.RegisterBotRequest(name=name))
    with site_of(server.address, token=server.token("shop")) as site:
        tables = [site.post("/play", form) for _ in range(2)]
        assert [answer.status for answer in tables] == [303, 303]
        assert "shop-guest-3" in site.get(tables[0].headers["location"]).text


def test_one_visitor_does_not_take_all_tables(server: ServerUnderTest) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("greedy"), proxies=["127.0.0.1"]) as site:
        tries = [site.post("/play", form, x_real_ip="192.0.2.1") for _ in range(3)]
        assert [answer.status for answer in tries] == [303, 303, 429]
        assert "You already have 2 tables" in tries[-1].text
        table = site.post("/play", form, x_real_ip="192.0.2.2").headers["location"]
        told_so = []
        for _ in range(10):
            game = site.get(f"{table}/state").document["game"]
            told_so.append(site.post(f"{table}/again", {"game": game}).status)
        assert told_so == [200] * 9 + [429]


def test_who_begins_game_after_game_is_told_to_wait(server: ServerUnderTest) -> None:
    settings = TableSettings(games_a_minute=3, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you"}
    with site_of(server.address, token=server.token("hasty"), tables=settings) as site:
        table = site.post("/play", form).headers["location"]
        told_so = []
        for _ in range(4):
            game = site.get(f"{table}/state").document["game"]
            told_so.append(site.post(f"{table}/again", {"game": game}).status)
        assert told_so == [200, 200, 429, 429]


def test_a_game_that_the_server_gave_up_is_followed_by_another(server: ServerUnderTest) -> None:
    token = server.token("left")
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you"}
    with site_of(server.address, token=token) as site:
        table = site.post("/play", form).headers["location"]
        game = site.get(f"{table}/state").document["game"]
        cookie, csrf = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
        assert site.post(f"/{game.partition('/games')[0]}/cancel", csrf, cookie=cookie).status == 303
        again = site.post(f"{table}/again", {"game": game}).document
        assert again["game"] != game


def test_site_ends_while_a_table_is_being_opened(
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


def test_a_table_at_which_nobody_is_any_more_is_cleared(server: ServerUnderTest) -> None:
    from tests.support.processes import eventually

    settings = TableSettings(most=1, idle=0.5, pause=0.0)
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
    with site_of(server.address, token=server.token("idle"), tables=settings) as site:
        first = site.post("/play", form).headers["location"]
        eventually(lambda: site.post("/play", form).status == 303)
        assert site.get(first).status == 404


def test_a_wrong_wish_is_explained_next_to_its_field(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
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
            bots = page.locator(".card[data-plays]:visible [name=opponent]").all()
            assert [bot.get_attribute("value") for bot in bots] == [f"house:{bot.spec}" for bot in house_bots(variant)]
            assert spec == house_bots(variant)[-1].spec
        choose_opponent(page, "screen")
        page.locator(".tile [value=connect4]").check()
        expect(page.locator("[name=opponent]:checked")).to_have_value("screen")


def test_refused_opponent_is_explained_next_to_the_button(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address, viewport={"width": 390, "height": 800}) as page:
        page.goto("/play")
        page.get_by_label("Variant").fill("qubic")
        choose_opponent(page, "house:minimax")
        page.get_by_role("button", name="Play").click()
        words = "minimax does not play Qubic. Choose first-free, random, fives, nextstep or threats."
        expect(page.locator(".go .fault")).to_have_text(words)
        expect(page.locator(".go .fault")).to_be_in_viewport()
        expect(page.locator("[name=opponent]:checked")).to_have_value("house:threats:nodes=500")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#status")).to_have_text(re.compile("turn|to move"))


@pytest.mark.parametrize(
    "variant, names", [("connect4", {"Red", "Yellow"}), ("gomoku", {"Black", "White"}), ("qubic", {"X", "O"})]
)
def test_pieces_are_named_by_their_colour(tables: Site, browser: Browser, variant: str, names: set[str]) -> None:
    with page_in(browser, tables.address) as page:
        sit_down(page, "screen", variant=variant)
        assert set(page.locator(".player .label").all_inner_texts()) == names
        expect(page.locator(".player .piece")).to_have_count(2)


@pytest.mark.parametrize(
    "changed, words",
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
def test_what_cannot_be_played_is_refused_and_nothing_is_left_of_it(
    tables: Site, changed: dict[str, str], words: str
) -> None:
    form = {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins", **changed}
    answer = tables.post("/play", form)
    assert answer.status in (400, 404)
    assert words in answer.text


def test_a_move_is_for_who_has_the_key_and_the_turn(tables: Site) -> None:
    key = tables.post(
        "/play", {"opponent": "house:first-free", "variant": "connect4", "begins": "you", "mark": "begins"}
    )
    table = key.headers["location"]
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


def test_a_site_without_a_token_says_how_one_plays(site: Site) -> None:
    assert "--token-file" in site.get("/play").text
    answer = site.post("/play", {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"})
    assert answer.status == 404


def test_a_site_with_a_token_that_is_worthless_says_so(server: ServerUnderTest) -> None:
    with site_of(server.address, token="nou_worthless") as site:
        answer = site.post(
            "/play", {"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"}
        )
    assert answer.status == 409
    assert "token" in answer.text
