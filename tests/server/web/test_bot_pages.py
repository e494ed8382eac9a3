"""The list of bots, the page of a bot with its trophies and its description, and the records."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from noughts_server.web.words import played_in
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes
BOTS = {"winner": "minimax", "middle": "nextstep", "loser": "first-free"}


@pytest.fixture(scope="module")
def token(server: ServerUnderTest) -> str:
    return server.token("mia")


@pytest.fixture(scope="module")
def site(server: ServerUnderTest, token: str) -> Iterator[Site]:
    """The website after a tournament of mia's three bots."""
    with site_of(server.address) as running:
        form, cookie = {"csrf": Visitor(token).csrf}, f"noughts_token={token}"
        with in_other_thread(bots_online(server.address, token, **BOTS)):
            fields = {**form, "id": "trio", "title": "Trio cup", "schedule": "round_robin", "rated": "on"}
            path = running.post("/organise", {**fields, "games_per_pair": "20"}, cookie=cookie).headers["location"]
            for bot in BOTS:
                assert running.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
            running.post(f"{path}/start", form, cookie=cookie)
            eventually(lambda: "finished" in running.get(path).text)
        yield running


def describe(site: Site, token: str, bot: str, **fields: str) -> tuple[int, str]:
    """Send the form that describes a bot; return the status and the page."""
    form = {"csrf": Visitor(token).csrf, "description": "", "link": "", **fields}
    answer = site.post(f"/bots/{bot}/describe", form, cookie=f"noughts_token={token}")
    return answer.status, answer.text


def assert_falling(texts: list[str]) -> None:
    ratings = [float(text) for text in texts]
    assert len(ratings) > 2
    assert ratings == sorted(ratings, reverse=True)


def test_heads_of_columns_sort_all_bots_without_scripts(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address, java_script_enabled=False) as page:
        page.goto("/bots")
        expect(page.locator("th[aria-sort]")).to_have_text("rated games in all")
        assert_falling(page.locator("tbody td.number").all_inner_texts())
        page.get_by_role("link", name="rating in its main game").click()
        expect(page.locator("th[aria-sort]")).to_have_text("rating in its main game")
        assert_falling(page.locator("tbody td.main-rating b").all_inner_texts())
        page.goto("/bots?rating_list=tictactoe/untimed")
        expect(page.locator("th[aria-sort]")).to_have_text("rating")
        page.goto("/bots?rating_list=tictactoe/untimed&order=games")
        page.get_by_role("link", name="rating", exact=True).click()
        expect(page.locator("th[aria-sort]")).to_have_text("rating")
        assert_falling(page.locator("tbody td:nth-child(2) b").all_inner_texts())
        page.get_by_role("link", name="bot", exact=True).click()
        names = page.locator("tbody th").all_inner_texts()
        assert names == sorted(names)


def test_a_game_selects_its_bots_and_their_ratings_in_it(site: Site) -> None:
    page = site.get("/bots?rating_list=connect4/untimed").text
    document = site.get("/api/v1/bots?rating_list=connect4/untimed&order=rating").document
    assert 0 < len(document["bots"]) < len(site.get("/api/v1/bots").document["bots"])
    for bot in document["bots"]:
        assert bot["summary"]["rating_list"] == "connect4/untimed"
        assert bot["name"] in page
        assert f"<b>{bot['summary']['rating']:.0f}</b>" in page
    assert "bots/winner" not in page
    assert site.get("/bots?order=age").status == 400


def test_owner_describes_a_bot_for_everyone_who_reads_its_page(site: Site, token: str) -> None:
    link = "https://example.org/winner"
    assert describe(site, token, "winner", description="Plays <b>well</b>.", link=link) == (303, "")
    page = site.get("/bots/winner").text
    assert "Plays &lt;b&gt;well&lt;/b&gt;." in page
    assert f'<a href="{link}" rel="nofollow ugc noopener">example.org/winner</a>' in page
    assert 'action="/bots/winner/describe"' not in page
    own_page = site.get("/bots/winner", cookie=f"noughts_token={token}").text
    assert 'action="/bots/winner/describe"' in own_page
    assert site.get("/api/v1/bots/winner").document["link"] == link
    assert describe(site, token, "winner")[0] == 303
    assert "Plays" not in site.get("/bots/winner").text


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "data:text/html,x", "ftp://example.org", "https://", 'https://x/" onclick="y', "/me"],
)
def test_links_that_are_not_pages_of_the_web_are_refused(site: Site, token: str, link: str) -> None:
    status, page = describe(site, token, "middle", link=link)
    assert status == 400
    assert "Expected an address such as https://example.org/mybot" in page
    assert site.get("/api/v1/bots/middle").document["link"] == ""


def test_texts_are_bounded_and_others_cannot_describe_a_bot(site: Site, server: ServerUnderTest, token: str) -> None:
    assert describe(site, token, "middle", description="x" * 501)[0] == 400
    assert describe(site, token, "middle", link=f"https://example.org/{'x' * 200}")[0] == 400
    assert describe(site, server.token("eve"), "middle", description="Ha")[0] == 403
    assert describe(site, server.token("root", "admin"), "middle", description="Renamed by the admin")[0] == 303
    assert site.get("/api/v1/bots/middle").document["description"] == "Renamed by the admin"


