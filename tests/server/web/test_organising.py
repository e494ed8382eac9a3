"""A tournament organised in a browser: sign in, create it, enter bots, follow it to its end, sign out."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.estimate import estimate_of
from noughts_server.web.new_tournament import EMPTY_FORM, values_of
from noughts_server.web.signin import Visitor
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.site import Site

pytestmark = pytest.mark.processes


@contextmanager
def in_other_thread(context: AbstractContextManager[None]) -> Iterator[None]:
    """Enter and leave the context in another thread, because playwright's event loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(context.__enter__).result()
        try:
            yield
        finally:
            pool.submit(context.__exit__, None, None, None).result()


def choose(page: Page, name: str | re.Pattern[str]) -> None:
    """Choose a card, whose radio button itself is not visible."""
    radio = page.get_by_role("radio", name=name)
    page.locator("label").filter(has=radio).click()
    expect(radio).to_be_checked()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_tournament_is_made_and_run_from_the_browser(
    server: ServerUnderTest, site: Site, browser: Browser, scripts: bool
) -> None:
    owner = "ada" if scripts else "bob"
    token = server.token(owner)
    bots = {f"{owner}-one": "random", f"{owner}-two": "first-free"}
    with (
        in_other_thread(bots_online(server.address, token, **bots)),
        page_in(browser, site.address, java_script_enabled=scripts) as page,
    ):
        page.goto("/organise")
        page.get_by_label("Your token").fill("nou_wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("token")
        page.goto("/organise")
        page.get_by_label("Your token").fill(token)
        page.keyboard.press("Enter")
        choose(page, "Knockout")
        page.get_by_label("Title").fill("From the browser")
        page.get_by_label("Address").fill(f"{owner}-cup")
        page.get_by_label("On the clock").fill("")
        page.get_by_label("Added after each move").fill("")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name="From the browser")).to_be_visible()
        for bot in bots:
            page.get_by_label("My bot").select_option(f"bots/{bot}")
            page.locator("#do-join").get_by_role("button", name="Enter").click()
            expect(page.get_by_role("row", name=bot)).to_be_visible()
        page.get_by_role("button", name="Start").click()
        if not scripts:
            while not page.locator(".state.finished").count():
                page.reload()
        expect(page.locator(".state.finished")).to_be_visible()
        # A finished knockout cannot be extended.
        expect(page.get_by_role("button", name="Add")).to_have_count(0)
        page.get_by_role("link", name="My page").click()
        page.get_by_role("navigation", name="My page").get_by_role("link", name="Tournaments").click()
        expect(page.get_by_role("link", name="From the browser")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("link", name="Sign in")).to_be_visible()
        assert page.context.cookies() == []


def test_steps_of_the_form_show_what_is_chosen_and_what_is_missing(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        steps = page.get_by_role("navigation", name="Steps").locator(".note")
        missing = page.get_by_role("link", name="It still needs a title.")
        expect(steps).to_have_text(["needs a title", "Round robin", "you start it"])
        expect(missing).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 844})
        expect(missing).to_be_visible()
        page.set_viewport_size({"width": 1280, "height": 720})
        choose(page, "Knockout")
        page.get_by_label("Title").fill("Spring")
        page.get_by_label("Start (").fill("2030-03-02T03:00")
        expect(steps).to_have_text(["Spring", "Knockout", "at a set time"])
        expect(missing).to_be_hidden()


def test_errors_of_wrong_fields_are_shown_next_to_all_of_them(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        name, increment = page.get_by_label("Address"), page.get_by_label("Added after each move")
        name.fill("Spring Cup!")
        page.get_by_label("On the clock").fill("")
        page.get_by_role("button", name="Create the tournament").click()
        for field, words in (
            (name, "Expected 1 to 63 characters from a-z, 0-9 and -."),
            (increment, "Expected a base time (On the clock), to which the increment is added."),
        ):
            expect(field).to_have_accessible_description(re.compile(re.escape(words)))
            expect(field).to_have_attribute("aria-invalid", "true")
            assert "tournament.name" not in page.content()
        expect(page.get_by_role("alert")).to_have_count(2)
        expect(increment).to_be_focused()  # the first wrong field
        increment.fill("")
        name.fill("spring-cup")
        page.get_by_label("Games of each pair").fill("0.5")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("alert")).to_have_text("Expected a whole number.")
        page.get_by_label("Games of each pair").fill("2")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name="spring-cup")).to_be_visible()
        page.goto("/organise")
        name.fill("spring-cup")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("alert")).to_have_text("This name is already taken. Choose another.")


