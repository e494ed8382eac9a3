"""Screens for a hall: live boards, replays, delayed moves, standings, the next start and overlays."""

import base64
import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from noughts_server.testing import ServerUnderTest
from noughts_server.web.app import static_files
from noughts_server.web.pages.tv import running_tournaments
from noughts_server.web.signin import Visitor
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of

pytestmark = pytest.mark.processes
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def site(server: ServerUnderTest) -> Iterator[Site]:
    """The website, with a tournament that starts in the year 2100."""
    token = server.token("tessa")
    with site_of(server.address) as running:
        fields = {"id": "century", "title": "Century cup", "schedule": "round_robin", "start_at": "2100-01-01T12:00"}
        fields["csrf"] = Visitor(token).csrf
        made = running.post("/organise", fields, cookie=f"noughts_token={token}")
        assert made.status == 303
        yield running


def test_live_games_take_the_place_of_replays(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page:
        page.goto("/tv")
        expect(page.locator(".tv-game .caption").first).to_contain_text("Replay")
        with live_game(server, site) as game:
            game.play(0, 3, 1)
            tile = page.locator(".tv-tile:visible")
            expect(tile.locator(".on-air")).to_have_text("Live")
            expect(tile.locator(".tv-board .stone")).to_have_count(3)
            expect(tile.locator(".strip.first .label")).to_have_text("First")
            expect(tile.locator(".strip.second.to-move .label")).to_have_text("Second")
            expect(tile.locator(".strip .piece")).to_have_count(2)
            game.play(4, 2)
            # The points of the players say who won.
            expect(tile.locator(".caption span")).to_have_text(
                ["Just ended", "three in a row", "", "Noughts and crosses"]
            )
            expect(tile.locator(".strip.won .label")).to_have_text("First")


def test_clocks_of_replays_have_the_time_factor_of_their_game(site: Site, browser: Browser) -> None:
    module = f"/static/{static_files()[0]}/strips.js"
    clocks = """async ([module, game]) => {
        const { showStrips } = await import(module);
        const elements = {};
        const find = (name) => (elements[name] ??= document.createElement("span"));
        showStrips(game, game.moves.length, 0, null, find);
        return ["first", "second"].map((side) => elements[`clock-${side}`].textContent);
    }"""
    time = {"bank_us": 60_000_000, "increment_us": 2_000_000, "move_us": 0}
    game = {"state": "ended", "result": "1-0", "moves": [0, 1], "times_us": [5_000_000, 0], "opening_plies": 0}
    record = game | {
        "time_factor": 1.5,
        "first_time": time,
        "second_time": time | {"bank_us": 0, "move_us": 40_000_000},
    }
    with page_in(browser, site.address) as page:
        page.goto("/tv")
        assert '"time_factor"' in page.locator("#replays").inner_text()
        assert page.evaluate(clocks, [module, record]) == ["1:28", "1:00"]
        assert page.evaluate(clocks, [module, game | {"time": time}]) == ["0:57", "1:02"]


def test_a_delayed_screen_holds_back_the_last_moves_until_the_end(
    server: ServerUnderTest, site: Site, browser: Browser
) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3, 1)
        tournament = game.name.partition("/games")[0]
        eventually(lambda: 'class="small-game' in site.get(f"/{tournament}").text)
        page.goto(f"/{tournament}/tv?delay=2")
        stones = page.locator(".tv-board .stone")
        expect(stones).to_have_count(1)
        game.play(4)
        expect(stones).to_have_count(2)
        game.play(2)
        expect(stones).to_have_count(5)
        expect(page.locator(".strip.won:visible .label")).to_have_text("First")


