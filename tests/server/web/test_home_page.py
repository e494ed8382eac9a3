"""The home page of a busy server: what the tiles of its running tournaments say, and how large the page is."""

import asyncio
import gzip
import re

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import bots_pb2, leaderboards_pb2, tournaments_pb2, types_pb2
from noughts_server.testing import ServerUnderTest
from noughts_server.web.app import static_files
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.pages import front_page
from noughts_server.web.pages.front_page import FrontPage, latest_results, upcoming_starts
from noughts_server.web.running_stages import Climber, Matches, Round, RunningStage
from noughts_server.web.upstream import Upstream
from noughts_server.web.words import number
from tests.server.web.home_scene import ended, home_content, home_page, live, moves_on, tournament
from tests.server.web.test_delivery import Links, files_of

HEAVIEST_HOME = 40_000
"""Bytes of the page with all that it loads, compressed."""
CELLS = 15 * 15
BLITZ = types_pb2.TimeControl(bank_us=60_000_000, increment_us=1_000_000)


def busy_server() -> Document:
    """Return a page with all its parts: six running tournaments, and boards of gomoku with many stones."""
    bots = [
        f"{name}-{number}" for name in ("threat-search", "alphabeta", "mcts-gomoku", "five") for number in range(1, 5)
    ]
    points = {bot: (37 - at) / 2 for at, bot in enumerate(bots)}
    running = [
        tournament("spring-knockout", points, tournaments_pb2.SCHEDULE_KNOCKOUT, title="Spring knockout", time=BLITZ),
        tournament(
            "world-swiss", points, tournaments_pb2.SCHEDULE_SWISS, title="Swiss of the world", rounds=5, time=BLITZ
        ),
        tournament("ladder", points, tournaments_pb2.SCHEDULE_LADDER, title="Ladder of gomoku", time=BLITZ),
        tournament("match", {"alphabeta-1": 7.5, "mcts-gomoku-1": 4.5}, title="alphabeta against mcts", time=BLITZ),
        tournament("league-of-march", points, title="League of March", time=BLITZ),
        tournament("gauntlet", points, tournaments_pb2.SCHEDULE_GAUNTLET, title="All against alphabeta", time=BLITZ),
    ]
    stages = {
        "tournaments/spring-knockout": RunningStage(Round(2, 4, is_knockout=True), Matches(9, 15)),
        "tournaments/world-swiss": RunningStage(Round(2, 5)),
        "tournaments/ladder": RunningStage(climber=Climber("bots/five-1", 40.0)),
    }
    live_games = [live(each, 61, moves_on(CELLS, 60, seed)) for seed, each in enumerate(running[:4])]
    clock = {"first_time": BLITZ, "second_time": BLITZ}
    ended_games = [
        ended(running[4], 1, moves_on(CELLS, 75, 11), termination=types_pb2.TERMINATION_BOARD_FULL, winning_cells=[]),
        ended(running[4], 2, moves_on(CELLS, 60, 12), result=types_pb2.RESULT_SECOND_WINS),
        ended(running[4], 3, moves_on(CELLS, 55, 13)),
        ended(running[4], 4, moves_on(CELLS, 61, 14), times_us=[2_900_000] * 61, **clock),
    ]
    ended_games[1]["second"] = bots[-1]  # an upset
    opened = [
        tournament(
            f"autumn-{number}", points, title=f"Autumn cup {number}", state=tournaments_pb2.TOURNAMENT_STATE_OPEN
        )
        for number in range(4)
    ]
    for each in opened:
        each.start_at.FromJsonString("2100-01-01T12:00:00Z")
    rows = [
        leaderboards_pb2.LeaderboardRow(rank=at + 1, bot=f"bots/{bot}", rating=1800 - at) for at, bot in enumerate(bots)
    ]
    best = [
        leaderboards_pb2.GetLeaderboardResponse(rating_list=name, rows=rows[at : at + 3])
        for at, name in enumerate(("gomoku/blitz", "connect4/untimed", "tictactoe/bullet"))
    ]
    seeking = [bots_pb2.Bot(name=f"bots/{bot}", seek=types_pb2.Seek(variant="gomoku", time=BLITZ)) for bot in bots[-4:]]
    results = [
        tournament(
            f"winter-{number}",
            points,
            title=f"Winter cup {number}",
            state=tournaments_pb2.TOURNAMENT_STATE_FINISHED,
            winners=[bots[number]],
        )
        for number in range(6)
    ]
    for each in results:
        each.end_time.FromJsonString("2026-03-01T18:00:00Z")
    return home_content(running, live_games, ended_games, stages, opened, best, seeking, results)


