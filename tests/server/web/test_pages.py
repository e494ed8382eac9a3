"""Pages as the site sends them, without a browser: their content, their policy, their sizes and their errors."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import grpc
import grpc.aio
import pytest
from starlette.requests import Request

from noughts_bots import Bot, Position
from noughts_proto.security import Dialling
from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.charts import rating_line
from noughts_server.testing import ServerUnderTest, serving
from noughts_server.web import upstream as upstream_module
from noughts_server.web.app import static_files
from noughts_server.web.event_streams import Hub
from noughts_server.web.pages import bots, tournament
from noughts_server.web.pages.front_page import FrontPage
from noughts_server.web.score_interval import score_interval
from noughts_server.web.signin import Visitor
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import Views
from tests.support.background import bots_online, open_in_thread
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of

ATOM = "{http://www.w3.org/2005/Atom}"
HEAVIEST = 56_000
"""Largest number of compressed bytes of a page and all static files together; a page loads only some of them."""


class Links(HTMLParser):
    """The links and resources of a page, and inline scripts and styles, which its policy forbids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pages: set[str] = set()
        self.loaded: set[str] = set()
        self.inline: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag == "a":
            self.pages.add(values["href"] or "")
        if tag in ("script", "img") and values.get("src"):
            self.loaded.add(values["src"] or "")
        if tag == "link" and values["rel"] in ("stylesheet", "icon"):
            self.loaded.add(values["href"] or "")
        if tag == "style" or "style" in values or any(name.startswith("on") for name in values):
            self.inline.append(f"{tag} {attributes}")
        if tag == "script" and not values.get("src") and values.get("type") != "application/json":
            self.inline.append("script")
        if tag not in ("meta", "link", "img", "input", "br", "wbr", "path", "rect", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "rect", "circle"):
            assert self.open.pop() == tag, f"</{tag}> closes another"


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[str, Links]:
    """All pages that links lead to from the start page: of games and of openings only one, and no documentation."""
    links_by_path: dict[str, Links] = {}
    waiting = ["/"]
    kinds: set[str] = set()
    while waiting:
        path = waiting.pop()
        kind = re.sub(r"games/\d+", "games/N", path.partition("?")[0])
        if path in links_by_path or (kind in kinds and ("games/N" in kind or kind in ("/explorer", "/puzzles"))):
            continue
        kinds.add(kind)
        answer = site.get(path)
        assert answer.status == 200, (path, answer.text)
        if answer.headers["content-type"].startswith("text/html"):
            links_by_path[path] = Links(answer.text)
            waiting += [each.partition("#")[0] for each in links_by_path[path].pages if re.match("/(?!docs/)", each)]
        else:
            links_by_path[path] = Links("")
    return links_by_path


@pytest.mark.processes  # it fetches pictures that a process draws
def test_every_link_leads_to_a_page_and_no_page_breaks_its_policy(pages: dict[str, Links]) -> None:
    assert {"/", "/tournaments", "/leaderboard", "/bots", "/bots/pascal", "/tournaments.atom"} <= set(pages)
    assert any(path.endswith("/embed") for path in pages)
    assert any("/against/" in path for path in pages)
    assert any(path.startswith("/explorer") for path in pages)
    for path, links in pages.items():
        assert links.inline == [], path
        assert links.open == [], path
        assert all(each.startswith(("/", "#", "webcal:")) for each in links.pages | links.loaded), path


@pytest.mark.processes
def test_pages_describe_themselves_to_search_engines_and_previews(site: Site, cup: str) -> None:
    descriptions = set()
    for path in ("/", f"/{cup}", f"/{cup}/games", f"/{cup}/games/1", "/bots/pascal", "/leaderboard", "/play"):
        tags = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]+)">', site.get(path).text))
        assert tags["og:url"] == site.address + path
        assert tags["og:description"] == tags["description"]
        assert tags["og:title"]
        assert site.get(tags["og:image"].removeprefix(site.address)).headers["content-type"] == "image/png"
        descriptions.add(tags["description"])
    assert len(descriptions) == 7
    game = site.get(f"/api/v1/{cup}/games/1").document["game"]
    text = site.get(f"/{cup}/games/1").text
    assert f"{game['first']} against {game['second']}, Noughts and crosses: {game['result']}, " in text


