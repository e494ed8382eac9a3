"""Tournaments as events: before the start, after the end, in lists, and followed by notifications."""

import gzip
import json
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, expect

from noughts_server.core.messages import in_language
from noughts_server.testing import ServerUnderTest
from noughts_server.web.languages import languages
from noughts_server.web.signin import Visitor
from noughts_server.web.stories import place, sentences
from noughts_server.web.words import and_words, month, until
from tests.server.web.test_every_page import accessibility_errors
from tests.server.web.test_live_games_of_a_tournament import Waiting
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.browser import page_in
from tests.support.processes import eventually
from tests.support.site import Site

PHONE, DESKTOP = (390, 844), (1280, 900)


class Organiser:
    """An owner who uses the forms of the website."""

    def __init__(self, server: ServerUnderTest, site: Site, owner: str) -> None:
        self.address, self.token = server.address, server.token(owner)
        self._site = site
        self._cookie = f"noughts_token={self.token}"

    def send(self, path: str, **fields: str) -> str:
        """Send a form, and return where its answer leads."""
        answer = self._site.post(path, {"csrf": Visitor(self.token).csrf, **fields}, cookie=self._cookie)
        assert answer.status == 303, answer.text
        return answer.headers["location"]

    def finish(self, slug: str, bots: dict[str, str], **fields: str) -> str:
        """Play a tournament of these bots to its end, and return its path. Its games are the same each time."""
        with in_other_thread(bots_online(self.address, self.token, **bots)):
            path = self.send("/organise", id=slug, seed="7", **fields)
            for bot in bots:
                self.send(f"{path}/join", bot=f"bots/{bot}")
            self.send(f"{path}/start")
            eventually(lambda: self._site.get(f"/api/v1{path}").document["state"] == "finished")
        return path


@pytest.fixture(scope="module")
def lea(server: ServerUnderTest, site: Site) -> Organiser:
    return Organiser(server, site, "lea")


@pytest.fixture(scope="module")
def swiss(lea: Organiser) -> str:
    """The path of a finished Swiss, which the strongest bot won."""
    bots = {
        "told-strong": "minimax",
        "told-b": "first-free",
        "told-c": "random",
        "told-d": "random",
        "told-e": "random",
    }
    return lea.finish("told", bots, title="Told", schedule="swiss", rounds="3", rated="on")


def words_of(story: str) -> list[str]:
    return re.findall(r"<b>([^<]+)</b>", story.partition('id="story"')[2].partition("</section>")[0])


@pytest.mark.processes
def test_finished_tournament_tells_its_story_with_boards(site: Site, browser: Browser, swiss: str) -> None:
    tournament = site.get(f"/api/v1{swiss}?show_story=true").document
    text = site.get(swiss).text
    assert words_of(text)[-2:] == ["Longest game", "Shortest win"]
    for field in ("longest_game", "shortest_game"):
        assert f'<a href="{swiss}/games/{tournament["story"][field]}"><svg class="thumb' in text
    assert tournament["winners"][0] in text.partition('class="champion"')[2].partition("</section>")[0]
    assert site.get(swiss).headers["etag"] == site.get(swiss).headers["etag"]
    # Other tabs do not compute it.
    assert 'id="story"' not in site.get(f"{swiss}?tab=standings").text
    # The story is next to the first places.
    assert text.index('<ol class="steps">') < text.index('id="story"') < text.index('id="last"')
    with page_in(browser, site.address) as page:
        for width, height in (PHONE, DESKTOP):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(swiss)
            expect(page.locator(".steps li")).to_have_count(3)
            widths = "cards => cards.map((card) => Math.round(card.getBoundingClientRect().width))"
            assert len(set(page.locator(".story li").evaluate_all(widths))) == 1
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert accessibility_errors(page) == []
            page.emulate_media(color_scheme="dark")
            assert accessibility_errors(page) == []
            page.emulate_media(color_scheme="light")


@pytest.mark.processes
def test_bots_that_share_a_place_stand_on_one_step(lea: Organiser, site: Site) -> None:
    # The first side wins each game.
    bots = {f"same-{letter}": "first-free" for letter in "abcd"}
    text = site.get(lea.finish("same", bots, schedule="round_robin", games_per_pair="2")).text
    podium = text.partition('<ol class="steps">')[2].partition("</ol>")[0]
    assert re.findall(r'<li class="(step-\d)"', podium) == ["step-1"]
    assert len(re.findall(r'<a href="/bots/same-\w"', podium)) == 3
    assert "and 1 other" in podium
    assert "Shared first place:" in text