@pytest.mark.parametrize("language", ["en", "cs", "zh"])
async def test_home_page_of_a_busy_server_is_small_with_all_that_it_loads(language: str) -> None:
    content = busy_server()
    page = await home_page(content, language)
    assert page.count('class="small-game') == 7
    assert page.count('<svg class="board stones"') == 8
    assert len(re.findall("<li data-name=", page)) == 6
    # Low screens show only four of them.
    assert 'href="/tournaments?state=running"' in page
    contents = {name: body for name, (_kind, body) in static_files()[1].items()}
    files = files_of(Links(page), contents)
    assert "home.js" in files
    sizes = {name: len(gzip.compress(contents[name])) for name in files} | {"page": len(gzip.compress(page.encode()))}
    assert sum(sizes.values()) <= HEAVIEST_HOME, sorted(sizes.items(), key=lambda each: -each[1])


def tile(page: str) -> str:
    """Return the text of the only tile of a running tournament, without its title and its number of games."""
    (text,) = re.findall(
        r'<span class="leader">(.*?)</span>\s*(?:<progress|<span class="note count">)', page, re.DOTALL
    )
    return " ".join(re.sub("<[^<>]+>", "", text).split())


@pytest.mark.parametrize(
    "points, words",
    [
        ({"b": 1.0, "a": 3.0}, "a 3–1 b"),
        ({"a": 2.5, "b": 1.5}, "a 2½–1½ b"),
        ({"a": 1.0, "b": 3.0, "c": 0.0}, "b leads with 3 points"),
        ({"a": 3.0, "b": 3.0, "c": 0.0}, "a and b lead with 3 points"),
        ({"a": 3.0, "b": 3.0, "c": 3.0}, "3 bots lead with 3 points"),
        ({"a": 0.0, "b": 0.0}, "No result yet"),
    ],
)
async def test_tile_of_a_match_has_its_score_and_others_their_leaders(points: dict[str, float], words: str) -> None:
    assert tile(await home_page(home_content([tournament("cup", points)]))) == words


@pytest.mark.parametrize(
    "points, words",
    [({"a": 2.0, "b": 1.0}, "Round 2 of 5: a leads"), ({"a": 2.0, "b": 2.0}, "Round 2 of 5: 2 bots lead")],
)
async def test_tile_of_a_swiss_has_its_round_and_leaders(points: dict[str, float], words: str) -> None:
    swiss = tournament("swiss", points, tournaments_pb2.SCHEDULE_SWISS, rounds=5)
    page = await home_page(home_content([swiss], stages={swiss.name: RunningStage(Round(2, 5))}))
    assert tile(page) == words


async def test_tile_names_no_leader_before_the_first_ranks() -> None:
    cup = tournament("cup", {"a": 1.0, "b": 0.0, "c": 0.0})
    for row in cup.standings:
        row.rank = 0
    assert tile(await home_page(home_content([cup]))) == "No result yet"
    stages = {cup.name: RunningStage(Round(1, 5))}
    assert tile(await home_page(home_content([cup], stages=stages))) == "Round 1 of 5"


async def test_tile_of_a_ladder_names_the_first_and_the_climber() -> None:
    ladder = tournament("ladder", {"a": 2.5, "b": 1.0, "c": 0.0}, tournaments_pb2.SCHEDULE_LADDER)
    stages = {ladder.name: RunningStage(climber=Climber("bots/b", 20.6))}
    page = await home_page(home_content([ladder], stages=stages))
    assert tile(page) == "a leads with 2½ points · climber: b +21"
    # A ladder has no end, so it has no bar.
    assert "<progress" not in page
    assert "4 games" in page


async def test_tile_of_a_ladder_without_games_says_that_it_has_no_end() -> None:
    ladder = tournament("ladder", {"a": 0.0, "b": 0.0}, tournaments_pb2.SCHEDULE_LADDER)
    assert tile(await home_page(home_content([ladder]))) == "No end; bots can join at any time"


async def test_bar_of_a_knockout_and_the_words_next_to_it_count_matches() -> None:
    cup = tournament("cup", {"a": 1.0, "b": 0.0}, tournaments_pb2.SCHEDULE_KNOCKOUT)
    stage = RunningStage(Round(2, 3, is_knockout=True), Matches(1, 2))
    page = await home_page(home_content([cup], stages={cup.name: stage}))
    assert tile(page) == "Semifinals"
    assert 'max="2" value="1"' in page
    assert '<span class="note count">1 of 2 matches</span>' in page