def test_answers_are_compressed_and_events_are_not(site: Site, cup: str) -> None:
    for path in ("/", f"/{cup}", f"/{cup}/parts", f"/{cup}/games.jsonl", f"/api/v1/{cup}"):
        plain, packed = site.get(path), site.get(path, accept_encoding="gzip")
        assert packed.headers["content-encoding"] == "gzip", path
        assert "content-encoding" not in plain.headers
        assert len(packed.body) < len(plain.body)
        assert gzip.decompress(packed.body)
    with site.events("/api/v1/featured/events", accept_encoding="gzip") as events:
        assert events.until("snapshot")


def test_an_unchanged_page_is_not_sent_again(site: Site, cup: str) -> None:
    for path in (f"/{cup}", f"/{cup}/games/1", "/bots"):
        tag = site.get(path).headers["etag"]
        cached_answer = site.get(path, if_none_match=tag, accept_encoding="gzip")
        assert (cached_answer.status, cached_answer.body, cached_answer.headers["etag"]) == (304, b"", tag)
        assert site.get(path, if_none_match='W/"else"').status == 200


def test_only_parts_of_a_tournament_that_changed_are_sent(site: Site, cup: str) -> None:
    names_and_tags = re.findall(r'<div data-part="(\w+)" data-tag="(\w+)">', site.get(f"/{cup}").text)
    tags = {name: f'"{tag}"' for name, tag in names_and_tags}
    assert {"facts", "standings", "crosstable", "faults"} <= set(tags)
    everything = site.get(f"/{cup}/parts")
    assert re.findall(r'<div data-part="(\w+)" data-tag="(\w+)">', everything.text) == names_and_tags
    assert site.get(f"/{cup}/parts", if_none_match=", ".join(tags.values())).status == 304
    del tags["standings"]
    changed_parts = site.get(f"/{cup}/parts", if_none_match=", ".join(tags.values()))
    assert re.findall(r'data-part="(\w+)"', changed_parts.text) == ["standings"]


def test_programs_find_the_icon_and_the_rules_for_robots(site: Site) -> None:
    icon, rules = site.get("/favicon.ico"), site.get("/robots.txt")
    assert (icon.status, icon.body[:4]) == (200, b"\0\0\1\0")
    assert rules.headers["content-type"].startswith("text/plain")
    assert "Disallow: /api/" in rules.text.splitlines()
    assert "max-age=86400" in icon.headers["cache-control"]


@pytest.mark.processes
def test_every_page_with_all_that_it_loads_is_small(site: Site, pages: dict[str, Links]) -> None:
    _, files = static_files()
    everything = sum(len(gzip.compress(body)) for _, body in files.values())
    own = [path for path in pages if "/api/" not in path and ".png" not in path]
    heaviest = max((len(site.get(path, accept_encoding="gzip").body), path) for path in own)
    assert heaviest[0] + everything < HEAVIEST, heaviest


def test_static_files_are_cached_for_a_year_by_content(site: Site) -> None:
    version, files = static_files()
    for name, (kind, body) in files.items():
        answer = site.get(f"/static/{version}/{name}")
        assert (answer.status, answer.body) == (200, body)
        assert answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["cache-control"]
    assert site.get("/static/0/site.css").status == 404
    assert site.get(f"/static/{version}/..%2fapp.py").status == 404


def test_policy_forbids_resources_of_other_sites(site: Site, cup: str) -> None:
    headers = site.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors *" in site.get(f"/{cup}/games/1/embed").headers["content-security-policy"]
    for path in ("/bots/embed", f"/{cup}/games/999/embed", "/play/embed"):
        assert "frame-ancestors 'self'" in site.get(path).headers["content-security-policy"], path


def test_a_tournament_page_has_error_bars_and_a_linked_crosstable(site: Site, cup: str) -> None:
    text = site.get(f"/{cup}").text
    assert re.search(r'aria-label="\d+ won, \d+ drawn, \d+ lost"', text)
    standings = site.get(f"/{cup}?tab=standings").text
    assert re.search(r'aria-label="[\d.]+ % of the points, 95 % interval [\d.]+ to [\d.]+ %"', standings)
    crosstable = site.get(f"/{cup}?tab=crosstable").text
    (link,) = re.findall(r'href="(/bots/pascal/against/random\?tournament=[^"]+)"', crosstable)
    games = site.get(link).text
    assert len(re.findall(rf'href="/{cup}/games/\d"', games)) == 8


