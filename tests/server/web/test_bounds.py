"""Limits of one visitor of the site: headers, forms, connections and event streams. Other visitors are unaffected."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from starlette.types import Receive, Scope, Send

from noughts_proto.security import Dialling
from noughts_proto.v1 import bots_pb2, leaderboards_pb2, status_pb2
from noughts_server.core.limits import Limits
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token
from noughts_server.testing import ServerUnderTest
from noughts_server.web.event_streams import LiveSettings
from noughts_server.web.upstream import GUEST, Upstream
from noughts_server.web.visitors import SiteLimits, Visitors
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, connection_to, live_game, site_of

WON = (0, 3, 1, 4, 2)

SHORT_LIMITS = SiteLimits(head_seconds=0.3, body_seconds=0.3, body_bytes_a_second=1_000_000)


def answer_to(connection: socket.socket) -> bytes:
    """Return all bytes that the site sends before it closes the connection."""
    received = b""
    try:
        while part := connection.recv(4096):
            received += part
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize(
    "headers",
    [
        b"x-long: " + b"x" * 400_000,
        b"x: y\r\n" * 70_000,
        b"x" * 400_000,
    ],
    ids=["long", "many", "one"],
)
def test_endless_headers_are_cut_off(site: Site, headers: bytes) -> None:
    with connection_to(site) as connection:
        connection.sendall(b"POST /signin HTTP/1.1\r\nhost: here\r\n")
        sent = 0
        while sent < len(headers) and not arrived_bytes(connection):
            connection.sendall(headers[sent : sent + 4096])
            sent += 4096
        assert sent < 200_000
        assert answer_to(connection).startswith(b"HTTP/1.1 431 ")


def arrived_bytes(connection: socket.socket) -> bytes:
    """Return the bytes that have arrived, without consuming them."""
    connection.settimeout(0.01)
    try:
        return connection.recv(4096, socket.MSG_PEEK)
    except TimeoutError:
        return b""
    finally:
        connection.settimeout(PATIENCE)


def is_closed_by_site(connection: socket.socket) -> bool:
    """Return whether the website, which runs in this process, has closed its end of the connection."""
    own_address = connection.getsockname()
    return not any(
        socket_connection.raddr == own_address for socket_connection in psutil.Process().net_connections("tcp4")
    )


def test_a_request_has_a_limited_number_of_headers(site: Site) -> None:
    with connection_to(site) as connection:
        connection.sendall(b"GET /signin HTTP/1.1\r\nhost: here\r\n" + b"a:\r\n" * 200)
        assert answer_to(connection).startswith(b"HTTP/1.1 431 ")


STREAM = b"GET /api/v1/featured/events HTTP/1.1\r\nhost: here\r\n\r\n"
PAGE = b"GET /api/v1/openapi.json HTTP/1.1\r\nhost: here\r\n\r\n"


def test_few_requests_can_wait_on_a_connection(site: Site) -> None:
    with connection_to(site) as connection:
        connection.sendall(STREAM + PAGE * 100)
        answer_to(connection)


def test_streams_before_other_requests_end_with_their_connection(site: Site) -> None:
    with connection_to(site) as connection:
        connection.sendall(STREAM + PAGE)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        eventually(lambda: site.hub.watchers == 1)
    eventually(lambda: site.hub.watchers == 0)


def test_connections_with_unread_answers_are_closed(server: ServerUnderTest) -> None:
    quick = SiteLimits(unread_seconds=0.2, pipelined=200)
    with site_of(server.address, limits=quick) as site, connection_to(site, receive_bytes=4096) as connection:
        connection.sendall(PAGE * 200)
        assert connection.recv(1) == b"H"
        eventually(lambda: is_closed_by_site(connection))
        assert answer_to(connection).count(b"TTP/1.1 200 ") < 200


def test_answers_that_wait_to_be_read_are_bounded(server: ServerUnderTest) -> None:
    # The limit is below 64 KiB, at which the site would pause writing.
    few = SiteLimits(address_unread_bytes=50_000, unread_seconds=1_000, pipelined=200)
    with site_of(server.address, limits=few) as site, connection_to(site, receive_bytes=4096) as connection:
        connection.sendall(PAGE * 200)
        assert connection.recv(1) == b"H"
        eventually(lambda: is_closed_by_site(connection))
        assert answer_to(connection).count(b"TTP/1.1 200 ") < 200


def test_answers_that_are_read_leave_room_for_others(server: ServerUnderTest) -> None:
    # The limit is a few times 64 KiB, at which the site pauses writing; all answers together are longer than it.
    some = SiteLimits(address_unread_bytes=300_000, pipelined=200)
    with site_of(server.address, limits=some, send_bytes=8192) as site, connection_to(site) as connection:
        connection.sendall(PAGE * 19 + PAGE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        answers = answer_to(connection)
    assert len(answers) > 600_000
    assert answers.count(b"HTTP/1.1 200 ") == 20


def test_requests_of_one_address_are_limited(server: ServerUnderTest) -> None:
    with site_of(server.address, limits=SiteLimits(address_requests=3)) as site:
        statuses = [site.get("/signin").status for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert site.get("/static/none/none").status == 404
        with connection_to(site, "127.0.0.2") as other:
            other.sendall(b"GET /signin HTTP/1.0\r\n\r\n")
            assert answer_to(other).startswith(b"HTTP/1.1 200 ")


async def test_requests_of_one_address_are_answered_in_turn() -> None:
    running: list[str] = []
    may_end = asyncio.Event()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        running.append(scope["client"][0])
        await may_end.wait()

    async def ignore(*_: object) -> Any:
        return None

    visitors = Visitors(answer, (), SiteLimits(address_reads=2))
    async with asyncio.TaskGroup() as tasks:
        for address in ("10.0.0.1",) * 5 + ("10.0.0.2",):
            scope = {"type": "http", "client": (address, 1), "path": "/bots", "method": "GET", "headers": []}
            tasks.create_task(visitors(scope, ignore, ignore))
        await asyncio.sleep(0.05)
        assert running == ["10.0.0.1", "10.0.0.1", "10.0.0.2"]
        may_end.set()
    assert len(running) == 6


def test_endless_trailers_are_cut_off(site: Site) -> None:
    with connection_to(site) as connection:
        connection.sendall(b"POST /signin HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n0\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            connection.sendall(b"x: y\r\n" * 5_000_000)


def test_endless_addresses_are_cut_off(site: Site) -> None:
    with connection_to(site) as connection:
        connection.sendall(b"GET /" + b"x" * 40_000)
        assert answer_to(connection).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET / HTTP/1.1\r\nhost: he",
        b"POST /signin HTTP/1.1\r\nhost: here\r\ncontent-length: 50\r\n\r\ntoken=",
        b"POST /signin HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n5\r\ntoken\r\n",
        b"POST /me/bots HTTP/1.1\r\nhost: here\r\ncontent-length: 100000\r\n\r\n--",
        b"GET /signin HTTP/1.1\r\nhost: here\r\n\r\nPOST /signin HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\nx",
    ],
    ids=["nothing", "head", "form", "chunks", "file", "second"],
)
def test_incomplete_requests_are_closed_after_a_timeout(server: ServerUnderTest, part: bytes) -> None:
    with site_of(server.address, limits=SHORT_LIMITS) as site, connection_to(site) as connection:
        connection.sendall(part)
        answer_to(connection)


def test_slow_whole_requests_are_answered(site: Site) -> None:
    with connection_to(site) as connection:
        for _ in range(3):
            for part in (b"HEAD /signin HTTP/1.1\r\n", b"host: here\r\n", b"\r\n"):
                connection.sendall(part)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 ")


def test_aborted_forms_write_no_traceback(
    server: ServerUnderTest, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"POST %s HTTP/1.1\r\nhost: here\r\ncontent-type: %s\r\ncookie: %s\r\ncontent-length: 90\r\n\r\nx"
    cookie = f"noughts_token={server.token()}".encode()
    with caplog.at_level(logging.DEBUG):
        for path, kind in (b"/signin", b""), (b"/me/bots", b"multipart/form-data; boundary=x"):
            with connection_to(site) as connection:
                connection.sendall(head % (path, kind, cookie))
                assert site.get("/signin").status == 200
                assert arrived_bytes(connection) == b""
        assert site.get("/signin").status == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_connections_of_one_address_are_limited(server: ServerUnderTest) -> None:
    with site_of(server.address, limits=SiteLimits(address_connections=3)) as site, ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connection_to(site)).sendall(b"GET ")
        with connection_to(site) as fourth:
            assert answer_to(fourth) == b""
        with connection_to(site, "127.0.0.2") as other:
            other.sendall(b"GET /signin HTTP/1.0\r\n\r\n")
            assert answer_to(other).startswith(b"HTTP/1.1 200 ")
        stack.close()
        eventually(lambda: status_of_page(site) == 200)


def status_of_page(site: Site) -> int:
    try:
        return site.get("/signin").status
    except OSError:
        return 0


def test_event_streams_of_one_address_are_limited(server: ServerUnderTest) -> None:
    with (
        site_of(server.address, LiveSettings(address_streams=2)) as site,
        site.events("/api/v1/featured/events"),
        site.events("/api/v1/featured/events"),
    ):
        third = site.get("/api/v1/featured/events")
        assert third.status == 429
        assert "--proxy" in third.document["error"]["hint"]
        with connection_to(site, "127.0.0.2") as other:
            other.sendall(b"GET /api/v1/featured/events HTTP/1.0\r\n\r\n")
            assert other.recv(100).startswith(b"HTTP/1.1 200 ")


def test_pages_of_games_are_shown_at_the_limit_of_followed_games(server: ServerUnderTest) -> None:
    with (
        site_of(server.address, LiveSettings(most_followed=1)) as site,
        live_game(server, site) as game,
        site.events("/api/v1/featured/events") as featured,
    ):
        assert featured.until("snapshot")
        assert site.get(f"/api/v1/{game.name}/events").status == 503
        assert site.get(f"/{game.name}").status == 200
        game.play(*WON)


async def test_streams_of_events_leave_room_for_pages(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/noughts.db"
    settings = ServerSettings(listen="127.0.0.1:0", database=database, limits=Limits(connection_calls=1))
    async with running_server(settings) as server:
        await asyncio.to_thread(_watch_and_look, server.address)


async def test_uploads_leave_room_for_pages(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/noughts.db"
    settings = ServerSettings(listen="127.0.0.1:0", database=database, limits=Limits(owner_uploads=100))
    begun_uploads = asyncio.Semaphore(0)

    async def endless_upload() -> AsyncIterator[bots_pb2.SubmitBotRequest]:
        begun_uploads.release()
        await asyncio.Event().wait()
        yield bots_pb2.SubmitBotRequest()

    async with running_server(settings) as server, asyncio.TaskGroup() as tasks:
        new_token = await server.store.write(
            lambda connection: create_token(connection, owner="ada", scopes=["submit"], now_ms=server.store.now_ms())
        )
        upstream = Upstream(server.address, Dialling())
        submit: Any = upstream.bots.SubmitBot
        uploads = [
            tasks.create_task(upstream.call(submit, endless_upload(), new_token.secret, seconds=60)) for _ in range(32)
        ]
        async with asyncio.timeout(PATIENCE):
            for _ in uploads:
                await begun_uploads.acquire()
        await upstream.call(upstream.status.GetStatus, status_pb2.GetStatusRequest())
        assert not any(upload.done() for upload in uploads)
        for upload in uploads:
            upload.cancel()
        await upstream.close()


async def test_few_requests_at_a_time_hold_answers_of_the_server(server: ServerUnderTest) -> None:
    upstream, holding, finish = Upstream(server.address, Dialling()), asyncio.Queue[int](), asyncio.Event()

    async def page(number: int) -> None:
        GUEST.set(f"192.0.2.{number}")
        async with upstream.one_place("page"):
            calls = (upstream.call(upstream.bots.ListBots, bots_pb2.ListBotsRequest()) for _ in range(5))
            await asyncio.gather(*calls)
            holding.put_nowait(number)
            await finish.wait()

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        pages = [tasks.create_task(page(number)) for number in range(4)]
        first = {await holding.get() for _ in range(2)}  # only two, because the server sees all visitors as one caller
        await upstream.call(upstream.bots.ListBots, bots_pb2.ListBotsRequest(), server.token())
        assert holding.empty()
        pages[first.pop()].cancel()
        await holding.get()
        finish.set()
    await upstream.close()


async def test_ratings_that_are_computed_do_not_delay_other_calls(server: ServerUnderTest) -> None:
    upstream, answered = Upstream(server.address, Dialling()), asyncio.Event()

    async def compute(request: object, **_: object) -> leaderboards_pb2.GetBatchRatingsResponse:
        await answered.wait()
        return leaderboards_pb2.GetBatchRatingsResponse()

    method: Any = compute
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for _ in range(40):
            tasks.create_task(upstream.call(method, leaderboards_pb2.GetBatchRatingsRequest()))
        await asyncio.sleep(0)
        await upstream.call(upstream.status.GetStatus, status_pb2.GetStatusRequest())
        answered.set()
    await upstream.close()


def _watch_and_look(address: str) -> None:
    with site_of(address) as site, site.events("/api/v1/featured/events") as events:
        assert events.until("snapshot")
        assert site.get("/api/v1/tournaments").status == 200
