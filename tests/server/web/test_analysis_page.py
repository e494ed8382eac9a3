"""The analysis on the page of a game, with and without scripts: it says the same as `noughts game explain`."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import expect

from noughts_proto.interpreter import python
from noughts_referee.rules import parse_variant
from noughts_server.core.limits import Limits
from noughts_server.records.explaining import explanation, sentences
from noughts_server.runtime import analyses as analyses_module
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.tables.recorded_game import RecordedGame
from tests.support.arena import open_arena
from tests.support.background import open_in_thread, server_in_thread
from tests.support.browser import chromium, page_in
from tests.support.processes import eventually
from tests.support.random_games import random_moves, store_random_games
from tests.support.site import Site, site_of

pytestmark = pytest.mark.processes
EVIL = "<b>a&b"
LONG = "a-bot-with-a-very-long-name-1.0"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    file = tmp_path_factory.mktemp("analyses") / "games.sqlite"
    asyncio.run(_store_games(file))
    with server_in_thread(f"sqlite:///{file}") as address, site_of(address) as running:
        yield running


async def _store_games(file: Path) -> None:
    async with open_arena(file) as arena:
        await store_random_games(arena, "tictactoe", 6)
        await store_random_games(arena, "gomoku", 1, slug="large")
        await store_random_games(arena, "mnk:7,7,4", 1, slug="small")
        live = await arena.tournament("live", games_per_pair=4)
        await arena.commit((await arena.play(live))[:1])
        arena.execute(f"UPDATE entries SET label = '{EVIL}' WHERE number = 0")
        arena.execute(f"UPDATE entries SET label = '{LONG}' WHERE number = 1")


def text_of(markup: str) -> str:
    """Return the text of HTML, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", markup)).split())


def analysed_page(site: Site, game: str) -> str:
    """Ask for the analysis on the page, wait for it as its script does, and return its section of the page."""
    site.get(f"/{game}?analysis=true")
    eventually(lambda: 'data-state="done"' in site.get(f"/{game}/analysis").text)
    page = site.get(f"/{game}").text
    return page[page.index('<section class="analysis"') :]


@pytest.mark.parametrize("ordinal", [1, 2])
def test_page_without_scripts_says_what_the_command_says(site: Site, ordinal: int) -> None:
    name = f"tournaments/cup/games/{ordinal}"
    assert f'href="/{name}?analysis=true#analysis"' in site.get(f"/{name}").text
    section = analysed_page(site, name)
    document = site.get(f"/api/v1/{name}").document["game"]
    assert document["moves"] == random_moves(parse_variant("tictactoe"), 1_000 + ordinal)
    players = document["first"], document["second"]
    record = RecordedGame("tictactoe", *players, document["result"], tuple(document["moves"]), document["termination"])
    text, explained = text_of(section), explanation(record)
    for turn in explained["turns"]:
        assert f"{turn['ply']}. {turn['move']}?" in text
        assert f"{turn['bot']} turned a {turn['before']} into a {turn['after']}." in text
        assert f"Better: {' '.join(turn['better'])}." in text
        assert f"After {turn['move']}, with best play: {' '.join(turn['line'])}." in text or not turn["line"]
    if not explained["turns"]:
        assert sentences(explained)[0] in text
    answer = site.get(f"/api/v1/{name}/analysis").document
    assert [mistake["ply"] + 1 for mistake in answer["mistakes"]] == [turn["ply"] for turn in explained["turns"]]
    assert EVIL in text
    assert EVIL not in section


def test_page_of_a_live_tournament_says_why_it_has_no_analysis(site: Site) -> None:
    address = "/tournaments/live/games/1?analysis=true"
    page = site.get(address).text
    assert "No analysis: the tournament is not over" in text_of(page)
    assert "<h2>Analysis</h2>" not in page
    assert page.partition('<div id="mistakes"')[2].partition(">")[0].endswith(" hidden")
    assert "Bez analýzy: turnaj neskončil" in text_of(site.get(address, accept_language="cs").text)