async def test_results_name_the_winners_of_finished_tournaments() -> None:
    won, shared, void = (
        tournament(slug, {"ann": 1.0, "bob": 1.0}, winners=winners)
        for slug, winners in (("won", ["ann"]), ("shared", ["ann", "bob"]), ("void", []))
    )
    page = await home_page(home_content([won], results=[won, shared, void]))
    assert re.findall(r'<span class="won-by">(.*?)</span>', page) == ["Winner: ann", "Winner: ann and bob", "No winner"]
    others = await home_page(home_content([won]))
    assert "Latest results" not in others
    assert "Upcoming starts" not in others


async def test_ratings_from_few_games_have_a_question_mark() -> None:
    rows = [
        leaderboards_pb2.LeaderboardRow(rank=1, bot="bots/ann", rating=1800, provisional=True),
        leaderboards_pb2.LeaderboardRow(rank=2, bot="bots/bob", rating=1700),
    ]
    best = leaderboards_pb2.GetLeaderboardResponse(rating_list="gomoku/blitz", rows=rows)
    page = await home_page(home_content([tournament("cup", {"ann": 1.0, "bob": 0.0})], best=[best]))
    assert '<span class="rating">1800?</span>' in page
    assert '<span class="rating">1700</span>' in page
    assert "a player has less than 3, 8 or 25 minutes for 40 moves" in page
    assert "A question mark means fewer than 30 games" in page


@pytest.mark.parametrize("state, words", [("running", "about to begin"), ("waiting", "waiting")])
async def test_live_games_without_moves_are_about_to_begin(state: str, words: str) -> None:
    cup = tournament("cup", {"a": 1.0, "b": 0.0})
    games = [{**live(cup, number, []), "state": state} for number in (1, 2)]
    page = await home_page(home_content([cup], games))
    assert re.findall(r'<span id="featured-said">\s*(.*?)</span>', page) == [words]
    assert re.findall(r'<span class="said">\s*(.*?)</span>', page) == [words]


@pytest.mark.parametrize(
    "result, words",
    [
        (types_pb2.RESULT_FIRST_WINS, "a won: five in a row"),
        (types_pb2.RESULT_SECOND_WINS, "b won: five in a row"),
        (types_pb2.RESULT_DRAW, "A draw"),
    ],
)
async def test_longest_game_says_who_won_it(result: types_pb2.Result.ValueType, words: str) -> None:
    cup = tournament("cup", {"a": 1.0, "b": 0.0})
    page = await home_page(
        home_content([cup], ended_games=[ended(cup, 1, [0, 20, 1, 21, 2, 22, 3, 23, 4], result=result)])
    )
    assert re.findall(r'<span id="featured-said">\s*(.*?)</span>', page) == [words]


async def test_game_of_the_day_stays_after_other_tournaments(
    server: ServerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_page, "_SHARED_SECONDS", 0)
    await asyncio.to_thread(server.match, "first-free", "random", games=20)
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks)
        page = FrontPage(upstream, hub)
        before = longest_of_the_day(await page.content())
        for _number in range(3):
            # Each of these games has seven moves.
            await asyncio.to_thread(server.match, "first-free", "first-free", games=2)
        after = longest_of_the_day(await page.content())
        hub.close()
        await upstream.close()
    assert len(before["moves"]) > 7
    assert after == before


def longest_of_the_day(content: Document) -> Document:
    """Return the longest game of the day, which can be the featured one."""
    games: list[Document] = [each.game for each in (content["featured"], *content["games_of_the_day"])]
    return max(games, key=lambda game: len(game["moves"]))


async def test_home_page_considers_the_last_games_of_tournaments(server: ServerUnderTest) -> None:
    server.match("first-free", "random", games=52)
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks)
        content = await FrontPage(upstream, hub).content()
        newest = content["tournaments"][0]["name"]
        numbers = [int(number(game["name"])) for game in content["finished"] if game["name"].startswith(f"{newest}/")]
        hub.close()
        await upstream.close()
    assert max(numbers) > 50
    assert min(numbers) > 2


def test_the_first_start_and_the_latest_result_come_first() -> None:
    starts = {"later": "2100-01-01T14:00:00Z", "sooner": "2100-01-01T12:00:00Z", "some-day": None}
    opened = [{"name": name, "state": "open", "start_at": at} for name, at in starts.items()]
    running = {"name": "running", "state": "running", "start_at": "2000-01-01T12:00:00Z"}
    assert [each["name"] for each in upcoming_starts([*opened, running])] == ["sooner", "later", "some-day"]
    finished = [{"name": str(hour), "end_time": f"2026-03-01T{hour:02}:00:00Z"} for hour in (9, 12, 8, 1, 2, 3, 4)]
    assert [each["name"] for each in latest_results(finished)] == ["12", "9", "8", "4", "3", "2"]
