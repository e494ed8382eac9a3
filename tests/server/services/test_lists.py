"""Pages and page tokens of all lists."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

import grpc
import grpc.aio
import pytest

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, tournaments_pb2
from tests.support.client import Client, refusal_of


class TextPage(NamedTuple):
    """A page of any list: its items as text, so that pages can be compared, and the token of the next page."""

    items: list[str]
    next_page_token: str


ReadPage = Callable[[Client, int, str], Awaitable[TextPage]]


async def tournaments_page(client: Client, size: int, token: str) -> TextPage:
    request = tournaments_pb2.ListTournamentsRequest(page_size=size, page_token=token)
    answer = await client.tournaments.ListTournaments(request)
    return TextPage(list(map(str, answer.tournaments)), answer.next_page_token)


async def bots_page(client: Client, size: int, token: str) -> TextPage:
    answer = await client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=size, page_token=token))
    return TextPage(list(map(str, answer.bots)), answer.next_page_token)


async def games_page(client: Client, size: int, token: str, slug: str = "cup") -> TextPage:
    request = games_pb2.ListGamesRequest(parent=f"tournaments/{slug}", page_size=size, page_token=token)
    answer = await client.games.ListGames(request)
    return TextPage(list(map(str, answer.games)), answer.next_page_token)


async def leaderboard_page(client: Client, size: int, token: str) -> TextPage:
    request = leaderboards_pb2.GetLeaderboardRequest(page_size=size, page_token=token)
    answer = await client.leaderboards.GetLeaderboard(request)
    return TextPage(list(map(str, answer.rows)), answer.next_page_token)


async def seasons_page(client: Client, size: int, token: str) -> TextPage:
    request = tournaments_pb2.ListSeasonsRequest(name="tournaments/cup", page_size=size, page_token=token)
    answer = await client.tournaments.ListSeasons(request)
    return TextPage(list(map(str, answer.seasons)), answer.next_page_token)


PAGE_READERS: Sequence[ReadPage] = (tournaments_page, bots_page, games_page, leaderboard_page)


@pytest.mark.parametrize("read_page", PAGE_READERS)
async def test_pages_of_any_size_make_up_the_whole_list_without_repeats(visitor: Client, read_page: ReadPage) -> None:
    whole = await read_page(visitor, 1000, "")
    assert len(whole.items) >= 7
    assert len(set(whole.items)) == len(whole.items)
    assert not whole.next_page_token
    for size in (1, 3, len(whole.items)):
        joined: list[str] = []
        token = ""
        while True:
            page = await read_page(visitor, size, token)
            assert 0 < len(page.items) <= size
            joined += page.items
            token = page.next_page_token
            if not token:
                break
        assert joined == whole.items


async def test_a_page_token_of_another_list_is_refused(visitor: Client) -> None:
    all_readers: Sequence[ReadPage] = (*PAGE_READERS, partial(games_page, slug="plate"))
    tokens = [(other_reader, (await other_reader(visitor, 1, "")).next_page_token) for other_reader in all_readers]
    for read_page in PAGE_READERS:
        for other_reader, token in tokens:
            if other_reader is not read_page:
                refusal = await refusal_of(read_page(visitor, 3, token))
                assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
                assert refusal.fields() == ["page_token"]


async def test_a_torn_page_token_is_refused(visitor: Client) -> None:
    for read_page in (*PAGE_READERS, seasons_page):
        token = (await read_page(visitor, 1, "")).next_page_token or "xx"
        for torn in (token[:-1], token + "x", "Ä", " ", "x" * 100_000):
            assert (await refusal_of(read_page(visitor, 1, torn))).fields() == ["page_token"]


async def test_a_negative_page_size_is_refused(visitor: Client) -> None:
    for read_page in (*PAGE_READERS, seasons_page):
        refusal = await refusal_of(read_page(visitor, -1, ""))
        assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields() == ["page_size"]


async def test_the_token_of_one_leaderboard_does_not_page_another(visitor: Client) -> None:
    token = (await leaderboard_page(visitor, 1, "")).next_page_token
    request = leaderboards_pb2.GetLeaderboardRequest(time_class="blitz", page_token=token)
    assert (await refusal_of(visitor.leaderboards.GetLeaderboard(request))).fields() == ["page_token"]
