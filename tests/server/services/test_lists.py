"""Lists, page by page."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

import grpc
import grpc.aio
import pytest

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, tournaments_pb2
from tests.support.client import Client, refusal_of


class Listing(NamedTuple):
    """A page of some list: its items in words that can be compared, and the next page's token."""

    items: list[str]
    next_page_token: str


Lister = Callable[[Client, int, str], Awaitable[Listing]]


async def tournaments_page(client: Client, size: int, token: str) -> Listing:
    request = tournaments_pb2.ListTournamentsRequest(page_size=size, page_token=token)
    answer = await client.tournaments.ListTournaments(request)
    return Listing(list(map(str, answer.tournaments)), answer.next_page_token)


async def bots_page(client: Client, size: int, token: str) -> Listing:
    answer = await client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=size, page_token=token))
    return Listing(list(map(str, answer.bots)), answer.next_page_token)


async def games_page(client: Client, size: int, token: str, slug: str = "cup") -> Listing:
    request = games_pb2.ListGamesRequest(parent=f"tournaments/{slug}", page_size=size, page_token=token)
    answer = await client.games.ListGames(request)
    return Listing(list(map(str, answer.games)), answer.next_page_token)


async def leaderboard_page(client: Client, size: int, token: str) -> Listing:
    request = leaderboards_pb2.GetLeaderboardRequest(page_size=size, page_token=token)
    answer = await client.leaderboards.GetLeaderboard(request)
    return Listing(list(map(str, answer.rows)), answer.next_page_token)


async def seasons_page(client: Client, size: int, token: str) -> Listing:
    request = tournaments_pb2.ListSeasonsRequest(name="tournaments/cup", page_size=size, page_token=token)
    answer = await client.tournaments.ListSeasons(request)
    return Listing(list(map(str, answer.seasons)), answer.next_page_token)


LISTERS: Sequence[Lister] = (tournaments_page, bots_page, games_page, leaderboard_page)


@pytest.mark.parametrize("lister", LISTERS)
async def test_pages_of_any_size_join_up_to_the_whole_list_without_repeats(visitor: Client, lister: Lister) -> None:
    whole = await lister(visitor, 1000, "")
    assert len(whole.items) >= 7
    assert len(set(whole.items)) == len(whole.items)
    assert not whole.next_page_token
    for size in (1, 3, len(whole.items)):
        joined: list[str] = []
        token = ""
        while True:
            page = await lister(visitor, size, token)
            assert 0 < len(page.items) <= size
            joined += page.items
            token = page.next_page_token
            if not token:
                break
        assert joined == whole.items


async def test_a_page_token_of_another_list_is_refused(visitor: Client) -> None:
    others: Sequence[Lister] = (*LISTERS, partial(games_page, slug="plate"))
    tokens = [(other, (await other(visitor, 1, "")).next_page_token) for other in others]
    for lister in LISTERS:
        for other, token in tokens:
            if other is not lister:
                refusal = await refusal_of(lister(visitor, 3, token))
                assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
                assert refusal.fields() == ["page_token"]


async def test_a_torn_page_token_is_refused(visitor: Client) -> None:
    for lister in (*LISTERS, seasons_page):
        token = (await lister(visitor, 1, "")).next_page_token or "xx"
        for torn in (token[:-1], token + "x", "Ä", " ", "x" * 100_000):
            assert (await refusal_of(lister(visitor, 1, torn))).fields() == ["page_token"]


async def test_a_negative_page_size_is_refused(visitor: Client) -> None:
    for lister in (*LISTERS, seasons_page):
        refusal = await refusal_of(lister(visitor, -1, ""))
        assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields() == ["page_size"]


async def test_the_token_of_one_leaderboard_does_not_page_another(visitor: Client) -> None:
    token = (await leaderboard_page(visitor, 1, "")).next_page_token
    request = leaderboards_pb2.GetLeaderboardRequest(time_class="blitz", page_token=token)
    assert (await refusal_of(visitor.leaderboards.GetLeaderboard(request))).fields() == ["page_token"]