@pytest.mark.processes
def test_a_level_knockout_says_what_decided_it_and_ranks_by_points(lea: Organiser, site: Site) -> None:
    bots = {f"even-{letter}": "first-free" for letter in "abcd"}
    path = lea.finish("even", bots, schedule="knockout", games_per_pair="2")
    text = site.get(path).text
    assert len(re.findall(r"games</a>,\s+level: higher seed", text)) == 3
    heads = [
        re.findall(r'<th scope="col"[^>]*>([\w#]+)</th>', page.partition('id="standings"')[2].partition("</thead>")[0])
        for page in (text, site.get(f"{path}?tab=standings").text)
    ]
    assert heads[0] == ["#", "bot", "reached", "points"]
    assert heads[1].index("points") > heads[1].index("lost")


@pytest.mark.processes
def test_knockout_tells_of_its_final(lea: Organiser, site: Site) -> None:
    bots = {"last-a": "minimax", "last-b": "first-free", "last-c": "random", "last-d": "random"}
    path = lea.finish("last", bots, schedule="knockout")
    text = site.get(path).text
    assert [title for title in words_of(text) if title != "Biggest upset"][:1] == ["Decided in the final"]
    final = site.get(f"/api/v1{path}/crosstable").document["matches"][-1]
    loser = final["second"] if final["winner"] == final["first"] else final["first"]
    assert f"{final['winner']} beat {loser} by " in text
    # A score never breaks at its dash.
    (score,) = re.findall(r"won the final <span class=\"keep\">([\d½]+–[\d½]+)</span>", text)
    assert "by " + score.replace("–", "–\N{WORD JOINER}") in text


@pytest.mark.processes
def test_open_tournament_counts_down_to_its_start(lea: Organiser, site: Site, browser: Browser) -> None:
    start = datetime.now(UTC).replace(second=0) + timedelta(days=3, hours=5, minutes=30)
    path = lea.send(
        "/organise", id="soon-open", schedule="swiss", start_at=f"{start:%Y-%m-%dT%H:%M}", entries_max="32", bank=""
    )
    text = site.get(path).text.partition('id="before"')[2].partition("</section>")[0]
    assert "3\u00a0d\u00a05\u00a0h</b>" in text
    assert "0 of 32</b>" in text
    assert "at least 2 are needed" in text
    assert "<b>1</b>" in text.partition("Rounds")[2]
    assert "open until the start" in text
    row = site.get("/tournaments").text.partition('id="upcoming"')[2].partition("soon-open")[2]
    assert "0 of 32" in row
    assert "3\u00a0d\u00a05\u00a0h</b>" in row
    with page_in(browser, site.address) as page:
        page.clock.install(time=start - timedelta(minutes=2, seconds=5))
        page.goto(path)
        countdown = page.locator("[data-until]")
        before = countdown.text_content()
        page.clock.run_for(2000)
        expect(countdown).to_have_text(re.compile(r"^1 min \d\d s$"))
        assert countdown.text_content() != before
        page.clock.run_for(130_000)
        expect(countdown).to_have_text("a moment")
    lea.send(f"{path}/cancel")


