"""Pages are rendered one at a time, and visitors take turns."""

import asyncio
import threading

from noughts_server.web.upstream import GUEST
from noughts_server.web.views import Views


async def test_visitors_take_turns_to_have_pages_rendered_in_a_thread() -> None:
    views, order = Views("", signing_in=False, playing=False), list[str]()

    def render(visitor: str) -> None:
        assert threading.current_thread() is not threading.main_thread()
        order.append(visitor)

    async def visit(visitor: str) -> None:
        GUEST.set(visitor)
        await views.in_turn(lambda: render(visitor))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(visit("192.0.2.1"))
        await asyncio.sleep(0)
        tasks.create_task(visit("192.0.2.2"))
    assert order == ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"]
