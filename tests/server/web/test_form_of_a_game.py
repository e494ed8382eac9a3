"""The form for a game against a bot or a person: which bots it offers, what it keeps, and what it refuses."""

import re

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.house_bots import HOUSE_BOTS, best_fit, house_bots, main_bots, strengths, stronger
from tests.server.web.playing import choose_opponent, expect_status, type_variant
from tests.support.browser import page_in
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes


def test_error_of_a_wrong_field_is_shown_next_to_it(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.route("**/play?variant=*", lambda route: route.abort())  # or the form hides bots that do not play the game
        page.goto("/play")
        type_variant(page, "chess")
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("alert").first).to_contain_text("Unknown game.")
        expect(page.get_by_label("Variant")).to_be_focused()
        type_variant(page, "connect4")
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
            shown = main_bots(variant)
            assert [bot.get_attribute("value") for bot in bots] == [f"house:{bot.spec}" for bot in shown.values()]
            assert spec == best_fit(variant).spec
            assert page.locator(".house .step:visible").all_inner_texts() == [str(strength) for strength in shown]
        page.locator(".tile [value=tictactoe]").check()
        page.locator(".house ~ .show-all").first.click()
        expect(page.locator(".house .card:visible")).to_have_count(len(house_bots("tictactoe")))
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
        type_variant(page, "qubic")
        choose_opponent(page, "house:minimax")
        page.get_by_role("button", name="Play").click()
        names = [bot.name for bot in main_bots("qubic").values()]
        words = f"minimax does not play Qubic. Choose {', '.join(names[:-1])} or {names[-1]}."
        expect(page.locator(".go .fault")).to_have_text(words)
        expect(page.locator(".go .fault")).to_be_in_viewport()
        expect(page.locator("[name=opponent]:checked")).to_have_value("house:threats:nodes=500")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#status")).to_have_text(re.compile("turn|to move"))


def test_card_of_a_level_says_how_it_plays(tables: Site, browser: Browser) -> None:
    words = "Makes mistakes on purpose."
    with page_in(browser, tables.address, viewport=ViewportSize(width=1280, height=800)) as page:
        page.goto("/play")
        level = page.locator(".house .card:visible", has_text="level 1").first
        expect(level.get_by_text(words)).to_be_visible()
        level.click()
        page.set_viewport_size(ViewportSize(width=390, height=844))
        expect(page.locator("#about-bot")).to_contain_text(words)
        expect(page.locator("#about-bot")).to_be_visible()


@pytest.mark.parametrize("window", [(390, 844), (1280, 800)])
def test_game_bot_and_button_need_no_scrolling(tables: Site, browser: Browser, window: tuple[int, int]) -> None:
    viewport = ViewportSize(width=window[0], height=window[1])
    with page_in(browser, tables.address, viewport=viewport) as page:
        page.goto("/play")
        for place in (page.locator(".tile").last, page.locator(".house .card:not([hidden], .spare)").nth(1)):
            expect(place).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Play")).to_be_in_viewport(ratio=1)
        page.locator(".tile [value=connect4]").check()
        choose_opponent(page, "house:random")
        expect(page.locator("#choice")).to_have_text("Connect Four · random (1: beginner)")
        page.get_by_role("button", name="3 min + 2 s").click()
        expect(page.locator("#choice")).to_have_text("Connect Four · random (1: beginner) · 3 min + 2 s")


def test_a_game_can_be_played_in_czech(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address, locale="cs") as page:
        page.goto("/play")
        page.locator(".tile [value=connect4]").check()
        choose_opponent(page, "house:random")
        expect(page.locator("#first-mover")).to_have_text("Začíná červený.")
        page.locator("#begins-you").check()
        page.get_by_role("button", name="Hrát").click()
        expect_status(page, "Jste na tahu (Červený).")
        expect(page.locator(".player.first .label")).to_have_text("Vy")
        page.get_by_role("button", name="Vzdát").click()
        page.get_by_role("dialog").get_by_role("button", name="Vzdát").click()
        expect_status(page, "Vzdali jste.")


def test_typed_game_shows_only_bots_that_play_it(tables: Site, browser: Browser) -> None:
    with page_in(browser, tables.address) as page:
        page.goto("/play")
        page.get_by_text("Another game or size").click()
        for field, number in (("Columns", "6"), ("Rows", "6"), ("In a row", "4")):
            page.get_by_label(field, exact=True).fill(number)
        expect(page.get_by_label("Variant")).to_have_value("mnk:6,6,4")
        cards = page.locator(".house .card:visible")
        expect(cards).to_have_count(len(main_bots("mnk:6,6,4")))
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
        expect(page.locator("[name=opponent]:checked")).to_have_value("house:level:elo=2300")
        expect(page.locator("#first-mover")).to_have_text("Red moves first.")


def test_strengths_are_from_1_to_8_and_new_bots_fit_in() -> None:
    for variant in ("tictactoe", "connect4", "gomoku", "mnk:6,6,4"):
        known = list(strengths(variant).values())
        assert (known[0], known[-1]) == (1, 8)
        assert known == sorted(known)
    assert [bot.spec for bot in house_bots("tictactoe")][-1] == "minimax"
    for variant in ("tictactoe", "connect4", "gomoku", "qubic"):
        assert list(main_bots(variant)) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert best_fit(variant).is_level
    assert "first-free" not in [bot.spec for bot in main_bots("renju").values()]
    assert stronger("tictactoe", "level:elo=1200") == main_bots("tictactoe")[4]
    assert stronger("tictactoe", "minimax") is None
    assert best_fit("gomoku", 8).spec == "threats:nodes=500"
    assert best_fit("gomoku", 1).spec == "random"


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
