"""The home page of a busy server: what the tiles of its running tournaments say."""

import asyncio
import re

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import tournaments_pb2
from noughts_server.testing import ServerUnderTest
from noughts_server.web.event_streams import Hub
from noughts_server.web.pages.front_page import FrontPage
from noughts_server.web.running_stages import Climber, RunningStage
from noughts_server.web.upstream import Upstream
from noughts_server.web.words import number
from tests.server.web.home_scene import home_content, home_page, live, tournament


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
        ({"a": 1.0, "b": 3.0, "c": 0.0}, "b leads with 3"),
        ({"a": 3.0, "b": 3.0, "c": 0.0}, "a and b lead with 3"),
        ({"a": 0.0, "b": 0.0}, ""),
    ],
)
async def test_tile_of_a_match_has_its_score_and_others_their_leaders(points: dict[str, float], words: str) -> None:
    assert tile(await home_page(home_content([tournament("cup", points)]))) == words


@pytest.mark.parametrize(
    "climbers, words",
    [
        ((), "No end; bots can join at any time"),
        ((Climber("bots/b", 20.6), Climber("bots/a", 3.0)), "Climbing: b +21, a +3"),
    ],
)
async def test_tile_of_a_ladder_names_its_climbers(climbers: tuple[Climber, ...], words: str) -> None:
    ladder = tournament("ladder", {"a": 2.0, "b": 1.0}, tournaments_pb2.SCHEDULE_LADDER)
    page = await home_page(home_content([ladder], stages={ladder.name: RunningStage(climbers=climbers)}))
    assert tile(page) == words
    # A ladder has no end, so it has no bar.
    assert "<progress" not in page
    assert "3 games" in page


@pytest.mark.parametrize("state, words", [("running", "about to begin"), ("waiting", "waiting")])
async def test_live_games_without_moves_are_about_to_begin(state: str, words: str) -> None:
    cup = tournament("cup", {"a": 1.0, "b": 0.0})
    games = [{**live(cup, number, []), "state": state} for number in (1, 2)]
    page = await home_page(home_content([cup], games))
    assert re.findall(r'<span id="featured-said">\s*(.*?)</span>', page) == [words]
    assert re.findall(r'<span class="said">\s*(.*?)</span>', page) == [words]


async def test_home_page_considers_the_last_games_of_tournaments(server: ServerUnderTest) -> None:
    server.match("first-free", "random", games=52)
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks)
        content = await FrontPage(upstream, hub).content()
        numbers = [int(number(game["name"])) for game in content["finished"] if game["first"].startswith("first-free")]
        hub.close()
        await upstream.close()
    assert max(numbers) > 50
    assert min(numbers) > 2