def test_screen_of_a_tournament_has_standings_next_start_and_code(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/tv")
        expect(page.locator("[data-standings] tbody tr")).to_have_count(2)
        rows = site.get(f"/api/v1/{cup}").document["standings"]
        expect(page.locator("[data-standings] tbody th").first).to_have_text(rows[0]["label"])
        expect(page.locator(".next")).to_contain_text("Century cup")
        expect(page.locator(".next [data-until]")).to_contain_text(" d ")
        code = page.get_by_role("img", name="QR code of the address").bounding_box()
        assert code
        assert code["width"] > 150
        expect(page.locator(".tv-tile:visible")).to_have_count(4)
        page.goto(f"/{cup}/tv?boards=1")
        expect(page.locator(".tv-tile:visible")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        # A phone needs no code to follow the event on a phone.
        page.set_viewport_size({"width": 390, "height": 844})
        expect(page.get_by_role("img", name="QR code of the address")).to_be_hidden()
        page.get_by_role("link", name="Back to the website").click()
        expect(page).to_have_url(f"{site.address}/{cup}")


def test_running_tournaments_show_their_leaders(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        tournament = game.name.partition("/games")[0]
        screen = eventually(lambda: site.get("/tv").text, lambda text: f'data-standings="{tournament}"' in text)
        rows = screen.partition(f'data-standings="{tournament}"')[2].partition("</table>")[0]
        assert re.findall(r'<th scope="row">(\w+)</th>', rows) == ["First", "Second"]
        game.play(0, 3, 1, 4, 2)


def test_players_stand_next_to_a_board_of_any_shape(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    wide: ViewportSize = {"width": 1920, "height": 1080}
    with (
        page_in(browser, site.address, viewport=wide) as page,
        live_game(server, site, variant="mnk:4,3,3") as game,
    ):
        game.play(0, 4, 1, 5)
        page.goto("/tv?boards=1")
        expect(page.locator(".tv-board .stone")).to_have_count(4)
        edges = "element => [element.getBoundingClientRect().top, element.getBoundingClientRect().bottom]"
        top, bottom = page.locator(".tv-tile:visible .tv-board").evaluate(edges)
        assert page.locator(".tv-tile:visible .strip.second").evaluate(edges)[0] == pytest.approx(top, abs=1)
        assert page.locator(".tv-tile:visible .strip.first").evaluate(edges)[1] == pytest.approx(bottom, abs=1)
        game.play(2)


def test_long_names_leave_space_for_the_caption(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    fill = """tile => {
      for (const side of ["first", "second"]) {
        tile.querySelector(`[data-is="label-${side}"]`).textContent = "the-crumbling-bastion-of-gomoku-v2";
        tile.querySelector(`[data-is="score-${side}"]`).textContent = "says: winning";
      }
      tile.querySelector('[data-is="event"]').textContent = "November Gomoku League";
      const box = (name) => tile.querySelector(name).getBoundingClientRect();
      const label = box(".label");
      const line = parseFloat(getComputedStyle(tile.querySelector(".label")).lineHeight);
      return {
        above: box(".on-air").top - box(".strip.second").bottom,
        below: box(".strip.first").top - box('[data-is="event"]').bottom,
        lines: label.height / line,
      };
    }"""
    with (
        page_in(browser, site.address, viewport={"width": 1280, "height": 720}) as page,
        live_game(server, site, variant="connect4") as game,
    ):
        game.play(35, 36)
        page.goto("/tv?boards=4")
        expect(page.locator(".tv-board .stone")).to_have_count(2)
        # With four live games, each board has a quarter of the space.
        quarters = "tiles => { tiles.style.gridTemplate = 'repeat(2, minmax(0, 1fr)) / repeat(2, minmax(0, 1fr))'; }"
        page.locator("#tiles").evaluate(quarters)
        space = page.locator(".tv-tile:visible").evaluate(fill)
        assert space["above"] > 0
        assert space["below"] > 0
        assert space["lines"] == pytest.approx(1, abs=0.1)
        game.play(28, 29, 21, 22, 14)


@pytest.mark.parametrize("width, height", [(1280, 720), (1920, 1080)])
def test_the_screen_does_not_scroll(
    server: ServerUnderTest, site: Site, browser: Browser, width: int, height: int
) -> None:
    wide: ViewportSize = {"width": width, "height": height}
    with page_in(browser, site.address, viewport=wide) as page, live_game(server, site) as game:
        game.play(0, 3)
        page.goto("/tv")
        expect(page.locator(".tv-board .stone")).to_have_count(2)
        # More tournaments than the screen has space for.
        page.locator("#panel ul").evaluate("list => { list.innerHTML = list.innerHTML.repeat(20); }")
        assert page.evaluate("document.documentElement.scrollHeight") == height
        page.evaluate("dispatchEvent(new Event('resize'))")
        shown = page.locator("#panel li:visible").count()
        assert 0 < shown < 20
        expect(page.locator("#others")).to_have_text(f"and {page.locator('#panel li').count() - shown} others")
        assert page.locator("#others").evaluate("({ parentElement: part }) => part.scrollHeight <= part.clientHeight")
        # Places that are about as high as wide have the players above and below the board.
        page.locator("#tiles").evaluate("""tiles => {
          tiles.style.gridTemplate = "repeat(2, minmax(0, 1fr)) / repeat(3, minmax(0, 1fr))";
        }""")
        fits = "tile => tile.querySelector('.tv-game').clientHeight <= tile.clientHeight"
        assert page.locator(".tv-tile:visible").evaluate(fits)
        game.play(1, 4, 2)


def test_tournaments_of_live_games_come_before_those_without_games() -> None:
    names = ("tournaments/new", "tournaments/played", "tournaments/live")
    running = [{"name": name, "games_done": done} for name, done in zip(names, (0, 4, 0), strict=True)]
    content = {
        "all_running": [*running, {"name": "tournaments/unknown", "games_done": 9}],
        "live": [{"name": "tournaments/live/games/1"}],
        "tournaments_by_name": dict.fromkeys(names),
    }
    assert [each["name"] for each in running_tournaments(content)] == [*reversed(names)]


def test_nine_boards_come_from_a_feed_of_nine(site: Site, cup: str) -> None:
    assert f'data-events="/api/v1/{cup}/events?boards=9"' in site.get(f"/{cup}/tv?boards=9").text
    with site.events(f"/api/v1/{cup}/events?boards=9") as events:
        event = events.next()
        assert event is not None
        assert event.kind == "snapshot"
    assert site.get(f"/api/v1/{cup}/events?boards=5").status == 400


def test_standings_on_the_screen_follow_the_games(server: ServerUnderTest, site: Site, browser: Browser) -> None:
    with page_in(browser, site.address) as page, live_game(server, site) as game:
        game.play(0, 3, 1, 4)
        page.goto(f"/{game.name.partition('/games')[0]}/tv")
        points = page.locator("[data-standings] tbody td:last-child")
        expect(points).to_have_text(["0", "0"])
        game.play(2)
        expect(points).to_have_text(["1", "0"])


def test_buttons_go_while_the_pointer_rests(site: Site, browser: Browser, cup: str) -> None:
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/tv")
        back = page.get_by_role("link", name="Back to the website")
        expect(back).to_have_css("opacity", "0")
        page.mouse.move(200, 200)
        expect(back).to_have_css("opacity", "1")


def test_an_overlay_is_transparent_and_has_only_boards(site: Site, browser: Browser, cup: str) -> None:
    for scheme in SCHEMES:
        with page_in(browser, site.address, color_scheme=scheme) as page:
            page.goto(f"/{cup}/tv?overlay=board&boards=1")
            expect(page.locator(".tv-board .stone, .tv-board .cross").first).to_be_visible()
            expect(page.locator("#panel, .head")).to_have_count(0)
            corner = page.screenshot(omit_background=True)
            assert alpha_of(browser, corner) == 0
    with page_in(browser, site.address) as page:
        page.goto(f"/{cup}/tv")
        corner = page.screenshot(omit_background=True)
        assert alpha_of(browser, corner) == 255


def alpha_of(browser: Browser, png: bytes) -> int:
    """Return the opacity of the first pixel of a picture, as a browser reads it."""
    read = """async (data) => {
      const picture = new Image();
      picture.src = data;
      await picture.decode();
      const canvas = new OffscreenCanvas(1, 1).getContext("2d");
      canvas.drawImage(picture, 0, 0);
      return canvas.getImageData(0, 0, 1, 1).data[3];
    }"""
    with page_in(browser, "about:blank") as page:
        return int(page.evaluate(read, f"data:image/png;base64,{base64.b64encode(png).decode()}"))


@pytest.mark.parametrize(
    "query, words",
    [
        ("boards=3", "parameter boards: got 3, expected 1, 4 or 9"),
        ("boards=x", "boards: got"),
        ("delay=101", "a whole number from 0 to 100"),
        ("overlay=all", "expected board"),
    ],
)
def test_wrong_parameters_are_refused(site: Site, query: str, words: str) -> None:
    answer = site.get(f"/tv?{query}")
    assert answer.status == 400
    assert words in answer.text.lower()