@asynccontextmanager
async def _server_with_one_waiting_game(database: str) -> AsyncIterator[str]:
    settings = ServerSettings(
        listen="127.0.0.1:0", database=database, inactivity_timeout=600, limits=Limits(analyses=1)
    )
    async with running_server(settings) as server:
        yield server.address


def test_page_says_whether_a_game_is_analysed_or_too_many_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses_module, "COMMAND", python("-c", "import time; time.sleep(600)"))
    asyncio.run(_store_games(tmp_path / "games.sqlite"))
    database = f"sqlite:///{tmp_path / 'games.sqlite'}"
    with open_in_thread(_server_with_one_waiting_game(database)) as address, site_of(address) as site:

        def words(number: int) -> str:
            page = site.get(f"/tournaments/cup/games/{number}?analysis=true").text
            return text_of(page[page.index('<section class="analysis"') :])

        computed = "The analysis is on its way. It takes seconds; while bots play, minutes. Reload"
        assert computed in words(1)
        eventually(lambda: computed in words(2))  # the first game is being analysed
        assert "Many games wait for their analysis. Try again" in words(3)
        assert computed in words(1)


def test_page_of_another_site_starts_no_analysis(site: Site) -> None:
    name = "tournaments/cup/games/6"
    for address in (f"/{name}?analysis=true", f"/{name}/analysis"):
        assert 'data-state="none"' in site.get(address, sec_fetch_site="cross-site").text
    address = f"/api/v1/{name}/analysis"
    assert site.get(address, sec_fetch_site="cross-site").document["state"] is None
    assert site.get(address).document["state"] in ("pending", "done")
    assert "Disallow: /*?analysis=" in site.get("/robots.txt").text.splitlines()
    assert 'data-state="none"' not in site.get(f"/{name}/analysis", sec_fetch_site="same-origin").text


def test_large_board_shows_forced_wins_on_a_light_page(site: Site) -> None:
    section = analysed_page(site, "tournaments/large/games/1")
    assert "allowed a forced win" in section
    assert re.search(r"Decided at move \d+: the last mistake of \S+<", section)
    assert "found a forced win at move" in section
    assert len(gzip.compress(site.get("/tournaments/large/games/1").text.encode())) < 60_000


@pytest.mark.parametrize("name, marked", [("cup", ".mistakes li"), ("small", ".mistakes .costly")])
def test_moves_have_all_marks_only_if_there_are_few_mistakes(site: Site, name: str, marked: str) -> None:
    section = analysed_page(site, f"tournaments/{name}/games/1")
    assert (section.count("data-mark=") > 10) == (name == "small")
    assert ("Dots are mistakes." in section) == (name == "cup")
    assert name == "cup" or section.count('class="dot mistake"') <= 3
    with chromium() as browser, page_in(browser, site.address) as page:
        page.goto(f"/tournaments/{name}/games/1")
        expect(page.locator("#moves a").filter(has_text="?")).to_have_count(page.locator(marked).count())


