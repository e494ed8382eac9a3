"""The pages in a real browser: live games, keys, links to plies, coming back, phones and dark rooms."""

import re
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Response, Route, expect

from noughts_bots import Bot, GameInfo, Move, Position
from noughts_server.testing import ServerUnderTest
from noughts_server.web.app import static_files
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import beside
from tests.support.background import online
from tests.support.browser import PATIENCE_MS, chromium, page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def stones(page: Page) -> int:
    """How many stones lie on the large board."""
    return page.locator("#board .stone").count()


def test_a_live_game_is_shown_to_its_end_without_a_reload(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        page.goto(f"/{game.name}")
        expect(page.locator("#outcome")).to_have_text("First is to move.")
        page.evaluate("window.sameDocument = true")
        for number, cell in enumerate((0, 3, 1, 4), start=1):
            game.play(cell)
            expect(page.locator("#board .stone")).to_have_count(number)
        expect(page.locator("#moves li")).to_have_text(["a3", "a2", "b3", "b2"])
        game.play(2)
        expect(page.locator("#outcome")).to_have_text("First won, 1-0: line.")
        expect(page.locator("#board .won")).to_have_count(3)
        assert page.evaluate("window.sameDocument") is True


def test_who_comes_late_sees_all_moves_and_may_look_back_while_it_goes_on(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3, 1)
        page.goto(f"/{game.name}")
        expect(page.locator("#board .stone")).to_have_count(3)
        page.locator("#board").focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#words")).to_contain_text("Move 1 of 3")
        game.play(4)
        expect(page.locator("#moves li")).to_have_count(4)
        assert stones(page) == 1
        page.keyboard.press("End")
        expect(page.locator("#board .stone")).to_have_count(4)
        game.play(2)
        expect(page.locator("#board .stone")).to_have_count(5)


def test_a_ply_has_an_address_and_moves_slider_and_keys_lead_to_plies(site: Site, browser: Browser, cup: str) -> None:
    plies = len(site.get(f"/api/v1/{cup}/games/1").document["game"]["moves"])
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/games/1#2")
        expect(page.locator("#board .stone")).to_have_count(2)
        page.locator("#moves button").nth(3).click()
        expect(page.locator("#board .stone")).to_have_count(4)
        assert page.url.endswith("#4")
        page.locator("#ply").fill("1")
        expect(page.locator("#board .stone")).to_have_count(1)
        page.get_by_role("button", name="Latest position").click()
        expect(page.locator("#board .stone")).to_have_count(plies)
        page.locator("#board").focus()
        page.keyboard.press("Home")
        expect(page.locator("#words")).to_have_text(f"Move 0 of {plies}.")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#link")).to_have_attribute("href", "#1")


def test_boards_move_on_the_start_page_and_lead_to_their_games(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/")
        expect(page.locator("#grid-empty")).to_be_visible()
        with live_game(server, site) as game:
            card = page.locator(f'.small-game[href="/{game.name}"]')
            expect(card.locator(".names")).to_have_text("First – Second")
            game.play(0, 3)
            expect(card.locator(".stone")).to_have_count(2)
            card.click()
            page.wait_for_url(f"**/{game.name}")
            game.play(1, 4, 2)
            expect(page.locator("#outcome")).to_have_text("First won, 1-0: line.")


def test_a_tournament_gets_on_before_ones_eyes(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        page.goto("/" + game.name.removesuffix("/games/1"))
        expect(page.locator("#grid .small-game")).to_have_count(1)
        page.evaluate("window.sameDocument = true")
        game.play(0, 3, 1, 4, 2)
        expect(page.locator("#done")).to_have_text("1")
        expect(page.locator(".state")).to_have_text("finished")
        expect(page.locator(".facts")).to_contain_text("ended")
        assert page.evaluate("window.sameDocument") is True
        expect(page.locator("[data-part=standings] tbody tr").first).to_contain_text("First")
        page.locator(".heat a").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("First against Second")
        expect(page.locator(f'a[href="/{game.name}"]')).to_be_visible()


def test_cards_of_live_games_keep_their_places(site: Site, browser: Browser) -> None:
    module = f"/static/{static_files()[0]}/grid.js"
    show = """async ([module, names]) => {
        const { showGames } = await import(module);
        window.grid ??= document.body.appendChild(document.createElement("div"));
        showGames(window.grid, names.map((name) => ({ name, first: name, second: "", moves: [], state: "running" })));
        return [...window.grid.children].map((card) => card.dataset.name ?? "");
    }"""
    with page_in(browser, site.address) as page:
        page.goto("/bots")
        shown = [page.evaluate(show, [module, list(names)]) for names in ("abcd", "bcd", "dcbe", "cbef", "ce", "e", "")]
    assert ["".join(name or "-" for name in names) for names in shown] == [
        "abcd", "-bcd", "ebcd", "ebcf", "e-c", "e", "",
    ]  # fmt: skip


class LateInRound2(Bot):
    """Plays the first free cell; of games that are not of the first round when it is let."""

    max_games = 1

    def __init__(self) -> None:
        self.let = threading.Event()
        self._waits = False

    def start(self, game: GameInfo) -> None:
        self._waits = int(game.name.rpartition("/")[2]) > 8

    def choose(self, position: Position) -> int:
        assert not self._waits or self.let.wait(PATIENCE_MS / 1000)
        return position.free[0]


class Stepwise(Bot):
    """Plays the first free cell, as often as it is let."""

    def __init__(self) -> None:
        self.steps = threading.Semaphore(0)

    def choose(self, position: Position) -> int | Move:
        assert self.steps.acquire(timeout=PATIENCE_MS / 1000)
        return position.free[0]


class Talking(Stepwise):
    """Reports a score with each move, too."""

    def choose(self, position: Position) -> Move:
        chosen = super().choose(position)
        assert isinstance(chosen, int)
        return Move(chosen, float(position.ply))


def test_refresh_keeps_open_rounds_scroll_and_focus(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    token, slow = server.token("sue"), LateInRound2()
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    wanted = {**form, "id": "stages", "schedule": "swiss", "rounds": "3", "bank": "", "increment": ""}
    place = site.post("/organise", wanted, cookie=cookie).headers["location"]
    bots: dict[str, Bot | str] = {f"sue-{number}": "random" for number in range(7)}
    with beside(online(server.address, token, slow=slow, **bots)), page_in(browser, site.address) as page:
        for bot in ("slow", *bots):
            assert site.post(f"{place}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        site.post(f"{place}/start", form, cookie=cookie)
        eventually(lambda: "Round 2" in site.get(place).text)
        answers: list[Response] = []
        page.on("response", lambda answer: answers.append(answer))
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(place)
        expect(page.locator("#round-2")).to_have_attribute("open", "")
        page.locator("#round-1 summary").click()
        page.locator("#round-1 summary").focus()
        table = page.locator("[data-part=standings] .scroll")
        table.evaluate("table => (table.scrollLeft = 40)")
        slow.let.set()
        expect(page.locator("#round-3")).to_be_attached()
        expect(page.locator(".state")).to_have_text("finished")
        expect(page.locator(".facts")).to_contain_text("ended")
        assert page.locator("#round-1").get_attribute("open") == ""
        assert table.evaluate("table => table.scrollLeft") == 40
        expect(page.locator("#round-1 summary")).to_be_focused()
        expect(page.locator("#round-3 time, .facts time").first).not_to_contain_text("UTC")
        # The page is fetched once; afterwards only parts that have changed.
        assert len([each for each in answers if each.url.endswith(place)]) == 1
        fetched = [each.text() for each in answers if each.url.endswith("/parts") and each.status == 200]
        assert fetched
        assert all('data-part="bracket"' not in text and "<head" not in text for text in fetched)


def test_a_page_comes_back_when_the_site_was_away(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with live_game(server, site) as game:
        with site_of(server.address) as first:
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{first.address}/{game.name}")
            expect(page.locator("#outcome")).to_have_text("First is to move.")
            eventually(lambda: first.hub.watchers)
        expect(page.locator("#away")).to_be_visible()
        game.play(0, 3)
        port = int(first.address.rpartition(":")[2])
        with site_of(server.address, port=port):
            expect(page.locator("#board .stone")).to_have_count(2)
            expect(page.locator("#away")).to_be_hidden()
            game.play(1)
            expect(page.locator("#board .stone")).to_have_count(3)
            context.close()
        game.play(4, 2)


def test_a_page_that_found_no_server_shows_itself_when_there_is_one(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        # The first answer is what a site without its server says.
        away = threading.Event()

        def refuse(route: object) -> None:
            if away.is_set():
                route.continue_()  # type: ignore[attr-defined]
                return
            away.set()
            with site_of("127.0.0.1:1") as alone:
                answer = alone.get("/bots")
            route.fulfill(status=answer.status, body=answer.body, content_type="text/html")  # type: ignore[attr-defined]

        page.route("**/bots", refuse)
        page.goto("/bots")
        expect(page.get_by_role("heading", level=1)).to_have_text("Away for the moment")
        expect(page.get_by_role("heading", level=1)).to_have_text("Bots")


def test_a_game_that_waits_for_its_bots_has_begun(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    def waiting(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"state":"running"', '"state":"waiting"'))

    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3)
        eventually(lambda: '"moves":[0,3]' in site.get(f"/{game.name}").text)
        page.route(f"**/{game.name}", waiting)
        page.route("**/events", lambda route: route.abort())
        page.goto(f"/{game.name}")
        expect(page.locator("#board .stone")).to_have_count(2)
        expect(page.locator("#outcome")).to_have_text("Waiting for the players to reconnect.")
        game.play(1, 4, 2)


def test_scores_of_a_live_game_survive_a_reload_and_other_sites_know_them(
    server: ServerUnderTest, browser: Browser
) -> None:
    token, bots = server.token("tess"), {"tess-one": Talking(), "tess-two": Talking()}
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    drawn = "document.querySelectorAll('#score-graph .line')[0].getAttribute('d').split('L').length"
    with (
        beside(online(server.address, token, **bots)),
        site_of(server.address) as site,
        site_of(server.address) as another,
        page_in(browser, site.address) as page,
        page_in(browser, another.address) as other,
    ):
        wanted = {**form, "id": "talk", "schedule": "round_robin", "games_per_pair": "1", "bank": "", "increment": ""}
        place = site.post("/organise", wanted, cookie=cookie).headers["location"]
        for name in bots:
            site.post(f"{place}/join", {**form, "bot": f"bots/{name}"}, cookie=cookie)
        site.post(f"{place}/start", form, cookie=cookie)
        # The server keeps scores while a game has watchers.
        with site.events(f"/api/v1{place}/games/1/events"):
            page.goto(f"{place}/games/1")
            expect(page.locator("#outcome")).to_contain_text("is to move")
            for bot in bots.values():
                bot.steps.release(2)
            expect(page.locator("#board .stone")).to_have_count(4)
            page.reload()
            other.goto(f"{place}/games/1")
            for each in (page, other):
                expect(each.locator("#scores")).to_be_visible()
                assert each.evaluate(drawn) == 2
            for bot in bots.values():
                bot.steps.release(9)
            expect(other.locator("#outcome")).to_contain_text("won, 1-0")


def test_a_hidden_tab_stops_listening_and_catches_up_when_it_is_seen(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        page.goto(f"/{game.name}")
        eventually(lambda: site.hub.watchers == 1)
        set_hidden = """hidden => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
        page.evaluate(set_hidden, True)
        eventually(lambda: site.hub.watchers == 0)
        game.play(0, 3)
        page.evaluate(set_hidden, False)
        expect(page.locator("#board .stone")).to_have_count(2)
        game.play(1, 4, 2)


def test_pages_are_dark_in_dark_rooms(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/")
        backgrounds = set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(backgrounds) == 2


def test_times_are_in_the_readers_zone(site: Site, browser: Browser, cup: str) -> None:
    shown = {}
    for zone in ("UTC", "Asia/Tokyo"):
        with page_in(browser, site.address, timezone_id=zone, locale="en-GB") as page:
            page.goto(f"/{cup}")
            time = page.locator("time").first
            expect(time).not_to_contain_text("UTC")
            shown[zone] = time.inner_text()
    assert re.search(r"\d\d:\d\d", shown["UTC"])
    assert shown["UTC"] != shown["Asia/Tokyo"]
