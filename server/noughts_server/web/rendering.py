"""A thread that renders responses, and takes turns among the visitors by the processor time that each uses."""

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from noughts_server.core.computing import Computing
from noughts_server.web.upstream import GUEST

Rendered = TypeVar("Rendered")


_NICE = 5
"""The nice value of the thread: games, and requests of bots that play over HTTP, have a higher priority than pages."""


class Rendering:
    """Renders one response at a time: a page of large boards takes long, and others must not wait for many of them.

    The next visitor is the one with the least processor time so far plus the expected time of the response. So new
    visitors do not delay others with expensive pages.
    """

    def __init__(self) -> None:
        self._computing = Computing("pages", nice=_NICE)

    async def in_turn(self, request: Request, kind: str, render: Callable[[], Rendered]) -> Rendered:
        """Return the result of `render`, which runs in the thread when it is this visitor's turn. Raises its errors.

        The expected time is that of the last response with this address or, if there is none, of the last of this kind.
        """
        address = hash((kind, request.url.path, request.url.query))
        return await self._computing.run(GUEST.get(""), render, names=(address, kind))
