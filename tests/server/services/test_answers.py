"""Answers are built outside the event loop, and callers are charged for their rows and bytes."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from noughts_proto.transport import CLIENT_OPTIONS, GUEST_KEY, SITE_KEY
from noughts_proto.v1 import bots_pb2, feed_pb2, feed_pb2_grpc, games_pb2
from noughts_server.convert.games import game_message
from noughts_server.core.limits import BURST_SECONDS, Limits
from noughts_server.services import answers, games
from noughts_server.services.bills import ROW_BYTES
from noughts_server.store.games.games import StoredGame
from tests.support.client import Client, bearer, client_of, refusal_of
from tests.support.patience import PATIENCE

LIST = games_pb2.ListGamesRequest(parent="tournaments/cup", page_size=1000)


async def test_answers_are_built_outside_the_event_loop(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[str]()

    def noting_game_message(game: StoredGame) -> games_pb2.Game:
        threads.add(threading.current_thread().name.rpartition("_")[0])
        return game_message(game)

    monkeypatch.setattr(games, "game_message", noting_game_message)
    assert len((await visitor.games.ListGames(LIST)).games) > 1
    assert threads == {"store-answers"}


async def test_pages_are_smaller_without_a_token(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PAGE_WITHOUT_TOKEN", 3)
    page = await visitor.games.ListGames(LIST)
    assert (len(page.games), bool(page.next_page_token)) == (3, True)
    assert len((await visitor.games.ListGames(LIST, metadata=bearer(await visitor.token()))).games) > 3


async def test_answers_are_charged_by_rows_and_bytes(tmp_path: Path) -> None:
    # Enough for one page of a hundred bots, or for many pages of one.
    limits = Limits(address_answer_bytes=100 * ROW_BYTES // BURST_SECONDS, token_answer_bytes=1)
    async with client_of(tmp_path / "x.sqlite", limits=limits) as client:
        await client.register(*(f"bot-{number}" for number in range(120)))
        token = bearer(await client.token())
        for _ in range(20):
            await client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=1))
        everything = bots_pb2.ListBotsRequest(page_size=200)
        assert len((await client.bots.ListBots(everything)).bots) == 120
        refusal = await refusal_of(client.bots.ListBots(bots_pb2.ListBotsRequest(page_size=1)))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        assert refusal.info.metadata["limit"] == "address_answer_bytes"
        # A token has a limit of its own.
        await client.bots.ListBots(everything, metadata=token)
        refusal = await refusal_of(client.bots.ListBots(everything, metadata=token))
        assert refusal.info.metadata["limit"] == "token_answer_bytes"


async def test_page_of_any_size_is_charged_for_the_rows_it_can_have(visitor: Client) -> None:
    token = bearer(await visitor.token())
    huge = games_pb2.ListGamesRequest(parent="tournaments/cup", page_size=(1 << 31) - 1)
    # Until its answer is known, each call is charged for the largest page, not for the requested size.
    await asyncio.gather(*(visitor.games.ListGames(huge, metadata=token) for _ in range(5)))


async def test_first_messages_of_feed_streams_are_charged(tmp_path: Path) -> None:
    watch = feed_pb2.WatchRequest(name="featured")
    async with (
        asyncio.timeout(PATIENCE),
        client_of(tmp_path / "x.sqlite", limits=Limits(address_answer_bytes=1)) as client,
        grpc.aio.insecure_channel(client.server.address, options=CLIENT_OPTIONS) as channel,
    ):
        feed: Any = feed_pb2_grpc.FeedServiceStub(channel)
        assert await feed.Watch(watch).read()
        refusal = await refusal_of(feed.Watch(watch).read())
        assert refusal.info.metadata["limit"] == "address_answer_bytes"
        # Streams of a website are not charged: it opens one for all its visitors.
        site = ((SITE_KEY, await client.token("site", "site")),)
        assert [await feed.Watch(watch, metadata=site).read() for _ in range(2)]


async def test_each_visitor_of_a_website_has_a_limit(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(address_answer_bytes=1)) as client:
        site = (SITE_KEY, await client.token("site", "site"))
        await client.register("one")
        request = bots_pb2.ListBotsRequest()
        await client.bots.ListBots(request, metadata=(site, (GUEST_KEY, "192.0.2.1")))
        await refusal_of(client.bots.ListBots(request, metadata=(site, (GUEST_KEY, "192.0.2.1"))))
        await client.bots.ListBots(request, metadata=(site, (GUEST_KEY, "192.0.2.2")))
        # Without the token of a website, nobody can name another visitor.
        await client.bots.ListBots(request)
        await refusal_of(client.bots.ListBots(request, metadata=((GUEST_KEY, "192.0.2.3"),)))


async def test_only_a_token_with_the_scope_site_names_visitors(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(address_answer_bytes=1)) as client:
        site = (SITE_KEY, await client.token("mallory", "play", "organise", "submit"))
        await client.register("one")
        request = bots_pb2.ListBotsRequest()
        await client.bots.ListBots(request, metadata=(site, (GUEST_KEY, "192.0.2.1")))
        await refusal_of(client.bots.ListBots(request, metadata=(site, (GUEST_KEY, "192.0.2.2"))))