def test_page_of_a_bot_has_trophies_form_best_wins_and_its_place(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/bots/winner")
        expect(page.locator(".trophies .medal").first).to_have_text("1")
        expect(page.locator("section:has(#trophies)")).to_contain_text("Trio cup of 3 bots")
        # Its newest games and its best wins are one card.
        expect(page.locator(".form-and-wins ol.form li")).to_have_count(10)
        expect(page.locator(".form-and-wins")).to_contain_text("loser")
        # A distribution of so few bots would tell nothing.
        expect(page.locator(".bar.own")).to_have_count(0)
        page.goto("/bots/loser")
        expect(page.locator(".trophies .medal").first).to_have_text("3")


def test_own_page_names_entered_tournaments_by_their_titles(site: Site, token: str) -> None:
    form, cookie = {"csrf": Visitor(token).csrf}, f"noughts_token={token}"
    fields = {**form, "id": "harbour", "title": "Harbour league", "schedule": "round_robin"}
    path = site.post("/organise", fields, cookie=cookie).headers["location"]
    assert site.post(f"{path}/join", {**form, "bot": "bots/winner"}, cookie=cookie).status == 303
    assert f'in <a href="{path}">Harbour league</a>' in site.get("/me", cookie=cookie).text


def test_notes_below_records_concern_those_listed(site: Site) -> None:
    page = site.get("/records").text
    note = re.sub(r"\s+", " ", page.rpartition('<p class="note">')[2].partition("</p>")[0]).strip()
    assert ("uickest wins are wins on the board" in note) is ("<b>Quickest win</b>" in page)
    assert ("psets" in note) is ("<b>Biggest upset</b>" in page)
    assert note.endswith("is not a record. A new record appears within a minute.")


def test_records_show_their_games(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/records")
        page.get_by_role("link", name="Longest winning streak").first.click()
        expect(page.locator("#board svg")).to_be_visible()


def test_records_name_their_tournaments(site: Site) -> None:
    records, page = site.get("/api/v1/records").document["records"], site.get("/records").text
    last_games = [each["streak"]["last_game"] for each in records if each["streak"]]
    assert last_games
    assert all(f'<span class="note">{played_in(game)}</span>' in page for game in last_games)


def test_games_that_cannot_be_shorter_or_longer_are_no_records(site: Site) -> None:
    records = site.get("/api/v1/records").document["records"]
    page = site.get("/records").text
    for title, name, limits in (
        ("Longest game", "longest", {"tictactoe": 9, "connect4": 42}),
        ("Quickest win", "shortest", {"tictactoe": 5, "connect4": 7}),
    ):
        beatable = [each for each in records if len(each[name]["moves"]) != limits[each["variant"]]]
        assert page.count(f"<b>{title}</b>") == len(beatable)
    # A draw of noughts and crosses fills the board.
    assert page.count("<b>Longest game</b>") < len(records)


@pytest.mark.parametrize("path", ["/bots", "/leaderboard?variant=tictactoe", "/search?q=m", "/records", "/bots/winner"])
def test_names_and_ratings_of_bots_fit_a_phone(site: Site, browser: Browser, path: str) -> None:
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for table in page.locator(".scroll:has(table)").all():
            assert table.evaluate("place => place.scrollWidth <= place.clientWidth + 1")


@pytest.fixture
def opponent(site: Site, server: ServerUnderTest, token: str) -> str:
    """A bot with a long name that has played two unrated games against `winner`."""
    name, form, cookie = "threat-hunter-2026", {"csrf": Visitor(token).csrf}, f"noughts_token={token}"
    with in_other_thread(bots_online(server.address, token, **{"winner": "minimax", name: "first-free"})):
        path = site.post("/organise", {**form, "id": "unrated", "schedule": "round_robin"}, cookie=cookie).headers[
            "location"
        ]
        for bot in ("winner", name):
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        site.post(f"{path}/start", form, cookie=cookie)
        eventually(lambda: "finished" in site.get(path).text)
    return name


def test_page_of_a_bot_counts_rated_games_and_has_whole_names(site: Site, browser: Browser, opponent: str) -> None:
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/bots/winner")
        games = site.get("/api/v1/bots/winner/games?page_size=1000").document["games"]
        expect(page.locator("section:has(#ratings)")).to_contain_text(f"40 of its {len(games)} games are rated.")
        names = page.locator(f"td.who[title={opponent}] .cut > :first-child, th[title={opponent}]")
        expect(names.first).to_be_visible()
        assert all(names.evaluate_all("names => names.map((name) => name.scrollWidth <= name.clientWidth)"))


def test_list_of_bots_fills_a_wide_screen(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address, viewport={"width": 1920, "height": 1080}) as page:
        page.goto("/bots")
        right = "element => element.getBoundingClientRect().right"
        assert page.locator(".roster").evaluate(right) > page.locator(".scroll:has(.roster)").evaluate(right) - 2


def test_list_of_bots_says_on_a_phone_who_is_online(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/bots")
        expect(page.locator("tr:has-text('winner') .now")).to_be_visible()


@pytest.mark.parametrize("path, wanted", [("/bots/nobody", "nobody"), ("/nothing", "nothing")])
def test_missing_pages_offer_a_search_that_fits_a_phone(site: Site, browser: Browser, path: str, wanted: str) -> None:
    text = site.get(path).text
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        # A browser reports the status 404 as an error, so the test answers with the page and the status 200.
        page.route(f"**{path}", lambda route: route.fulfill(body=text, content_type="text/html"))
        page.goto(path)
        field = page.get_by_label("Search for it").last
        expect(field).to_have_value(wanted)
        inside, button = field.bounding_box(), page.get_by_role("button", name="Search").bounding_box()
        assert inside
        assert button
        assert inside["y"] < button["y"] + button["height"] / 2 < inside["y"] + inside["height"]
        assert button["x"] + button["width"] <= 390 - 16
