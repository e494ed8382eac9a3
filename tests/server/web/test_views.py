"""Pages are rendered one at a time, and visitors take turns according to the processor time of their pages."""

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from starlette.requests import Request

from noughts_server.web.rendering import Rendering
from noughts_server.web.upstream import GUEST
from tests.support.patience import PATIENCE
from tests.support.site import Site


def request_of(path: str) -> Request:
    return Request({"type": "http", "path": path, "query_string": b"", "headers": [], "server": ("here", 80)})


async def visit(rendering: Rendering, visitor: str, path: str, render: Callable[[], object]) -> None:
    GUEST.set(visitor)
    await rendering.in_turn(request_of(path), "page", render)


async def test_visitors_take_turns_to_have_pages_rendered_in_a_thread() -> None:
    rendering, order, finish = Rendering(), list[str](), threading.Event()

    def render(visitor: str) -> None:
        assert threading.current_thread() is not threading.main_thread()
        finish.wait(PATIENCE)
        order.append(visitor)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for visitor in ("192.0.2.1",) * 3 + ("192.0.2.2",):
            tasks.create_task(visit(rendering, visitor, "/", partial(render, visitor)))
        await asyncio.sleep(0)
        finish.set()
    assert order == ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"]


def compute(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


async def test_a_cheap_page_does_not_wait_for_expensive_ones_of_new_visitors() -> None:
    rendering, order, finish = Rendering(), list[str](), threading.Event()
    await visit(rendering, "first", "/expensive", lambda: compute(0.1))
    await visit(rendering, "known", "/cheap", lambda: compute(0.01))
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(visit(rendering, "first", "/", lambda: finish.wait(PATIENCE)))
        await asyncio.sleep(0)
        for number in range(20):
            tasks.create_task(visit(rendering, f"new {number}", "/expensive", lambda: order.append("expensive")))
        await asyncio.sleep(0)
        tasks.create_task(visit(rendering, "known", "/cheap", lambda: order.append("cheap")))
        await asyncio.sleep(0)
        finish.set()
    assert order == ["cheap", *["expensive"] * 20]


@pytest.mark.processes
def test_everything_that_is_rendered_takes_turns(site: Site, cup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered_paths, in_turn = list[str](), Rendering.in_turn

    async def noting_in_turn(self: Rendering, request: Request, kind: str, render: Callable[[], object]) -> object:
        rendered_paths.append(request.url.path)
        return await in_turn(self, request, kind, render)

    monkeypatch.setattr(Rendering, "in_turn", noting_in_turn)
    pages = ["/", f"/{cup}", f"/{cup}/games", f"/{cup}/games/1", f"/{cup}/parts", "/explorer", "/bots", "/api"]
    pictures = [f"/{cup}/games/1.svg", f"/{cup}/games/1.png"]
    feeds = ["/tournaments.atom", "/tests.atom", "/tournaments.ics", "/api/v1/tournaments", f"/api/v1/{cup}/games"]
    files = [f"/{cup}/games.{suffix}" for suffix in ("jsonl", "sgf", "pgn", "csv")]
    paths = pages + pictures + feeds + files
    assert [site.get(path).status for path in paths] == [200] * len(paths)
    assert rendered_paths == paths