def test_a_tournament_with_all_fields_of_the_command_line_is_created(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address, timezone_id="Asia/Tokyo") as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        page.get_by_label("Address").fill("full-cup")
        choose(page, "Gomoku")
        page.get_by_text("Expert settings").click()
        page.get_by_text("Entries and joining window").click()
        page.get_by_label("Other times of single bots").fill("slow-bot=120+1\nnextstep:depth=3=5/move")
        page.get_by_label("Start (Asia/Tokyo)").fill("2030-03-02T03:00")
        page.get_by_label("Bots can join from").fill("2030-03-01T09:00")
        page.get_by_label("Bots can join until").fill("2030-03-02T02:00")
        page.get_by_text("Openings", exact=True).first.click()
        page.get_by_label("Opening rule").select_option("pro")
        page.get_by_label("Openings", exact=True).select_option("list")
        page.get_by_label("Order of a book or list").select_option("random")
        page.get_by_label("My own openings").fill("h8i9i8\nh8 h9")
        page.get_by_label("turn or mirror each opening at random").check()
        page.get_by_label("Added after each move").fill("often")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("alert")).to_have_count(2)  # the rule forbids h8 i9 i8
        # The form keeps times in the visitor's time zone.
        expect(page.get_by_label("Start (Asia/Tokyo)")).to_have_value("2030-03-02T03:00")
        page.get_by_label("Opening rule").select_option("")
        page.get_by_label("Added after each move").fill("1")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name="full-cup")).to_be_visible()
    tournament = site.get("/api/v1/tournaments/full-cup").document
    assert (tournament["start_at"], tournament["join_from"], tournament["join_until"]) == (
        "2030-03-01T18:00:00Z",
        "2030-03-01T00:00:00Z",
        "2030-03-01T17:00:00Z",
    )
    openings = tournament["openings"]
    assert (openings["kind"], openings["count"], openings["order"]) == ("list", 2, "random")
    assert openings["symmetries"] is True
    assert tournament["own_times"]["nextstep:depth=3"]["move_us"] == 5_000_000
    assert tournament["own_times"]["slow-bot"]["bank_us"] == 120_000_000
    assert tournament["rated"] is False


def test_address_follows_from_the_title_also_without_scripts(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    assert created(server, site, id="", title="Été à Brno: 2026!")[0] == 303
    assert site.get("/api/v1/tournaments/ete-a-brno-2026").document["title"] == "Été à Brno: 2026!"
    untitled = created(server, site, id="", title="")[1].partition('id="wrong-title"')[2].partition("</span>")[0]
    assert "Give it a title." in untitled
    assert "Expected letters and digits for the address." in created(server, site, id="", title="???")[1]
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        title, address = page.get_by_label("Title"), page.get_by_label("Address")
        title.fill("Été à Brno: 2027!")
        expect(address).to_have_value("ete-a-brno-2027")
        address.fill("brno")
        title.fill("Other")
        expect(address).to_have_value("brno")


@pytest.mark.parametrize("scripts", [True, False])
def test_only_fields_of_the_chosen_format_are_shown(
    server: ServerUnderTest, site: Site, browser: Browser, scripts: bool
) -> None:
    with page_in(browser, site.address, java_script_enabled=scripts) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        rounds, test = page.get_by_label("Rounds"), page.get_by_label("Test that ends it")
        expect(rounds).to_be_hidden()
        choose(page, "Swiss")
        expect(rounds).to_be_visible()
        rounds.fill("3")
        expect(test).to_be_hidden()
        choose(page, re.compile("^Match"))
        expect(test).to_be_visible()
        expect(rounds).to_be_hidden()
        page.get_by_label("Title").fill(f"Match {scripts}")
        page.get_by_role("button", name="Create the tournament").click()
        if not scripts:
            # Without scripts the hidden field is sent, so its error shows it.
            expect(page.get_by_role("alert")).to_contain_text("a match tournament has no number of rounds to choose")
            rounds.fill("")
            page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name=f"Match {scripts}")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_estimate_of_games_and_duration_follows_the_form(
    server: ServerUnderTest, site: Site, browser: Browser, scripts: bool
) -> None:
    with page_in(browser, site.address, java_script_enabled=scripts) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto("/organise")
        estimate = page.locator("#estimate")
        expect(estimate).to_contain_text("Games56")
        # 14 games one after the other, because each of the 8 bots plays one game at a time.
        expect(estimate).to_contain_text("about 42 minutes")
        expect(estimate).to_contain_text("each bot plays one game at a time")
        choose(page, "Swiss")
        choose(page, "Gomoku")
        page.get_by_label("Number of bots").fill("16")
        again = page.get_by_role("button", name="Estimate again")
        if scripts:
            expect(again).to_be_hidden()
        else:
            again.click()
        expect(estimate).to_contain_text("Games64")
        expect(estimate).to_contain_text("Rounds4")
        # Four rounds of two games, in which each side has 60 s and 1 s for each of 30 moves.
        expect(estimate).to_contain_text("about 24 minutes")
        expect(page.get_by_role("radio", name="Swiss")).to_be_checked()