@pytest.mark.processes
def test_list_of_tournaments_has_winners_and_an_archive(
    site: Site, browser: Browser, lea: Organiser, swiss: str
) -> None:
    lea.send(f"{lea.send('/organise', id='never', schedule='swiss')}/cancel")
    tournament = site.get(f"/api/v1{swiss}").document
    page_text = site.get("/tournaments").text
    finished = page_text.partition('id="finished"')[2].partition("</section>")[0]
    row = finished.partition(f'href="{swiss}"')[2].partition("</tr>")[0]
    assert f"<b>{and_words(tournament['winners'])}</b>" in row
    assert '<td class="number" data-word="bots">5</td>' in row
    ended = tournament["end_time"][:7]
    address = f"/tournaments?month={ended}"
    ended_then = [
        each["state"]
        for each in site.get("/api/v1/tournaments?page_size=250").document["tournaments"]
        if (each["end_time"] or "").startswith(ended)
    ]
    assert "cancelled" in ended_then
    # The page of the month has as many rows as the archive says, also for tournaments that were cancelled.
    link = (
        rf'<a href="{re.escape(address)}">{month(ended)}</a> <span\s+class="note">{len(ended_then)} tournaments</span>'
    )
    assert re.search(link, page_text)
    archive = site.get(address).text
    assert f'href="{swiss}"' in archive
    assert archive.count('<th scope="row"') == len(ended_then)
    assert f"Tournaments that ended in {month(ended)}." in archive
    assert f'href="{swiss}"' not in site.get("/tournaments?month=2001-01").text
    assert site.get("/tournaments?month=2001").status == 400
    with page_in(browser, site.address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/tournaments")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert accessibility_errors(page) == []


@pytest.mark.processes
def test_list_has_cancelled_tournaments_among_those_that_ended(lea: Organiser, site: Site) -> None:
    path = lea.send("/organise", id="called-off", schedule="round_robin", bank="")
    lea.send(f"{path}/cancel")
    text = site.get("/tournaments").text
    row = text.partition('id="finished"')[2].partition(f'href="{path}"')[2].partition("</tr>")[0]
    assert 'class="state cancelled"' in row
    assert 'data-word="winner"' not in row
    games = site.get(f"{path}/games").text
    assert "No game was played." in games
    assert "data-filters" not in games


@pytest.mark.processes
def test_paused_tournaments_are_not_among_the_live_ones(lea: Organiser, site: Site) -> None:
    path = lea.send("/organise", id="resting", schedule="round_robin", bank="")
    bots = ("rest-a", "rest-b")
    with in_other_thread(bots_online(lea.address, lea.token, **dict.fromkeys(bots, "random"))):
        pass
    # The bots are offline, so no game begins.
    for bot in bots:
        lea.send(f"{path}/join", bot=f"bots/{bot}")
    lea.send(f"{path}/start")
    lea.send(f"{path}/pause")
    live, _, others = site.get("/tournaments").text.partition('id="paused"')
    assert f'href="{path}"' not in live
    assert f'href="{path}"' in others.partition("</section>")[0]
    lea.send(f"{path}/cancel")


@pytest.mark.processes
def test_every_tournament_that_has_begun_has_its_stage_in_the_list(lea: Organiser, site: Site) -> None:
    bots = ("stage-a", "stage-b")
    with in_other_thread(bots_online(lea.address, lea.token, **dict.fromkeys(bots, "random"))):
        pass
    paths = [lea.send("/organise", id=f"stage-{number}", schedule="knockout", bank="") for number in range(12)]
    for path in paths:
        for bot in bots:
            lea.send(f"{path}/join", bot=f"bots/{bot}")
        lea.send(f"{path}/start")
    running, _, others = site.get("/tournaments").text.partition('id="running"')[2].partition("</section>")
    assert running.count("<b>Final</b> · 0 of 1 match</span>") == 12
    assert running.count('max="1" value="0"') == 12
    assert running.index(f'href="{paths[-1]}"') < running.index(f'href="{paths[0]}"')
    assert "No tournament is scheduled." in others
    for path in paths:
        lea.send(f"{path}/cancel")


@pytest.mark.processes
def test_list_names_the_leader_of_a_tournament_that_has_begun(lea: Organiser, site: Site) -> None:
    path = lea.send("/organise", id="led", schedule="round_robin", bank="", games_per_pair="1000000")
    bots = ("led-a", "led-b")
    with in_other_thread(bots_online(lea.address, lea.token, **dict.fromkeys(bots, "random"))):
        for bot in bots:
            lea.send(f"{path}/join", bot=f"bots/{bot}")
        lea.send(f"{path}/start")
        eventually(lambda: site.get(f"/api/v1{path}").document["games_done"])
        lea.send(f"{path}/pause")

    def names_the_leader() -> bool:
        standings = site.get(f"/api/v1{path}").document["standings"]
        leaders = [row["label"] for row in standings if row["rank"] == 1]
        row = site.get("/tournaments").text.partition(f'href="{path}"')[2].partition("</tr>")[0]
        return f'data-word="leader">{and_words(leaders)}</td>' in row

    eventually(names_the_leader)
    lea.send(f"{path}/cancel")


# A browser without a window says that notifications are denied, also if the context has granted them.
RECORD = """
window.shown = [];
const Real = window.Notification;
window.Notification = class extends Real {
  static permission = "granted";
  constructor(title, options) { super(title, options); window.shown.push([title, options.body]); }
};
"""


@pytest.mark.processes
def test_followed_tournament_notifies_at_start_and_end(lea: Organiser, site: Site, browser: Browser) -> None:
    path = lea.send("/organise", id="followed", title="Followed cup", schedule="round_robin", bank="")
    allowed = threading.Event()
    bots = {"follow-a": Waiting(allowed), "follow-b": Waiting(allowed)}
    with in_other_thread(bots_online(lea.address, lea.token, **bots)):
        for bot in bots:
            lea.send(f"{path}/join", bot=f"bots/{bot}")
        with page_in(browser, site.address, permissions=["notifications"]) as page:
            page.add_init_script(RECORD)
            page.clock.install()
            page.route("**/featured/events", lambda route: route.abort())
            page.goto(path)
            button = page.get_by_role("button", name="Follow")
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")
            page.goto("about:blank")
            page.unroute_all()
            lea.send(f"{path}/start")
            # Another page of the site listens, too, after a refusal. Its first news of the tournament is that it has
            # begun. It asks again for a state that it did not get.
            page.route("**/featured/events", lambda route: route.fulfill(status=503), times=1)
            page.route(f"**/api/v1{path}", lambda route: route.fulfill(status=503), times=1)
            page.goto("/bots")
            eventually(lambda: '"":"other"' in page.evaluate("localStorage['followed-states']"))
            page.clock.fast_forward("01:00")
            eventually(lambda: ["Followed cup has begun", ""] in page.evaluate("shown"))
            allowed.set()

            def is_told_of_the_end() -> bool:
                # A tournament that ends in an instant can be missing in the feed: then the page notices its end within
                # a minute.
                page.clock.fast_forward("01:00")
                return "Followed cup has ended" in [title for title, _ in page.evaluate("shown")]

            eventually(is_told_of_the_end)
            winners = site.get(f"/api/v1{path}").document["winners"]
            assert page.evaluate("shown")[1:] == [["Followed cup has ended", f"Winner: {', '.join(winners)}"]]
            # What was shown is not shown again.
            page.reload()
            page.goto(path.replace("followed", "told"))
            assert page.evaluate("shown") == []
            assert json.loads(page.evaluate("localStorage['followed-states']"))["tournaments/followed"] == "finished"


@pytest.mark.processes
def test_blocked_notifications_are_explained(lea: Organiser, site: Site, browser: Browser) -> None:
    path = lea.send("/organise", id="blocked", schedule="round_robin", bank="")
    with page_in(browser, site.address) as page:
        page.add_init_script("Notification.requestPermission = async () => 'denied';")
        page.goto(path)
        page.get_by_role("button", name="Follow").click()
        expect(page.locator(".follow [role=status]")).to_have_text("Your browser blocks notifications of this site.")
        assert page.evaluate("localStorage.getItem('followed')") is None


@pytest.mark.processes
def test_event_pages_are_small_with_all_that_they_load(site: Site, swiss: str) -> None:
    for path in (swiss, "/tournaments"):
        answer = site.get(path)
        files = re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text)
        size = len(gzip.compress(answer.body)) + sum(len(gzip.compress(site.get(file).body)) for file in set(files))
        assert size < 60_000, path


