"""Leaderboards, histories and game lists, called over the network at a real server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grpc
import grpc.aio
import pytest

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import games_pb2, games_pb2_grpc, leaderboards_pb2, leaderboards_pb2_grpc
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token
from tests.support.arena import NOW, open_arena
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from noughts_proto.v1.games_pb2_grpc import GameServiceAsyncStub
    from noughts_proto.v1.leaderboards_pb2_grpc import LeaderboardServiceAsyncStub


class BoardsClient(NamedTuple):
    """A server, and the stubs of its leaderboards and games."""

    server: Server
    boards: "LeaderboardServiceAsyncStub"
    games: "GameServiceAsyncStub"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[BoardsClient]:
    """A client of a server at which ada, bob and cleo have played a tournament, and ada and bob another."""
    path = tmp_path / "noughts.db"
    async with open_arena(path) as arena:
        await arena.commit(await arena.play(await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=20)))
        await arena.commit(await arena.play(await arena.tournament("two", variant="mnk:4,4,3", games_per_pair=4)))
    async with (
        running_server(ServerSettings(listen="127.0.0.1:0", database=f"sqlite:///{path}")) as server,
        grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel,
    ):
        boards: LeaderboardServiceAsyncStub = leaderboards_pb2_grpc.LeaderboardServiceStub(channel)
        games: GameServiceAsyncStub = games_pb2_grpc.GameServiceStub(channel)
        yield BoardsClient(server, boards, games)


async def test_leaderboard_has_the_owner_of_each_bot_and_whether_it_is_online(client: BoardsClient) -> None:
    token = await client.server.store.write(lambda connection: create_token(connection, owner="alice", now_ms=NOW))
    news: asyncio.Queue[SessionEvent] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(play(Random(), Login(client.server.address, token.secret, "bob"), news.put_nowait))
        await asyncio.wait_for(news.get(), PATIENCE)
        request = leaderboards_pb2.GetLeaderboardRequest(owner="alice")
        rows = (await client.boards.GetLeaderboard(request)).rows
        assert {row.bot: row.online for row in rows} == {"bots/ada": False, "bots/bob": True, "bots/cleo": False}
        assert {row.owner for row in rows} == {"alice"}
        request = leaderboards_pb2.GetLeaderboardRequest(online_only=True)
        assert [row.bot for row in (await client.boards.GetLeaderboard(request)).rows] == ["bots/bob"]
        playing.cancel()


async def test_lists_a_bots_places_and_its_history_agree(client: BoardsClient) -> None:
    lists = (await client.boards.ListRatingLists(leaderboards_pb2.ListRatingListsRequest())).rating_lists
    assert [(rating_list.name, rating_list.bots) for rating_list in lists] == [
        ("mnk:4,4,3/untimed", 2),
        ("tictactoe/untimed", 3),
    ]
    request = leaderboards_pb2.ListBotRatingsRequest(bot="bots/ada")
    places = (await client.boards.ListBotRatings(request)).ratings
    assert [place.rating_list for place in places] == [rating_list.name for rating_list in lists]
    history = await client.boards.GetRatingHistory(leaderboards_pb2.GetRatingHistoryRequest(bot="bots/ada"))
    assert history.rating_list == "tictactoe/untimed"
    assert (history.rating, history.games) == (places[1].row.rating, places[1].row.games)
    assert [point.games for point in history.points] == list(range(1, history.games + 1))
    assert history.points[-1].rating == history.rating
    assert history.points[0].time.ToMilliseconds() == NOW


async def test_games_of_a_bot_name_their_tournament_and_both_bots(client: BoardsClient) -> None:
    request = games_pb2.ListGamesRequest(parent="bots/ada", opponent="bots/bob", page_size=5)
    page = await client.games.ListGames(request)
    assert [game.name for game in page.games][:4] == [f"tournaments/two/games/{number}" for number in (4, 3, 2, 1)]
    assert page.games[4].name.startswith("tournaments/cup/games/")
    for game in page.games:
        assert {game.first_bot, game.second_bot} == {"bots/ada/versions/1", "bots/bob/versions/1"}
        assert game == (await client.games.GetGame(games_pb2.GetGameRequest(name=game.name))).game
    request.tournament = "tournaments/two"
    assert len((await client.games.ListGames(request)).games) == 4


async def test_head_to_head_sums_up_by_side_and_variant(client: BoardsClient) -> None:
    request = leaderboards_pb2.GetHeadToHeadRequest(bot="bots/ada", opponent="bots/bob", last_games=3)
    score = await client.boards.GetHeadToHead(request)
    assert [variant.variant for variant in score.variants] == ["mnk:4,4,3", "tictactoe"]
    for side in ("first", "second"):
        for count in ("wins", "draws", "losses"):
            parts = (getattr(getattr(variant.score, side), count) for variant in score.variants)
            assert sum(parts) == getattr(getattr(score.total, side), count)
    reverse_request = leaderboards_pb2.GetHeadToHeadRequest(bot="bots/bob", opponent="bots/ada")
    mirrored = (await client.boards.GetHeadToHead(reverse_request)).total
    assert (mirrored.first.wins, mirrored.second.losses) == (score.total.second.losses, score.total.first.wins)
    assert [game.name for game in score.last_games] == [f"tournaments/two/games/{number}" for number in (4, 3, 2)]


@pytest.mark.parametrize(
    "fields, wrong",
    [
        ({"parent": "tournaments/cup", "opponent": "bots/ada"}, "opponent"),
        ({"parent": "tournaments/cup", "tournament": "tournaments/cup"}, "tournament"),
        ({"parent": "bots/ada/versions/1"}, "parent"),
        ({"parent": "bots/ada", "opponent": "bob"}, "opponent"),
        ({"parent": "bots/ada", "tournament": "cup"}, "tournament"),
        ({"parent": "bots/ada", "page_token": "x"}, "page_token"),
        ({"parent": "bots/ada", "page_size": -1}, "page_size"),
    ],
)
async def test_wrong_filters_of_a_game_list_are_an_invalid_argument(
    client: BoardsClient, fields: dict[str, str], wrong: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match=wrong) as caught:
        await client.games.ListGames(games_pb2.ListGamesRequest(**fields))  # type: ignore[arg-type]
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_largest_minimum_of_games_gives_an_empty_leaderboard(client: BoardsClient) -> None:
    request = leaderboards_pb2.GetLeaderboardRequest(min_games=(1 << 64) - 1)
    assert not (await client.boards.GetLeaderboard(request)).rows