def test_script_waits_for_the_analysis_and_draws_its_lines(site: Site) -> None:
    with chromium() as browser, page_in(browser, site.address) as page:
        page.goto("/tournaments/small/games/1")
        expect(page.locator(".mistakes .costly").first).to_be_visible()
        mistakes = page.locator(".mistakes li").count()
        focusable = page.locator(".mistakes li").first.locator("[tabindex]").filter(has=page.locator(".variation"))
        expect(focusable).to_have_count(1)
        expect(page.locator("#moves a").filter(has_text="?")).not_to_have_count(0)
        # Next to the board, a button for each mistake leads to its position, with the better moves.
        buttons = page.locator("#mistake-buttons [data-ply]")
        expect(buttons).to_have_count(mistakes)
        expect(page.locator("#mistake")).to_contain_text("to see the better move")
        expect(buttons.first).to_be_hidden()
        costly = page.locator(".mistakes .costly").count()
        page.locator("#mistakes").get_by_role("button", name=f"{mistakes - costly} others").click()
        buttons.first.click()
        expect(buttons.first).to_have_attribute("aria-current", "step")
        expect(page.locator("#mistake")).to_contain_text("Better:")
        expect(page.locator("#board .hints .ghost").first).to_be_visible()
        place, board = page.locator("#mistakes").bounding_box(), page.locator("#board").bounding_box()
        assert place
        assert board
        assert board["y"] < place["y"] < board["y"] + board["height"]
        page.locator("#begin").click()
        expect(page.locator("#board .hints")).to_have_count(0)
        better = page.locator(".mistakes .costly .variation").first
        ply = int(better.get_attribute("data-line") or "")
        better.hover()
        expect(page.locator("#board .expected")).to_have_count(1)
        expect(page.locator("#board .played > *")).to_have_count(ply + 1)
        page.locator("h1").hover()
        expect(page.locator("#board .expected")).to_have_count(0)


def test_long_analysis_is_short_until_the_visitor_opens_it(site: Site) -> None:
    name = "tournaments/small/games/1"
    analysed_page(site, name)
    with chromium() as browser, page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto(f"/{name}")
        all_mistakes, line = page.locator(".mistakes li"), page.locator(".mistakes .variation:has(.rest)").first
        first_mistakes = all_mistakes.and_(page.locator(".costly"))
        summary = page.locator(".other-mistakes summary")
        expect(summary).to_have_text(f"{all_mistakes.count() - first_mistakes.count()} other mistakes")
        assert all_mistakes.count() > 3 >= first_mistakes.count() > 0
        expect(all_mistakes.filter(visible=True)).to_have_count(first_mistakes.count())
        summary.click()
        expect(all_mistakes.filter(visible=True)).to_have_count(all_mistakes.count())
        assert len(line.inner_text().split()) == 6
        line.focus()
        assert len(line.inner_text().split()) == len((line.get_attribute("data-cells") or "").split()) > 6


def test_accuracy_of_bots_with_long_names_fits_on_phones(site: Site) -> None:
    analysed_page(site, "tournaments/cup/games/1")
    with chromium() as browser, page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/tournaments/cup/games/1")
        table = page.locator("#analysis .scroll")
        expect(table).to_contain_text(LONG)
        assert table.evaluate("place => place.scrollWidth <= place.clientWidth")


ANSWER = (
    '<section id="analysis" data-state="{}"><h2>Analysis</h2><p>It waits. <a href="#reload">Reload</a></p></section>'
)


def test_waiting_keeps_the_focus_and_is_told_to_screen_readers_once(site: Site) -> None:
    with chromium() as browser, page_in(browser, site.address) as page:
        states = ["pending"] * 5
        page.route("**/analysis", lambda route: route.fulfill(body=ANSWER.format(states.pop() if states else "done")))
        page.clock.install()
        page.goto("/tournaments/cup/games/5")
        status = page.locator("#analysis-status")
        expect(status).to_have_text("It waits. Reload")
        page.locator("#analysis a").focus()
        while states:
            expect(page.locator("#analysis a")).to_be_focused()
            page.clock.run_for(1_000)
        expect(status).to_have_text("The analysis is ready.")
        expect(page.locator("#analysis")).to_be_focused()


def test_page_says_that_it_no_longer_waits(site: Site) -> None:
    with chromium() as browser, page_in(browser, site.address) as page:
        page.route("**/analysis", lambda route: route.fulfill(body=ANSWER.format("pending")))
        page.clock.install()
        page.goto("/tournaments/cup/games/5")
        expect(page.locator("#analysis")).to_have_attribute("data-state", "pending")
        note = page.locator("#analysis p")

        def text_half_a_minute_later() -> str:
            page.clock.run_for(30_000)
            return note.text_content() or ""

        eventually(text_half_a_minute_later, lambda text: "this page no longer waits" in text)
        expect(page.locator("#analysis a")).to_be_visible()