def test_estimates_say_what_is_wrong() -> None:
    values = {**EMPTY_FORM, "schedule": "swiss", "bots": "4", "rounds": "9"}
    assert "4 entries can play 3 rounds" in estimate_of(values).problem
    assert estimate_of({**EMPTY_FORM, "variant": "chess"}).problem == "the game is unknown."
    assert estimate_of({**EMPTY_FORM, "bank": "soon", "games_per_pair": "x"}).problem == "some fields are wrong."
    ladder = estimate_of({**EMPTY_FORM, "schedule": "ladder", "bank": "", "increment": ""})
    assert (ladder.duration, ladder.forecast.most if ladder.forecast else 0) == ("", None)
    match = estimate_of({**EMPTY_FORM, "schedule": "match", "bots": "8"})
    assert match.forecast is not None
    assert match.forecast.entries == 2


def test_duplicate_fills_the_form_with_the_settings(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    fields = {
        "variant": "gomoku",
        "opening_rule": "pro",
        "schedule": "swiss",
        "games_per_pair": "4",
        "rounds": "2",
        "bank": "90",
        "increment": "0.25",
        "own_times": "slow=5/move",
        "openings": "",
        "entries_max": "12",
        "forfeit_after": "3",
        "stop_when_decided": "",
        "scale_time": "on",
    }
    assert created(server, site, id="original", title="Original", **fields)[0] == 303
    tournament = site.get("/api/v1/tournaments/original").document
    values = values_of(tournament)
    assert {name: values[name] for name in fields} == fields
    token = server.token("ada")
    with page_in(browser, site.address) as page:
        page.context.add_cookies([{"name": "noughts_token", "value": token, "url": site.address}])
        page.goto("/tournaments/original")
        page.get_by_role("link", name="Duplicate").click()
        expect(page.get_by_label("Title")).to_have_value("Copy of Original")
        page.get_by_role("button", name="Create the tournament").click()
        expect(page.get_by_role("heading", name="Copy of Original")).to_be_visible()
    copy = site.get("/api/v1/tournaments/copy-of-original").document
    for name in (
        "variant",
        "schedule",
        "time",
        "own_times",
        "rounds",
        "games_per_pair",
        "entries_max",
        "forfeit_after",
        "scale_time",
    ):
        assert copy[name] == tournament[name], name


@pytest.mark.parametrize("scripts", [True, False])
def test_settings_are_changed_until_the_start(
    server: ServerUnderTest, site: Site, browser: Browser, scripts: bool
) -> None:
    slug = f"changing-{scripts}".lower()
    fields = {"variant": "gomoku", "openings": "list", "openings_text": "h8i9h10", "start_at": "2030-03-02T03:00"}
    assert created(server, site, id=slug, title="Before", **fields)[0] == 303
    with page_in(browser, site.address, java_script_enabled=scripts, timezone_id="Asia/Tokyo") as page:
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("ada"), "url": site.address}])
        page.goto(f"/tournaments/{slug}")
        page.get_by_role("link", name="Change settings").click()
        expect(page.locator(".tile")).to_have_count(0)  # the game stays
        page.get_by_label("Title").fill("After")
        choose(page, "Swiss")
        page.get_by_label("Rounds").fill("often")
        page.get_by_role("button", name="Save the changes").click()
        expect(page.get_by_role("alert")).to_contain_text("a whole number")
        page.get_by_label("Rounds").fill("3")
        page.get_by_role("button", name="Save the changes").click()
        expect(page.get_by_role("heading", name="After")).to_be_visible()
        tournament = site.get(f"/api/v1/tournaments/{slug}").document
        assert (tournament["schedule"], tournament["rounds"], tournament["openings"]["count"]) == ("swiss", 3, 1)
        assert tournament["start_at"] == "2030-03-02T03:00:00Z"
        page.context.clear_cookies()
        page.context.add_cookies([{"name": "noughts_token", "value": server.token("mallory"), "url": site.address}])
        page.goto(f"/tournaments/{slug}/edit")
        expect(page.get_by_text("Only its organiser, ada, can change the settings of this tournament.")).to_be_visible()
    mallory = server.token("mallory")
    stolen = {"csrf": Visitor(mallory).csrf, "schedule": "round_robin", "title": "Stolen"}
    assert site.post(f"/tournaments/{slug}/edit", stolen, cookie=f"noughts_token={mallory}").status == 403
    assert site.get(f"/api/v1/tournaments/{slug}").document["title"] == "After"
    assert created(server, site, path=f"/tournaments/{slug}/cancel")[0] == 303
    token = server.token("ada")
    answer = site.get(f"/tournaments/{slug}/edit", cookie=f"noughts_token={token}", accept="text/html")
    assert answer.status == 409
    assert "Duplicate it to change them." in answer.text