def test_page_of_a_running_game_contains_the_game(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        text = site.get(f"/{game.name}").text
        assert "First" in text
        assert '"state":"running"' in text
        game.play(0, 3, 1, 4, 2)


def test_a_link_at_a_move_shows_and_describes_its_position_without_scripts(site: Site, cup: str) -> None:
    path = f"/{cup}/games/1"
    text = site.get(f"{path}?ply=2").text
    assert text.count('class="stone ') == 2 + 2  # on the board, and one in the strip of each player
    assert f'<meta property="og:image" content="{site.address}{path}.png?ply=2">' in text
    assert f'<meta property="og:url" content="{site.address}{path}?ply=2">' in text
    assert f'<a href="{path}?ply=2" aria-current="step">' in text
    assert f'value="&lt;iframe src=&#34;{site.address}{path}/embed&#34;' in text
    assert '<span class="points" id="points-first"></span>' in text
    assert re.search('id="points-first">[01½]<', site.get(path).text)
    assert f'<meta property="og:url" content="{site.address}{path}">' in site.get(f"{path}?ply=99").text
    assert site.get(f"{path}?ply=x").status == 400


def test_leaderboard_names_its_view_and_exports_it(site: Site) -> None:
    for view, words in {
        "": "Live Elo (game by game)",  # eight games are too few for a fit
        "fit": "All games at once (maximum likelihood with a prior)",
    }.items():
        text = site.get(f"/leaderboard?variant=tictactoe&view={view}").text
        assert f"Noughts and crosses, no clock: {words}" in text
        assert ("live Elo</th>" in text) is bool(view)
        assert f"/api/v1/leaderboards/tictactoe/untimed?format=csv&amp;view={view or 'live'}" in text
    rows = site.get("/api/v1/leaderboards/tictactoe/untimed?format=csv&view=fit").text.splitlines()
    assert ",view_rating,view_error95,rank_low,rank_high," in rows[0]
    assert site.get("/leaderboard?view=elo").status == 400


def test_old_names_of_filters_redirect_to_the_new_ones(site: Site) -> None:
    redirect = site.get("/leaderboard?variant=tictactoe&online=true&sure=true&search=pascal")
    assert redirect.status == 308
    new_address = "/leaderboard?variant=tictactoe&online_only=true&exclude_provisional=true&search=pascal"
    assert redirect.headers["location"] == new_address
    assert 'name="online_only" value="true" checked' in site.get(new_address).text
    assert site.get("/bots?online=true").headers["location"] == "/bots?online_only=true"


class CountingUpstream(Upstream):
    """A connection to the server that counts its calls."""

    calls = 0

    async def call(self, *arguments: Any, **keywords: Any) -> Any:
        self.calls += 1
        return await super().call(*arguments, **keywords)


async def test_visitors_of_the_home_page_share_its_calls(server: ServerUnderTest) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = CountingUpstream(server.address, Dialling())
        hub = Hub(upstream, tasks)
        page = FrontPage(upstream, hub)
        first, *others = await asyncio.gather(*(page.content() for _ in range(20)))
        assert all(each == first for each in others)
        assert upstream.calls <= 20
        hub.close()
        await upstream.close()


class RefusingUpstream(Upstream):
    """A connection to the server on which calls of one method fail."""

    refused = ""

    async def call(self, method: Any, request: Any, *arguments: Any, **keywords: Any) -> Any:
        if type(request).__name__ == f"{self.refused}Request":
            raise Failure(502, "refused")
        return await super().call(method, request, *arguments, **keywords)


@pytest.mark.parametrize(
    "refused",
    ["ListGames", "GetTournament", "GetLeaderboard", "GetStatus", "ListTournaments", "ListRatingLists"],
)
async def test_home_page_lacks_only_the_part_that_fails(server: ServerUnderTest, refused: str) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = RefusingUpstream(server.address, Dialling())
        upstream.refused = refused
        hub = Hub(upstream, tasks)
        content = await FrontPage(upstream, hub).content()
        assert content["status"] or refused == "GetStatus"
        assert content["tournaments"] or refused == "ListTournaments"
        assert content["finished"] or refused in ("ListGames", "GetTournament", "ListTournaments")
        views = Views(static_files()[0], signing_in=False, playing=False, public_url="")
        request = Request({"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""})
        assert await views.text(request, "home.html.jinja", **content)
        hub.close()
        await upstream.close()


def test_page_of_a_game_says_how_its_opening_was_agreed(server: ServerUnderTest, site: Site) -> None:
    server.match("fives", "random", variant="gomoku+swap2", games=1)
    tournaments = site.get("/api/v1/tournaments").document["tournaments"]
    name = next(each["name"] for each in tournaments if each["variant"] == "gomoku+swap2")
    agreement = site.get(f"/api/v1/{name}/games/1").document["game"]["agreement"]
    words = re.search('<p id="opening" class="note">(.*?)</p>', site.get(f"/{name}/games/1").text)
    assert words
    assert words[1].startswith(f"Swap2: {agreement['opener']} put the first three stones")
    assert ("added two" in words[1]) == (agreement["stones"] == 5)


class Thinker(Bot):
    """Moves to the first free cell, after half a second."""

    async def choose(self, position: Position) -> int:
        await asyncio.sleep(0.5)
        return position.free[0]


def test_the_start_page_works_without_scripts(server: ServerUnderTest, site: Site) -> None:
    server.match("fives", "random", variant="gomoku", time="60+0", games=1)
    # Quick moves can cost no time at all, because the network's delay is not charged.
    server.match(Thinker(), "random", variant="mnk:3,3,2", time="60+0", games=1)
    server.match("random", "first-free", variant="mnk:3,3,1", games=1)
    with live_game(server, site) as game:
        game.play(0, 3)
        eventually(lambda: f'data-live="{game.name}"' in site.get("/").text)
        eventually(lambda: "Move 2" in site.get("/").text)
        text = site.get("/").text
        assert f'<a href="/{game.name}">Watch this game</a>' in text
        assert re.search(r'class="rating">1[45]\d\d<', text)
        assert "Longest game" in text
        assert "Quickest win" in text
        assert "Closest clock" in text
        assert re.search("moves? a second", text.partition("<footer>")[2])
        game.play(1, 4, 2)


@pytest.mark.parametrize(
    "path, status, words",
    [
        ("/nothing", 404, "There is no such page."),
        ("/tournaments/none", 404, "tournaments/none"),
        ("/tournaments/none/games/1", 404, "tournaments/none"),
        ("/tournaments/none/games/x", 404, "There is no such page."),
        ("/bots/nobody", 404, "bots/nobody"),
        ("/leaderboard?variant=chess", 400, "chess"),
        ("/tournaments?page_token=x", 400, "page_token"),
        ("/tournaments/%3Cscript%3Ealert(1)", 404, "&lt;script&gt;"),
    ],
)
def test_errors_have_a_page_with_a_message(site: Site, path: str, status: int, words: str) -> None:
    answer = site.get(path)
    assert answer.status == status, answer.text
    assert words in answer.text
    assert "<script>alert" not in answer.text
    assert "Start page" in answer.text


def test_without_its_server_the_site_says_so_and_retries() -> None:
    with site_of("127.0.0.1:1") as alone:  # no server listens on this port
        page = alone.get("/tournaments")
        assert (page.status, page.headers["retry-after"]) == (503, "3")
        assert "cannot be reached: nothing listens there" in page.text
        assert "comeback.js" in page.text
        assert alone.get("/api/v1/featured/events").status == 503


def test_a_new_server_says_what_to_do_next() -> None:
    with serving() as fresh, site_of(fresh.address) as site, ThreadPoolExecutor(4) as pool:
        home, tournaments, leaderboard, bots = pool.map(site.get, ("/", "/tournaments", "/leaderboard", "/bots"))
        assert "Nothing is live" in home.text
        assert "Enter your bot" in home.text
        assert "noughts tournament create" in tournaments.text
        assert "has been played yet" in leaderboard.text
        assert "noughts bot run" in bots.text
        assert site.get("/tournaments?challenges=true").status == 200


def test_addresses_of_the_website_are_those_of_its_public_url(server: ServerUnderTest) -> None:
    with site_of(server.address, public_url="https://games.example") as site:
        text = site.get("/tournaments.atom", Host="evil.example").text
    assert 'href="https://games.example/tournaments.atom"' in text
    assert "evil.example" not in text


def test_the_feed_of_tournaments_is_atom(site: Site, cup: str) -> None:
    answer = site.get("/tournaments.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.body)
    for name in ("id", "title", "updated", "author"):
        assert feed.find(ATOM + name) is not None
    links = {entry.find(f"{ATOM}link").get("href") for entry in feed.iter(f"{ATOM}entry")}  # type: ignore[union-attr]
    assert f"{site.address}/{cup}" in links
    for entry in feed.iter(f"{ATOM}entry"):
        assert {child.tag for child in entry} == {ATOM + name for name in ("id", "title", "link", "updated", "summary")}


def test_an_unknown_variant_has_no_board() -> None:
    assert geometry("of-a-plugin") is None
    assert geometry("connect4") == {
        "columns": 7,
        "rows": 6,
        "layers": 1,
        "gravity": True,
        "names": list("abcdefg"),
        "look": "plate",
        "stars": [],
    }


def test_the_interval_of_a_score_is_wilsons_interval() -> None:
    assert score_interval(0, 0, 0) is None
    # Wilson's interval of 10 wins of 10 is 0.722 to 1 in published tables.
    share, low, high = score_interval(10, 0, 0) or (0, 0, 0)
    assert (share, round(low, 3), round(high, 3)) == (1.0, 0.722, 1.0)
    # The interval of 40 points of 100 is 0.309 to 0.498.
    share, low, high = score_interval(30, 20, 50) or (0, 0, 0)
    assert (share, round(low, 3), round(high, 3)) == (0.4, 0.309, 0.498)


def rating_point(games: int, rating: float, error95: float) -> dict[str, Any]:
    return {"games": games, "rating": rating, "error95": error95}


def test_a_rating_line_needs_two_points_and_stays_in_its_picture() -> None:
    assert rating_line([rating_point(1, 1500.0, 600.0)]) is None
    points = [rating_point(1, 1500.0, 600.0), rating_point(2, 1520.0, 500.0), rating_point(1000, 1500.0, 58.0)]
    line = rating_line(points, [(2, "second"), (2000, "later")])
    assert line is not None
    assert line.words == (
        "Rating after 1 to 1,000 games: from 1500 to 1500, between 1500 and 1520; now 1500 ± 58 (95 %)."
    )
    assert re.findall(r'class="version"[^>]*>(.*?)<', line.svg) == ["second"]
    curves = re.findall(r'class="(?:line|band)" d="M(.*?)Z?"', line.svg)
    assert len(curves) == 2
    for x, y in (point.split() for curve in curves for point in curve.split("L")):
        assert 0 <= float(x) <= 640
        assert 0 <= float(y) <= 220
    for axis in ("up", "across"):
        assert len(re.findall(rf'class="{axis}"[^>]*>[^<]', line.svg)) >= 3
    assert rating_line([rating_point(5, 1500.0, 0.0), rating_point(5, 1500.0, 0.0)]) is not None


def test_a_tournaments_page_has_faults_and_rounds(server: ServerUnderTest, site: Site) -> None:
    token = server.token("ada")
    cookie = f"noughts_token={token}"
    form = {"csrf": Visitor(token).csrf}
    created = site.post("/organise", {**form, "id": "open", "schedule": "swiss", "rounds": "2"}, cookie=cookie)
    path = created.headers["location"]
    bots = {"one": "random", "two": "first-free", "three": "pascal"}
    with bots_online(server.address, token, broken=SameCellBot(), **bots):
        for bot in (*bots, "broken"):
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        assert site.post(f"{path}/start", form, cookie=cookie).status == 303
        eventually(lambda: "finished" in site.get(path).text)
    rounds = site.get(f"{path}?tab=rounds").text
    assert "Round 2" in rounds
    assert "Round 1" in rounds
    assert "round</span> 2</th>" in site.get(f"{path}?tab=chart").text
    text = site.get(path).text
    faults = text.partition('id="faults"')[2].partition("</section>")[0]
    assert faults.count("illegal move") == 4
    statistics = site.get("/bots/broken").text.partition('id="endings"')[2]
    assert re.search(r"illegal move</th><td[^>]*>0</td><td[^>]*>0</td><td[^>]*>4<", statistics)


def test_a_bots_page_has_results_by_opponent_endings_and_times(site: Site) -> None:
    text = site.get("/bots/pascal").text
    row = text.partition('<a href="/bots/pascal/against/random">')[2].partition("</tr>")[0]
    numbers = [
        int(number) for number in re.findall(r"\d+", " ".join(re.findall(r'<td class="spare">([\d /]+)</td>', row)))
    ]
    assert (len(numbers), sum(numbers[:3]), sum(numbers[3:])) == (6, 4, 4)
    assert "How its newest 8 games ended" in text
    assert re.search(r"median</dt><dd>[\d.]+ (µs|ms|s)</dd>", text)


def test_accuracy_is_shown_with_its_decisions_from_30_on() -> None:
    with serving(heartbeat=60.0, grace=60.0) as server, site_of(server.address) as site:

        def judged_counts(games: int) -> dict[str, tuple[int, int]]:
            """Return the decisions and blunders of each bot, once the server has judged all these games."""
            server.match("pascal", "random", games=games, seed=3)

            def rows() -> list[dict[str, Any]]:
                rows_found: list[dict[str, Any]] = site.get("/api/v1/leaderboards/tictactoe/untimed").document["rows"]
                return rows_found

            rows_found = eventually(
                rows, lambda rows: rows and all(row["judged_games"] == row["games"] for row in rows)
            )
            return {row["bot"].removeprefix("bots/"): (row["decisions"], row["blunders"]) for row in rows_found}

        assert all(0 < decisions < 30 for decisions, _ in judged_counts(8).values())
        for bot in ("pascal", "random"):
            assert "Accuracy unknown (fewer than 30 decisions)" in site.get(f"/bots/{bot}").text
        assert ">accuracy</th>" not in site.get("/leaderboard").text
        for bot, (decisions, blunders) in judged_counts(60).items():
            assert decisions >= 30
            share = f"{100 * (1 - blunders / decisions):.1f} %"
            assert f"Accuracy {share}: {blunders} blunder" in site.get(f"/bots/{bot}").text
            assert f">{share} of {decisions}</td>" in site.get("/leaderboard").text
        assert "<i>Accuracy</i> is the share of decisions" in site.get("/leaderboard").text


def test_the_page_of_a_bot_links_to_the_leaderboard_that_has_its_rank(site: Site) -> None:
    rank, link = re.findall(r'Rank (\d+) by <a href="([^"]+)">', site.get("/bots/random").text)[0]
    board = site.get(link.replace("&amp;", "&")).text
    assert "Live Elo (game by game)</caption>" in board
    assert re.search(rf'data-value="{rank}">{rank}</td><th scope="row" title="random">', board)


def test_bots_are_searched_by_name(site: Site) -> None:
    assert "/bots/pascal" in site.get("/bots?search=PASC").text
    assert "No bot has zzz in its name" in site.get("/bots?search=zzz").text
    assert "No bot in this list matches the filters" in site.get("/leaderboard?search=zzz").text


def test_long_standings_are_split_into_pages(site: Site, cup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament, "_ROWS_OF_STANDINGS", 1)
    first, second = (site.get(f"/{cup}{query}").text for query in ("?tab=standings", "?tab=standings&row=2"))
    assert ">Next<" in first
    assert ">Previous<" in second
    standings = [text.partition('id="standings"')[2].partition("</section>")[0] for text in (first, second)]
    assert sorted(re.search(r'"/bots/([a-z]+)"', part)[1] for part in standings) == ["pascal", "random"]  # type: ignore[index]
    assert site.get(f"/{cup}?row=x").status == 200


class SameCellBot(Bot):
    """A bot that always plays cell 0, also if it is taken."""

    def choose(self, position: Position) -> int:
        return 0


class OneStatusServer(grpc.GenericRpcHandler):
    """A gRPC server that answers every call with one status, or not at all."""

    def __init__(self, code: grpc.StatusCode | None) -> None:
        self._code = code

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        async def answer(request: bytes, context: Any) -> bytes:
            if self._code is not None:
                await context.abort(self._code, "so it is")
            await asyncio.sleep(PATIENCE)
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@asynccontextmanager
async def server_with_status(code: grpc.StatusCode | None) -> AsyncIterator[str]:
    """The address of a server that answers every call with this status; None: it does not answer."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((OneStatusServer(code),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


@pytest.mark.parametrize(
    "code, status, words",
    [
        (grpc.StatusCode.UNAUTHENTICATED, 401, "so it is"),
        (grpc.StatusCode.PERMISSION_DENIED, 403, "so it is"),
        (grpc.StatusCode.FAILED_PRECONDITION, 409, "so it is"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, 429, "so it is"),
        (grpc.StatusCode.UNIMPLEMENTED, 501, "Its version differs"),
        (grpc.StatusCode.INTERNAL, 502, "so it is"),
        (grpc.StatusCode.UNAVAILABLE, 503, "cannot be reached"),
        (None, 504, "did not answer"),
    ],
)
def test_every_status_of_the_server_has_a_page(
    code: grpc.StatusCode | None, status: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_module, "DEADLINE_SECONDS", 0.5)
    with open_in_thread(server_with_status(code)) as address, site_of(address) as site:
        page = site.get("/bots")
        document = site.get("/api/v1/bots")
    assert (page.status, document.status, document.document["error"]["status"]) == (status, status, status)
    assert words in page.text
    assert "Start page" in page.text


def test_an_internal_error_of_the_site_has_a_page_without_details(
    server: ServerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    with site_of(server.address) as site:
        monkeypatch.setattr(bots, "list_page", fail)
        answer = site.get("/bots")
    assert answer.status == 500
    assert "An internal error occurred." in answer.text
    assert "secret" not in answer.text


@pytest.mark.parametrize("path", ["/tournaments/cup/start", "/tournaments/cup/games.png", "/challenges", "/signout"])
def test_address_of_a_form_is_not_a_page(site: Site, path: str) -> None:
    answer = site.get(path)
    assert answer.status == 404
    assert "There is no such page." in answer.text


def test_form_sent_to_a_read_only_page_is_refused(site: Site) -> None:
    answer = site.post("/bots", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert "This address is read-only." in answer.text


def test_openings_of_a_game_are_those_of_its_rating_list(site: Site, server: ServerUnderTest) -> None:
    # Other tests do not play this variant.
    server.match("random", "first-free", variant="caro", time="20+0.1")
    (name,) = (
        each["name"] for each in site.get("/api/v1/tournaments").document["tournaments"] if each["variant"] == "caro"
    )
    first, second, *_ = site.get(f"/api/v1/{name}/games/1").document["game"]["moves"]
    link = f"/explorer?variant=caro&amp;time_class=bullet&amp;moves={first},{second}"
    assert f'href="{link}"' in site.get(f"/{name}/games/1?ply=2").text


def test_the_opening_explorer_leads_through_positions_without_scripts(site: Site) -> None:
    # Other tests do not play this variant.
    route = "/api/v1/leaderboards/connect4/untimed/openings"
    openings = eventually(lambda: site.get(route).document, lambda answer: answer["moves"] and not answer["waiting"])
    page = site.get("/explorer?variant=connect4").text
    games = sum(sum(move["score"].values()) for move in openings["moves"])
    assert f"{games} games" in page
    assert "Games with this position" in page
    for move in openings["moves"]:
        for cell in move["cells"]:
            link = f"/explorer?variant=connect4&amp;time_class=untimed&amp;moves={cell}"
            assert f'href="{link}"' in page
    page_after_two_moves = site.get("/explorer?variant=tictactoe&moves=4,0").text
    assert re.findall(r"<li><a [^>]*>(\d\. \w\d)</a>", page_after_two_moves) == ["1. b2", "2. a3"]
    as_csv = site.get(f"{route}?format=csv").text
    assert as_csv.startswith("cells,score_wins,score_draws,score_losses\r\n")
    # A list without games gives way to one that has some.
    assert "Connect Four, no clock" in site.get("/explorer?variant=connect4&time_class=bullet").text
    page_of_ended_game = site.get("/explorer?variant=tictactoe&moves=0,3,1,4,2").text
    assert "/explorer?variant=tictactoe&amp;time_class=untimed&amp;moves=0,3,1,4,2," not in page_of_ended_game
    for moves in ("4,4", "9", "x", "1,2,3,4,5,6,7,8,0,1,2,3,4"):
        assert site.get(f"/explorer?variant=tictactoe&moves={moves}").status == 400
    assert site.get("/explorer?variant=nothing").status == 400
