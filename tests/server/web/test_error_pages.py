"""Errors of the website and of its server have pages that say what failed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from starlette.requests import Request

from noughts_proto.security import Dialling
from noughts_server.testing import ServerUnderTest
from noughts_server.web import upstream as upstream_module
from noughts_server.web.app import static_files
from noughts_server.web.event_streams import Hub
from noughts_server.web.pages import bots
from noughts_server.web.pages.front_page import FrontPage
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import Views
from tests.support.background import open_in_thread
from tests.support.patience import PATIENCE
from tests.support.site import Site, site_of


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
        assert all(content == first for content in others)
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
        assert await views.text(request, "home.html.jinja", **content, own=None)
        hub.close()
        await upstream.close()


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
    assert "Home page" in answer.text


def test_pages_of_missing_things_have_no_commands_and_lead_on(site: Site, cup: str) -> None:
    page = site.get("/bots/nobody").text
    assert "There is no bot “nobody”." in page
    assert "noughts bot" not in page
    assert 'action="/search"' in page
    assert f'href="/{cup}">Back to' in site.get(f"/{cup}/games/99999").text


def test_without_its_server_the_site_says_so_and_retries() -> None:
    with site_of("127.0.0.1:1") as alone:  # no server listens on this port
        page = alone.get("/tournaments")
        assert (page.status, page.headers["retry-after"]) == (503, "3")
        assert "cannot be reached: nothing listens there" in page.text
        assert "comeback.js" in page.text
        assert alone.get("/api/v1/featured/events").status == 503


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
    if code is None:
        monkeypatch.setattr(upstream_module, "DEADLINE_SECONDS", 0.5)
    with open_in_thread(server_with_status(code)) as address, site_of(address) as site:
        page = site.get("/bots")
        document = site.get("/api/v1/bots")
    assert (page.status, document.status, document.document["error"]["status"]) == (status, status, status)
    assert words in page.text
    assert "Home page" in page.text


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
