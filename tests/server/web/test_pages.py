"""Pages of the website: what each shows, without a browser."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from noughts_bots import Bot, Position
from noughts_server.core.board_geometry import geometry
from noughts_server.drawing.charts import rating_line
from noughts_server.testing import ServerUnderTest, serving
from noughts_server.web.pages import explorer, tournament
from noughts_server.web.score_interval import score_interval
from noughts_server.web.signin import Visitor
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site, live_game, site_of


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
        "": "Elo ratings, updated after each game",  # eight games are too few for a fit
        "fit": "ratings computed from all games together",
    }.items():
        text = site.get(f"/leaderboard?variant=tictactoe&view={view}").text
        assert f"Noughts and crosses, no clock: {words}" in text
        assert f"/api/v1/leaderboards/tictactoe/untimed?view={view or 'live'}&amp;format=csv" in text
    page = site.get("/leaderboard?variant=tictactoe&view=fit").text
    assert re.search(r'data-value="1">1 <small class="muted">\(1–\d+\)</small>', page)
    rows = site.get("/api/v1/leaderboards/tictactoe/untimed?format=csv&view=fit").text.splitlines()
    assert ",view_rating,view_error95,rank_low,rank_high," in rows[0]
    assert site.get("/leaderboard?view=elo").status == 400


@pytest.mark.parametrize(
    "path, table",
    [
        ("/tests?owner=ann&state=running", "/api/v1/tests?"),
        ("/tunings?owner=ann&state=running", "/api/v1/tunings?"),
        ("/tournaments?owner=ann&state=running", "/api/v1/tournaments?"),
        ("/tournaments?challenges=true&owner=ann&state=running", "/api/v1/tournaments?challenges=true&amp;"),
    ],
)
def test_lists_are_exported_with_their_filters(site: Site, path: str, table: str) -> None:
    assert f'href="{table}owner=ann&amp;state=running&amp;format=csv"' in site.get(path).text


def test_leaderboards_are_exported_with_their_filters(site: Site) -> None:
    page = site.get("/leaderboard?variant=tictactoe&min_games=1").text
    assert 'href="/api/v1/leaderboards/tictactoe/untimed?min_games=1&amp;view=live&amp;format=csv"' in page


def test_old_names_of_filters_redirect_to_the_new_ones(site: Site) -> None:
    redirect = site.get("/leaderboard?variant=tictactoe&online=true&sure=true&search=pascal")
    assert redirect.status == 308
    new_address = "/leaderboard?variant=tictactoe&online_only=true&exclude_provisional=true&search=pascal"
    assert redirect.headers["location"] == new_address
    assert 'name="online_only" value="true" checked' in site.get(new_address).text
    assert site.get("/bots?online=true").headers["location"] == "/bots?online_only=true"


def test_page_of_a_game_says_how_its_opening_was_agreed(server: ServerUnderTest, site: Site) -> None:
    server.match("fives", "random", variant="gomoku+swap2", games=1)
    tournaments = site.get("/api/v1/tournaments").document["tournaments"]
    name = next(tournament["name"] for tournament in tournaments if tournament["variant"] == "gomoku+swap2")
    agreement = site.get(f"/api/v1/{name}/games/1").document["game"]["agreement"]
    words = re.search('<p id="opening" class="note">(.*?)</p>', site.get(f"/{name}/games/1").text)
    assert words
    assert words[1].startswith(f"Swap2: {agreement['opener']} put the first three stones")
    assert ("added two" in words[1]) == (agreement["stones"] == 5)


def test_the_start_page_works_without_scripts(server: ServerUnderTest, site: Site) -> None:
    server.match("fives", "random", variant="gomoku", time="60+0", games=1)
    server.match("random", "first-free", variant="mnk:3,3,1", games=1)
    with live_game(server, site) as game:
        game.play(0, 3)
        eventually(lambda: f'data-live="{game.name}"' in site.get("/").text)
        eventually(lambda: "Move 2" in site.get("/").text)
        text = site.get("/").text
        assert f'<a href="/{game.name}">Watch this game</a>' in text
        assert re.search(r'class="rating">1[45]\d\d\??<', text)
        assert re.search(r"Longest game · [^<]+, \d+ moves<", text)
        assert re.search("moves? a second", text.partition("<footer>")[2])
        game.play(1, 4, 2)


def test_a_new_server_says_what_to_do_next() -> None:
    with (
        serving() as fresh,
        site_of(fresh.address, token=fresh.token("site")) as site,
        ThreadPoolExecutor(4) as pool,
    ):
        home, tournaments, leaderboard, bots = pool.map(site.get, ("/", "/tournaments", "/leaderboard", "/bots"))
        # One step for a visitor, an author and an organiser, and nothing that is empty.
        assert re.findall("<h2>([^<]+)</h2>", home.text) == ["Play a bot", "Enter your bot", "New tournament"]
        assert 'href="/signin?next=/organise">New tournament</a>' in home.text
        assert 'class="empty"' not in home.text
        assert "noughts tournament create" in tournaments.text
        assert "has been played yet" in leaderboard.text
        assert "noughts bot run" in bots.text
        assert site.get("/tournaments?challenges=true").status == 200


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


def test_the_band_of_a_rating_line_is_inside_its_picture() -> None:
    line = rating_line([rating_point(games, 1500.0, 600.0 / games) for games in range(1, 9)])
    assert line is not None
    [band] = re.findall(r'class="band" d="M(.*?)Z"', line.svg)
    heights = [float(point.split()[1]) for point in band.split("L")]
    # A value at the edge would be cut.
    assert 12 < min(heights) < max(heights) < 192


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
    assert "How its games ended" in text
    assert re.search(r"median</dt><dd>[\d.]+\s(µs|ms|s)</dd>", text)


def test_accuracy_is_shown_with_its_decisions_from_30_on() -> None:
    with serving(heartbeat=60.0, reconnect_timeout=60.0) as server, site_of(server.address) as site:

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
        assert ">accuracy<br>" not in site.get("/leaderboard").text
        for bot, (decisions, blunders) in judged_counts(60).items():
            assert decisions >= 30
            share = f"{100 * (1 - blunders / decisions):.1f} %"
            assert f"Accuracy {share}: {blunders} mistake" in site.get(f"/bots/{bot}").text
            assert f'>{share} <span class="muted">({decisions})</span></td>' in site.get("/leaderboard").text
        assert "<i>Accuracy</i> is the share of decisions" in site.get("/leaderboard").text


def test_the_page_of_a_bot_links_to_the_leaderboard_that_has_its_rank(site: Site) -> None:
    rank, link = re.findall(r'Rank (\d+) in the <a href="([^"]+)">', site.get("/bots/random").text)[0]
    board = site.get(link.replace("&amp;", "&")).text
    assert "Elo ratings, updated after each game</caption>" in board
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


def test_openings_of_a_game_are_those_of_its_rating_list(site: Site, server: ServerUnderTest) -> None:
    # Other tests do not play this variant.
    server.match("random", "first-free", variant="caro", time="20+0.1")
    tournaments = site.get("/api/v1/tournaments").document["tournaments"]
    [name] = [tournament["name"] for tournament in tournaments if tournament["variant"] == "caro"]
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
    assert "of 2 games" not in page  # the list has all
    assert re.search('<td class="at">(1–0|0–1|½–½)</td>', page)
    assert '<table class="wide pieces plate"' in page
    for move in openings["moves"]:
        for cell in move["cells"]:
            link = f"/explorer?variant=connect4&amp;time_class=untimed&amp;moves={cell}"
            assert f'href="{link}"' in page
    # The first of equal cells has the number of all of them, and the others repeat it in pale.
    assert page.count('class="chip"') == len(openings["moves"])
    mirror_images = sum(len(move["cells"]) - 1 for move in openings["moves"])
    assert page.count('class="chip mirrored"') == mirror_images > 0
    assert "Pale numbers: its mirror images, which count as the same move." in page
    assert "Rarer moves have no number." not in page
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "_LEAST_SHARE", 2.0)  # each move is too rare
        assert 'class="chip"' not in site.get("/explorer?variant=connect4").text
    assert re.search(r'href="/leaderboard" aria-current="true"', page)
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