def test_times_months_and_places_are_put_into_words() -> None:
    now = datetime.now(UTC)
    assert [until((now + timedelta(seconds=seconds)).isoformat()) for seconds in (-5, 59, 3 * 3600 + 30, 200_000)] == [
        "",
        "1\u00a0min",
        "3\u00a0h\u00a01\u00a0min",
        "2\u00a0d\u00a07\u00a0h",
    ]
    assert month("2026-03") == "March 2026"
    assert [place(number) for number in (1, 2, 3, 4, 11, 22, 113)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "22nd",
        "113th",
    ]
    assert and_words(["a"]) == "a"
    assert and_words(["a", "b", "c"]) == "a, b and c"
    assert and_words(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 others"


def test_story_names_ties_and_the_last_lead() -> None:
    story = {
        "upset_game": 0,
        "lead_changes": 2,
        "lead_game": 7,
        "lead_round": 3,
        "decided_game": 0,
        "longest_game": 0,
        "shortest_game": 0,
    }
    rows = [{"label": "a", "rank": 1, "tie_break": None}, {"label": "b", "rank": 2, "tie_break": "wins"}]
    tournament = {"story": story, "schedule": "swiss", "sprt": "", "standings": rows, "games_done": 9}
    game = {"name": "tournaments/x/games/7"}
    assert [sentence.text for sentence in sentences(tournament, [], {7: game})] == [
        "The lead changed twice. a was ahead for good from round 3 on.",
        "a and b have the same points; a is first by wins.",
    ]
    with in_language(languages()["cs"]):
        lead, _ = sentences(tournament, [], {7: game})
    assert lead.text == "Vedení se změnilo dvakrát. Od kola 3 trvale vedl bot a."
    shared = [{**row, "rank": 1} for row in rows]
    assert [each.text for each in sentences({**tournament, "standings": shared}, [], {})] == ["The lead changed twice."]
