"""Pages in a real browser that follow a server: start page, tournaments, scores, reconnection and hidden tabs."""

import re
import threading
from collections.abc import Collection

import pytest
from playwright.sync_api import Browser, Response, Route, expect

from noughts_bots import Bot, GameInfo, Position
from noughts_server.drawing.board_svg import with_board
from noughts_server.testing import ServerUnderTest
from noughts_server.web.app import static_files
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import PATIENCE_MS, page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of
from tests.support.stepwise_bots import Stepwise, Talking

pytestmark = pytest.mark.processes


def test_the_featured_game_moves_on_the_start_page_and_leads_to_its_page(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/")
        expect(page.get_by_text("No tournament is running.")).to_be_visible()
        expect(page.locator("#featured")).to_contain_text("Longest game")
        with live_game(server, site) as game:
            expect(page.locator("#featured")).to_have_attribute("data-live", game.name)
            expect(page.locator("#strip-first .label")).to_have_text("First")
            game.play(0, 3)
            expect(page.locator("#board .stone")).to_have_count(2)
            expect(page.locator("#running li")).to_contain_text("0 of 1 games")
            page.get_by_role("link", name="Watch this game").click()
            page.wait_for_url(f"**/{game.name}")
            game.play(1, 4, 2)
            expect(page.locator("#outcome")).to_have_text("First won: three in a row.")


def test_upcoming_starts_change_on_an_open_start_page(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    token = server.token("stella")
    cookie, csrf = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    organise = {"id": "dawn", "title": "Dawn cup", "schedule": "round_robin", "start_at": "2100-01-01T12:00"}
    assert site.post("/organise", csrf | organise, cookie=cookie).status == 303
    with page_in(browser, site.address) as page:
        eventually(lambda: "Dawn cup" in site.get("/").text)
        page.goto("/")
        expect(page.locator("#starts-part")).to_contain_text("Dawn cup")
        assert site.post("/tournaments/dawn/cancel", csrf, cookie=cookie).status == 303
        eventually(lambda: "Dawn cup" not in site.get("/").text)
        with live_game(server, site) as game:  # a new tournament, for which the page asks
            expect(page.locator("#starts-part")).not_to_contain_text("Dawn cup")
            game.play(0, 3, 1, 4, 2)


def test_the_result_of_the_featured_game_is_held_before_the_next_one(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    def until(condition: str) -> None:
        """Move the page's clock forward until this JavaScript condition is true."""

        def holds_after_50_ms() -> bool:
            page.clock.run_for(50)
            return bool(page.evaluate(condition))

        eventually(holds_after_50_ms)

    featured = "document.getElementById('featured').dataset.live"
    token, bots = server.token("una"), {"una-one": Stepwise(), "una-two": Stepwise()}
    with page_in(browser, site.address) as page, in_other_thread(bots_online(server.address, token, **bots)):
        with live_game(server, site) as first:
            eventually(lambda: f'data-live="{first.name}"' in site.get("/").text)
            page.clock.install()
            page.goto("/")
            page.clock.pause_at(page.evaluate("Date.now() + 3600000"))
            assert page.evaluate(featured) == first.name
            second = f"{start_tournament_of(site, token, 'held', bots)}/games/1"
            until(f"document.querySelector('#grid [data-name=\"{second}\"]')")
            first.play(0, 3, 1, 4, 2)
            until("document.getElementById('featured-said').textContent === 'First won: three in a row'")
            until("document.querySelector('#featured .caption a').textContent === 'Replay this game'")
        page.clock.run_for(7000)
        assert page.evaluate(featured) == first.name
        expect(page.locator("#points-first")).to_have_text("1")
        page.clock.run_for(1000)
        until(f"{featured} === '{second}'")
        bots["una-one"].steps.release()
        bots["una-two"].steps.release()
        until("document.querySelectorAll('#board .stone').length === 2")
        for bot in bots.values():
            bot.steps.release(9)
        until("document.getElementById('featured-said').textContent.includes('in a row')")


def start_tournament_of(site: Site, token: str, name: str, bots: Collection[str]) -> str:
    """Create and start a tournament of these bots with the website's forms, and return its resource name."""
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {**form, "id": name, "schedule": "round_robin", "games_per_pair": "1", "bank": "", "increment": ""}
    path = site.post("/organise", fields, cookie=cookie).headers["location"]
    for bot in bots:
        site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie)
    site.post(f"{path}/start", form, cookie=cookie)
    return path.removeprefix("/")


def test_the_page_of_a_tournament_follows_it_to_its_end(server: ServerUnderTest, site: Site, browser: Browser) -> None:
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
        expect(page.locator(".champion")).to_contain_text("First")
        page.locator("[data-part=last] a").first.click()
        page.wait_for_url(f"**/{game.name}")


def test_new_cards_ask_once_for_the_board_of_a_variant(site: Site, browser: Browser) -> None:
    def game(number: int, variant: str, *moves: int) -> dict[str, object]:
        fields = {"name": f"games/{number}", "first": "a", "second": "b", "state": "running", "variant": variant}
        return with_board({**fields, "moves": list(moves)})

    module = f"/static/{static_files()[0]}/grid.js"
    show = """async ([module, games]) => {
        const { showGames } = await import(module);
        showGames(document.body.appendChild(document.createElement("div")), games);
    }"""
    with page_in(browser, site.address) as page:
        board_requests: list[str] = []
        page.on("request", lambda request: board_requests.append(request.url) if "/board?" in request.url else None)
        page.goto("/")
        # The last game is outside of the area that the large board of the one before shows.
        large = (game(3, "mnk:30,30,5", 0), game(4, "mnk:30,30,5", 899))
        page.evaluate(show, [module, [game(1, "connect4", 0), game(2, "connect4", 1), *large]])
        for number, cell in ((1, 0), (2, 1), (3, 0), (4, 899)):
            card = page.locator(f".small-game[data-name='games/{number}']")
            expect(card.locator(f".stone[data-cell='{cell}']")).to_have_count(1)
        assert len(board_requests) == 3


def test_a_failed_request_for_a_board_is_repeated_after_a_while(site: Site, browser: Browser) -> None:
    game = {"name": "games/1", "first": "a", "second": "b", "state": "running", "variant": "connect4", "moves": [0]}
    module = f"/static/{static_files()[0]}/grid.js"
    show = """async ([module, games]) => {
        const { showGames } = await import(module);
        window.grid ??= document.body.appendChild(document.createElement("div"));
        for (let event = 0; event < 20; event++) {
            showGames(window.grid, games);
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    }"""
    with page_in(browser, site.address) as page:
        board_requests: list[str] = []

        def refuse(route: Route) -> None:
            if "variant=connect4" in route.request.url:  # not those of games on the start page
                board_requests.append(route.request.url)
            route.fulfill(status=503)

        page.clock.install()
        page.goto("/")
        page.route("**/board?*", refuse)
        page.clock.resume()
        with page.expect_response(lambda answer: "variant=connect4" in answer.url):
            page.evaluate(show, [module, [with_board(game)]])
        assert len(board_requests) == 1
        page.unroute("**/board?*")
        page.clock.fast_forward(6_000)
        page.evaluate(show, [module, [with_board(game)]])
        expect(page.locator(".small-game[data-name='games/1'] > .board .stone")).to_have_count(1)


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
        grids = [page.evaluate(show, [module, list(names)]) for names in ("abcd", "bcd", "dcbe", "cbef", "ce", "e", "")]
    assert ["".join(name or "-" for name in names) for names in grids] == [
        "abcd", "-bcd", "ebcd", "ebcf", "e-c", "e", "",
    ]  # fmt: skip


class LateInRound2(Bot):
    """Plays the first free cell; in games after the first round it waits until the test sets `may_play`."""

    max_games = 1

    def __init__(self) -> None:
        self.may_play = threading.Event()
        self._waits = False

    def start(self, game: GameInfo) -> None:
        self._waits = int(game.name.rpartition("/")[2]) > 8  # the first round has four pairs of games

    def choose(self, position: Position) -> int:
        assert not self._waits or self.may_play.wait(PATIENCE_MS / 1000)
        return position.free[0]


def test_refresh_keeps_open_rounds_scroll_and_focus(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    token, slow = server.token("sue"), LateInRound2()
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    fields = {**form, "id": "stages", "schedule": "swiss", "rounds": "3", "bank": "", "increment": ""}
    path = site.post("/organise", fields, cookie=cookie).headers["location"]
    bots: dict[str, Bot | str] = {f"sue-{number}": "random" for number in range(7)}
    with in_other_thread(bots_online(server.address, token, slow=slow, **bots)), page_in(browser, site.address) as page:
        for bot in ("slow", *bots):
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        site.post(f"{path}/start", form, cookie=cookie)
        eventually(lambda: "Round 2" in site.get(path).text)
        answers: list[Response] = []
        page.on("response", lambda answer: answers.append(answer))
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{path}?tab=rounds")
        expect(page.locator("#round-2")).to_have_attribute("open", "")
        page.locator("#round-1 summary").click()
        page.locator("#round-1 summary").focus()
        other = page.context.new_page()
        other.set_viewport_size({"width": 240, "height": 844})
        other.goto(f"{path}?tab=standings")
        table = other.locator("[data-part=standings] .scroll")
        table.evaluate("table => (table.scrollLeft = 40)")
        slow.may_play.set()
        expect(page.locator("#round-3")).to_be_attached()
        for open_page in (page, other):
            open_page.bring_to_front()
            expect(open_page.locator(".state")).to_have_text("finished")
            expect(open_page.locator(".facts")).to_contain_text("ended")
        assert page.locator("#round-1").get_attribute("open") is None
        assert table.evaluate("table => table.scrollLeft") == 40
        page.bring_to_front()
        expect(page.locator("#round-1 summary")).to_be_focused()
        expect(page.locator(".facts time").first).not_to_contain_text("UTC")
        # The page is fetched once; afterwards only parts that have changed.
        assert len([answer for answer in answers if answer.url.endswith("?tab=rounds")]) == 1
        fetched = [answer.text() for answer in answers if "/parts?" in answer.url and answer.status == 200]
        assert fetched
        assert all('data-part="standings"' not in text and "<head" not in text for text in fetched)


def test_a_page_reconnects_after_a_restart_of_the_site(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with live_game(server, site) as game:
        with site_of(server.address) as first:
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{first.address}/{game.name}")
            expect(page.locator("#outcome")).to_have_text("Live: First is to move.")
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


def test_an_error_page_reloads_itself_when_the_server_is_back(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        # The first answer is the error page of a site that cannot reach its server.
        was_refused = threading.Event()

        def refuse(route: object) -> None:
            if was_refused.is_set():
                route.continue_()  # type: ignore[attr-defined]
                return
            was_refused.set()
            with site_of("127.0.0.1:1") as unconnected_site:
                answer = unconnected_site.get("/bots")
            route.fulfill(status=answer.status, body=answer.body, content_type="text/html")  # type: ignore[attr-defined]

        page.route("**/bots", refuse)
        page.goto("/bots")
        expect(page.get_by_role("heading", level=1)).to_have_text("Temporarily unavailable")
        expect(page.get_by_role("heading", level=1)).to_have_text("Bots")


def test_scores_of_a_live_game_survive_a_reload_and_reach_other_sites(
    server: ServerUnderTest, browser: Browser
) -> None:
    token, bots = server.token("tess"), {"tess-one": Talking(), "tess-two": Talking()}
    drawn_scores = "document.querySelectorAll('#score-graph .line')[0].getAttribute('d').split('L').length"
    with (
        in_other_thread(bots_online(server.address, token, **bots)),
        site_of(server.address) as site,
        site_of(server.address) as another,
        page_in(browser, site.address) as page,
        page_in(browser, another.address) as other,
    ):
        path = f"/{start_tournament_of(site, token, 'talk', bots)}"
        # The server keeps scores while a game has watchers.
        with site.events(f"/api/v1{path}/games/1/events"):
            page.goto(f"{path}/games/1")
            expect(page.locator("#outcome")).to_contain_text("is to move")
            for bot in bots.values():
                bot.steps.release(2)
            expect(page.locator("#board .stone")).to_have_count(4)
            page.reload()
            other.goto(f"{path}/games/1")
            for open_page in (page, other):
                expect(open_page.locator("#scores")).to_be_visible()
                assert open_page.evaluate(drawn_scores) == 2
            for bot in bots.values():
                bot.steps.release(9)
            for open_page in (page, other):
                expect(open_page.locator("#outcome")).to_contain_text(" won: ")
                # With scores of both sides the bar appears; the number is the last score of the first bot.
                expect(open_page.locator("#score-bar")).to_be_visible()
                expect(open_page.locator("#score-first")).to_have_attribute("title", re.compile(r"\+6$"))
                # In the last position the bar shows the result, in others the scores.
                bar = open_page.locator("#score-bar")
                expect(bar.locator("span")).to_have_attribute("style", "height: 100%;")
                expect(bar).to_have_attribute("title", re.compile("^1-0, .* in a row$"))
                open_page.locator("#back").click()
                expect(bar).to_have_attribute("title", re.compile("^The bots' scores: "))


def test_a_hidden_tab_closes_its_stream_and_catches_up_when_shown(
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


def test_pages_have_a_dark_colour_scheme(site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/")
        backgrounds = set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(backgrounds) == 2


def test_times_are_in_the_readers_zone(site: Site, browser: Browser, cup: str) -> None:
    time_texts = {}
    for zone in ("UTC", "Asia/Tokyo"):
        with page_in(browser, site.address, timezone_id=zone, locale="en-GB") as page:
            page.goto(f"/{cup}")
            time = page.locator("time").first
            expect(time).not_to_contain_text("UTC")
            time_texts[zone] = time.inner_text()
    assert re.search(r"\d\d:\d\d", time_texts["UTC"])
    assert time_texts["UTC"] != time_texts["Asia/Tokyo"]