def created(server: ServerUnderTest, site: Site, path: str = "/organise", **fields: str) -> tuple[int, str]:
    """Send the form for a new tournament or another one of ada; return the status and the text of the answer."""
    token = server.token("ada")
    form = {"csrf": Visitor(token).csrf, "schedule": "round_robin", **fields}
    answer = site.post(path, form, cookie=f"noughts_token={token}")
    return answer.status, answer.text


def test_the_form_takes_books_and_opening_rules(server: ServerUnderTest, site: Site) -> None:
    status, _ = created(server, site, id="book-cup", variant="gomoku", openings="balanced15", plies="4")
    assert status == 303
    tournament = site.get("/api/v1/tournaments/book-cup").document
    assert (tournament["openings"]["kind"], tournament["openings"]["name"]) == ("list", "balanced15")
    assert created(server, site, id="swap-cup", variant="gomoku", opening_rule="swap2")[0] == 303
    assert site.get("/api/v1/tournaments/swap-cup").document["variant"] == "gomoku+swap2"


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"variant": "connect4", "opening_rule": "swap2"}, "Expected for swap2 five or more in a row"),
        ({"variant": "chess", "openings": "balanced15"}, "Unknown game."),
        ({"variant": "connect4", "openings": "balanced15"}, "The book balanced15: line"),
        ({"variant": "gomoku", "openings": "list", "openings_text": "h8\nz99"}, "line 2: got cell z99"),
        ({"variant": "gomoku", "openings": "list"}, "got no openings"),
        ({"variant": "gomoku", "openings_text": "h8"}, "because openings are listed"),
        ({"variant": "gomoku", "symmetries": "on"}, "Expected openings."),
        ({"variant": "gomoku", "openings": "random", "plies": "51"}, "a whole number from 0 to 50"),
        ({"variant": "gomoku", "openings": "random"}, "Expected 1 to 50"),
        ({"own_times": "5/move"}, "Expected one bot a line with its time"),
        ({"own_times": "a=5/move\na=6/move"}, "Expected a only once."),
        ({"own_times": "a=soon"}, "Expected as time of a: none"),
        ({"start_at": "tomorrow"}, "Expected a date and a time"),
        ({"start_at": "2020-01-01T00:00"}, "Expected a time in the future"),
    ],
)
def test_wrong_fields_of_the_form_are_explained(
    server: ServerUnderTest, site: Site, fields: dict[str, str], message: str
) -> None:
    status, text = created(server, site, **{"id": "wrong-cup", "variant": "gomoku", **fields})
    assert status == 400
    assert message in text
    assert text.count('class="fault"') == text.partition("To correct:")[2].count('<li><a href="#') == 1
