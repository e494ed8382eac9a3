"""Tabs of a tournament's page, lists of games, filters, the search and the sizes of pages."""

import gzip
import re

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.pages import listing
from noughts_server.web.signin import Visitor
from noughts_server.web.words import how_ended
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site

pytestmark = pytest.mark.processes
MOST_COMPRESSED = 60_000


@pytest.fixture(scope="module")
def knockout(server: ServerUnderTest, site: Site) -> str:
    """The path of a finished knockout of five bots of kim."""
    token = server.token("kim")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {**form, "id": "cup-of-kim", "title": "Cup of Kim", "schedule": "knockout", "rated": "on"}
    path = site.post("/organise", fields, cookie=cookie).headers["location"]
    bots = {f"kim-{number}": "random" for number in range(5)}
    with in_other_thread(bots_online(server.address, token, **bots)):
        for bot in bots:
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        assert site.post(f"{path}/start", form, cookie=cookie).status == 303
        eventually(lambda: "finished" in site.get(path).text)
    return path


def tab_names(text: str) -> list[str]:
    navigation = text.partition('aria-label="Tournament">')[2].partition("</nav>")[0]
    return re.findall(r">([A-Z][a-z ]+)</a>", navigation)


def test_tabs_are_those_of_the_format(site: Site, cup: str, knockout: str) -> None:
    assert tab_names(site.get(f"/{cup}").text) == ["Overview", "Standings", "Crosstable", "Games", "Rules"]
    assert tab_names(site.get(knockout).text) == ["Overview", "Standings", "Bracket", "Games", "Rules"]
    for tab in ("standings", "crosstable", "bracket", "rounds", "chart", "games", "rules", "nothing"):
        assert site.get(f"/{cup}?tab={tab}").status == 200, tab
        assert site.get(f"/{cup}/parts?tab={tab}").status == 200, tab


def test_bracket_names_its_champion_and_leads_to_bots(site: Site, knockout: str) -> None:
    bracket = site.get(f"{knockout}?tab=bracket").text.partition('id="bracket"')[2]
    (champion,) = re.findall(r'Champion: <a href="/bots/(kim-\d)">', bracket)
    assert bracket.count(f'<a href="/bots/{champion}">') >= 3
    assert re.findall(r"<h3>([^<]+)</h3>", bracket) == ["Quarterfinals", "Semifinals", "Final"]


def test_rules_state_the_settings_in_words(site: Site, knockout: str) -> None:
    text = site.get(f"{knockout}?tab=rules").text
    for words in ("Knockout: the loser of a match is out.", "Noughts and crosses", "no clocks", "the empty board"):
        assert words in text


def test_games_have_boards_and_pages(site: Site, cup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 3)
    first = site.get(f"/{cup}/games").text
    assert first.count('class="thumb marks"') == 3
    assert "1–3 of 8" in first
    assert 'rel="prev"' not in first
    (following,) = re.findall(r'href="([^"]+)" rel="next"', first)
    second = site.get(following).text
    assert "4–6 of 8" in second
    assert re.findall(r'href="([^"]+)" rel="prev"', second) == [f"/{cup}/games"]
    (last,) = re.findall(r'href="([^"]+)" rel="next"', second)
    third = site.get(last).text
    assert "7–8 of 8" in third
    assert re.findall(r'href="([^"]+)" rel="prev"', third) == [f"/{cup}/games?after=3"]
    assert 'rel="next"' not in third


def test_last_games_come_newest_first_with_pieces_and_how_they_ended(site: Site, cup: str) -> None:
    last = site.get(f"/{cup}").text.partition('id="last"')[2].partition("</section>")[0]
    assert re.findall(r"Game (\d+)</span>", last) == ["8", "7", "6", "5"]
    assert last.count('<svg class="piece board marks"') == 8
    newest = site.get(f"/api/v1/{cup}/games").document["games"][-1]
    assert f"{how_ended(newest)}, move {len(newest['moves'])}</span>" in last


def test_games_are_filtered_by_bot_result_and_ending(site: Site, cup: str) -> None:
    games = site.get(f"/api/v1/{cup}/games").document["games"]
    for query, matches in (
        ("result=1-0", lambda game: game["result"] == "1-0"),
        ("termination=line&result=", lambda game: game["termination"] == "line"),
        ("entry=pascal", lambda game: True),
    ):
        names = re.findall(r'<li><a href="/([^"]+)"', site.get(f"/{cup}/games?{query}").text.partition("thumbs")[2])
        assert names == [game["name"] for game in games if matches(game)], query
    assert "No game matches." in site.get(f"/{cup}/games?faults_only=true").text
    assert site.get(f"/{cup}/games?result=9").status == 400
    assert site.get(f"/{cup}/games?entry=nobody").status == 404


