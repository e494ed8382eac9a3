"""A thread that renders responses in the turns of the visitors, by the processor time that each used and will use."""

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from noughts_server.core.computing import Computing
from noughts_server.web.upstream import GUEST

Rendered = TypeVar("Rendered")


class Rendering:
    """Renders one response at a time: a page of large boards takes long, and others must not wait for many of them.

    Of the visitors that wait, the one is next whose processor time is the least, with the time that the response is
    expected to take. So visitors who have used nothing yet do not delay others with expensive pages.
    """

    def __init__(self) -> None:
        self._computing = Computing("pages")

    async def in_turn(self, request: Request, kind: str, render: Callable[[], Rendered]) -> Rendered:
        """Return or raise what `render` does in the thread, when it is this visitor's turn.

        The response is expected to take as long as the last one of its address, or else as the last one of its kind.
        """
        address = hash((kind, request.url.path, request.url.query))
        return await self._computing.run(GUEST.get(""), render, names=(address, kind))
