"""Games that visitors play in a real browser, by mouse, keyboard and touch, against bots and other persons."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.testing import ServerUnderTest
from tests.server.web.playing import choose_opponent, expect_status, play_cells, start_game
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


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


def test_winning_line_is_green_and_losing_line_is_red(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free")
        expect_status(page, "Your turn: you are X.")
        # The bot plays the first free cells: a3, then b3, in the upper row.
        play_cells(page, "a1", "b1", "c1")
        expect_status(page, "You have won: three in a row.")
        expect(page.locator(".won")).to_have_count(3)
        assert "lost" not in (page.locator("#board svg.board").get_attribute("class") or "")
        green = page.evaluate("getComputedStyle(document.querySelector('.won')).fill")
        # Then the bot moves first and completes the upper row.
        page.get_by_role("button", name="Swap sides").click()
        expect_status(page, "Your turn: you are O.")
        play_cells(page, "a1", "b1")
        expect_status(page, "You have lost: three in a row.")
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


def test_message_about_a_refused_move_is_removed_by_the_next_move(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as one, page_in(browser, tables.address) as two:
        start_game(one, "person")
        two.goto(one.locator("#invitation-link").get_attribute("href") or "")
        play_cells(one, "a1")
        for mover, waiting, name in ((two, one, "b2"), (one, two, "b1"), (two, one, "b3"), (one, two, "c1")):
            waiting.get_by_role("button", name="c3, free").click()
            expect(waiting.locator("#problem")).to_have_text("Wait: it is not your turn.")
            play_cells(mover, name)
            expect(waiting.locator("#problem")).to_have_text("")
        expect_status(two, "You have lost: three in a row.")


def test_hint_shows_a_good_move_to_the_side_to_move(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free")
        play_cells(page, "a1", "b1")
        expect(page.locator("#board svg.open")).to_be_visible()
        page.get_by_role("button", name="Hint").click()
        expect_status(page, "Your turn: you are X. Hint: c1.")
        expect(page.locator("#board .hints .ghost")).to_have_attribute("data-cell", "8")
        hint, sound = (page.locator(button).bounding_box() for button in ("#hint", "#sound"))
        play_cells(page, "c1")
        expect_status(page, "You have won: three in a row.")
        # At the end, the buttons that do nothing go, and nothing else moves.
        expect(page.get_by_role("button", name=re.compile("Hint|Resign"))).to_have_count(0)
        assert page.get_by_role("link", name="Review game").bounding_box() == hint
        assert page.locator("#sound").bounding_box() == sound
        start_game(page, "screen")
        expect(page.get_by_role("button", name="Hint")).to_have_count(0)


def test_points_are_counted_and_a_stronger_bot_is_offered_after_a_win(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free")
        expect(page.locator(".player.second")).to_contain_text("2: very easy")
        expect(page.locator(".player .points")).to_have_text(["", ""])
        play_cells(page, "a1", "b1", "c1")
        expect(page.locator("#points-first")).to_have_text("1")
        expect(page.locator("#points-second")).to_have_text("0")
        # A game that is continued after moves were taken back counts once, and sides keep their points.
        page.get_by_role("button", name="Take back").click()
        play_cells(page, "c1")
        expect(page.locator("#points-first")).to_have_text("1")
        page.get_by_role("button", name="Swap sides").click()
        expect_status(page, "Your turn: you are O.")
        expect(page.locator("#points-second")).to_have_text("1")
        expect(page.locator("#stronger")).to_be_hidden()
        play_cells(page, "a1", "b1")
        expect(page.locator("#points-first")).to_have_text("1")
        expect(page.locator("#stronger")).to_be_hidden()
        page.get_by_role("button", name="Swap sides").click()
        play_cells(page, "a1", "b1", "c1")
        page.get_by_role("button", name="Play a stronger bot: level 1200 (3: easy)").click()
        expect(page.locator("h1")).to_have_text("You – level 1200")
        expect(page.locator(".player .points")).to_have_text(["", ""])


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
        expect_status(page, "You have won: three in a row.")
        # In a game that has ended, the move that ended it can be taken back.
        page.get_by_role("button", name="Take back").click()
        expect(page.get_by_role("button", name="c1, free")).to_be_visible()
        expect(page.locator("#board .stone")).to_have_count(4)
        page.get_by_role("button", name="Resign").click()
        page.get_by_role("dialog", name="Resign this game?").get_by_role("button", name="Resign").click()
        expect_status(page, "You have resigned.")


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
        expect_status(one, "You have won: three in a row.")
        expect_status(two, "You have lost: three in a row.")
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
        expect_status(page, "Red has won: four in a row.")
        expect(page.locator(".won")).to_have_count(4)
        expect(page.locator("#board .win-line ~ .last")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]


def test_list_of_moves_stays_at_its_end_and_cuts_no_row(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "screen", variant="gomoku")
        for column in "abcdefgh":
            for row in (1, 15) if column in "aceg" else (15, 1):
                page.get_by_role("button", name=f"{column}{row}, free", exact=True).click()
                expect(page.get_by_role("button", name=re.compile(f"^{column}{row}, (Black|White)$"))).to_be_attached()
        bottom, top = page.evaluate("""() => {
            const list = document.querySelector(".list");
            list.style.height = "7rem";
            const { top, bottom } = list.getBoundingClientRect();
            const rows = [...list.querySelectorAll("li")].map((row) => row.getBoundingClientRect());
            return [bottom - rows.at(-1).bottom, Math.min(...rows.map((row) => Math.abs(row.top - top)))];
        }""")
        assert -1 < bottom < 31
        assert top < 2


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
        page.goto("/play")
        expect(page.locator(".others .card")).to_have_text("ada-bot by ada")
        expect(page.locator(".house .card:not([hidden]) .note").filter(has_text=re.compile("^$"))).to_have_count(0)
        start_game(page, "bots/ada-bot", begins="they")
        expect_status(page, "Your turn: you are O.")
        play_cells(page, "a1", "b1")
        expect_status(page, "You have lost: three in a row.")
        page.get_by_role("link", name="Review game").click()
        expect(page.locator("#outcome")).to_contain_text("ada-bot won: ")
        # Spectators see no numbers of guests, also after the feed has sent the game.
        expect(page).to_have_title("1-0 ada-bot - Guest - Noughts")
        expect(page.locator("#strip-second .label")).to_have_text("Guest")
        assert "site-guest" not in page.locator("body").inner_text()
        challenge = page.url.partition("/games/")[0].removeprefix(tables.address)
        eventually(lambda: tables.get(f"/api/v1{challenge}").document["state"] == "finished")
        page.get_by_role("link", name="Guest – ada-bot").click()
        expect(page.locator("h1")).to_have_text("Guest – ada-bot")
        expect(page.locator('[data-part="standings"] tbody th')).to_have_text(["ada-bot", "Guest"])
        expect(page.locator(".thumbs .pair")).to_have_text(["ada-bot 1", "Guest 0"])
        assert "site-guest" not in page.locator("body").inner_text()


def test_a_lost_game_shows_the_mistake_and_can_be_played_again_from_there(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        start_game(page, "house:first-free", begins="they")
        expect_status(page, "Your turn: you are O.")
        # The bot plays a3, b3 and c3, which c3 or any other move in the upper row would have stopped.
        play_cells(page, "a1", "b1")
        buttons = page.locator(".table .actions")
        place = buttons.bounding_box()
        expect_status(page, "You have lost: three in a row.")
        expect(page).to_have_title(re.compile("^Lost: first-free - You"))
        expect(page.locator("#lesson")).to_be_visible()
        assert buttons.bounding_box() == place  # they stay under the pointer
        # Games of other tests can be live: the analysis then waits up to a minute after the one before.
        expect(page.locator("#lesson-said")).to_contain_text("turned a draw into a loss. Better: ", timeout=180_000)
        stones = page.locator("#board .played > *").count()
        expect(page.locator("#lesson-progress")).to_be_hidden()
        page.get_by_role("button", name="Show it on the board").click()
        expect(page.locator("#board .hints .ghost").first).to_be_visible()
        expect(page.locator("#legend")).to_be_visible()
        assert page.locator("#board .played > *").count() < stones
        page.get_by_role("button", name="Show it on the board").click()
        expect(page.locator("#board .hints .ghost")).to_have_count(0)
        expect(page.locator("#legend")).to_be_hidden()
        page.get_by_role("button", name="Again from here").click()
        expect_status(page, "Your turn: you are O.")
        expect(page).to_have_title(re.compile("^first-free - You"))
        stones = page.locator("#board .stone").count()
        assert stones in (1, 3)


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