def test_games_can_be_listed_after_a_number(site: Site, cup: str) -> None:
    def numbers(query: str) -> list[str]:
        games = site.get(f"/api/v1/{cup}/games?{query}").document["games"]
        return [game["name"].rpartition("/")[2] for game in games]

    assert numbers("after=6") == ["7", "8"]
    assert numbers("after=18446744073709551615") == []
    assert len(numbers("after=6&termination=line")) <= 2
    assert site.get("/api/v1/bots/pascal/games?after=1").status == 400


def test_tournaments_are_filtered_by_text_and_state(site: Site, knockout: str) -> None:
    def names_of(query: str) -> list[str]:
        return [tournament["name"] for tournament in site.get(f"/api/v1/tournaments?{query}").document["tournaments"]]

    assert names_of("search=OF%20KIM") == [knockout.removeprefix("/")] == names_of("search=of-ki")
    assert knockout.removeprefix("/") in names_of("state=finished")
    assert names_of("search=kim&state=open") == []
    assert names_of("search=%25") == []
    page = site.get("/tournaments?search=kim&state=finished&owner=").text
    assert f'href="{knockout}"' in page
    assert "No tournament matches." in site.get("/tournaments?state=paused").text


def test_search_finds_bots_tournaments_and_owners(site: Site, knockout: str) -> None:
    results = site.get("/search?q=kim").text
    assert f'href="{knockout}"' in results
    assert results.count('href="/bots/kim-0"') == 2  # as a bot, and as one of its owner
    assert 'href="/bots?owner=kim"' in results
    assert "No bot or tournament has “zzz” in its name" in site.get("/search?q=zzz").text
    assert site.get("/search").status == 200


def test_slash_leads_to_the_search_and_enter_searches(site: Site, browser: Browser, knockout: str) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        page.keyboard.press("/")
        field = page.get_by_label("Search bots, tournaments and owners")
        expect(field).to_be_focused()
        page.keyboard.type("a/b")
        expect(field).to_have_value("a/b")
        field.fill("kim")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Results for “kim”")


def test_leaderboard_sorts_by_its_columns(site: Site, browser: Browser, knockout: str) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/leaderboard?variant=tictactoe&time_class=untimed")
        rows = page.locator("tbody tr td:first-child")

        def ranks() -> list[int]:
            return [int(row.get_attribute("data-value") or "") for row in rows.all()]

        as_served = ranks()
        assert as_served == sorted(as_served)
        head = page.get_by_role("columnheader", name="rating")
        expect(head).to_have_attribute("aria-sort", "descending")
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "ascending")
        # Bots of equal ratings stay in their order.
        assert sorted(ranks()) == as_served
        assert ranks()[0] != as_served[0]


def test_choosing_a_filter_applies_it_without_empty_fields(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/games")
        page.get_by_label("Result").select_option("0-1")
        page.wait_for_url(f"**/{cup}/games?result=0-1")
        page.get_by_role("link", name="All games").click()
        page.wait_for_url(f"**/{cup}/games")


def test_pages_are_small_when_compressed(site: Site, cup: str, knockout: str) -> None:
    paths = (
        f"/{cup}",
        f"/{cup}/games",
        f"{knockout}?tab=bracket",
        "/leaderboard",
        "/bots",
        "/bots/pascal",
        "/api",
        "/play",
    )
    for path in paths:
        packed = site.get(path, accept_encoding="gzip").body
        assert len(packed) < MOST_COMPRESSED, path
        assert gzip.decompress(packed)


def test_rating_curve_shows_its_points_on_keys(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    server.match("coursework", "first-free", games=30, seed=5)  # a rating from fewer games has no curve
    eventually(lambda: "data-curve" in site.get("/bots/coursework").text)
    with page_in(browser, site.address) as page:
        page.goto("/bots/coursework")
        page.locator("svg.curve[tabindex]").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".told")).to_contain_text("games, ")
        last = page.locator(".told").inner_text()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".told")).not_to_have_text(last)


def test_pictures_of_bots_depend_on_the_name_only(site: Site, knockout: str) -> None:
    def pictures(path: str) -> list[str]:
        return re.findall(r'<path fill="hsl[^>]*>', site.get(path).text)

    assert pictures("/bots/pascal")[0] == pictures("/search?q=pascal")[0]
    pictures_of_bots = pictures("/bots?search=kim")
    assert len(set(pictures_of_bots)) == len(pictures_of_bots) == 5
