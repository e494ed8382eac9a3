"""Common code of the handlers of all pages."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import bots_pb2, tokens_pb2
from noughts_server.web.analyst import Analyst
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.pages.front_page import FrontPage
from noughts_server.web.play_tables import PlayTables
from noughts_server.web.signin import Visitor, visitor_of
from noughts_server.web.stories import Stories
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import Views
from noughts_server.web.visitors import Recent

OWN_TOKEN = "tokens/self"  # the name of the resource
_MOST_BOTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Website:
    """The server behind the website, live events, templates, and what handlers remember between requests."""

    upstream: Upstream
    hub: Hub
    views: Views
    front_page: FrontPage
    play_tables: PlayTables | None
    """None if visitors cannot play."""
    analyst: Analyst | None
    """None if the website has no analyst."""
    secure: bool
    """Whether browsers use HTTPS, and send the cookie only over HTTPS."""
    failed_sign_ins: Recent = field(default_factory=Recent)
    """Failed attempts to sign in, by address."""
    stories: Stories = field(default_factory=Stories)
    """The stories of finished tournaments."""

    async def person(self, request: Request) -> "Person | None":
        """Return the signed-in user. Raises Failure, with status 401 if the server rejects the token."""
        visitor = visitor_of(request)
        if visitor is None:
            return None
        get_token = tokens_pb2.GetTokenRequest(name=OWN_TOKEN)
        token = (await self.upstream.ask(self.upstream.tokens.GetToken, get_token, visitor.token))["token"]
        return Person(visitor=visitor, owner=token["owner"], scopes=tuple(token["scopes"]))

    async def bots_of(self, person: "Person", *, retired: bool = False) -> list[Document]:
        """Return the user's bots by name."""
        list_bots = bots_pb2.ListBotsRequest(
            owner=person.owner, page_size=_MOST_BOTS, show_retired=retired, with_view_ratings=True
        )
        bots: list[Document] = (await self.upstream.ask(self.upstream.bots.ListBots, list_bots))["bots"]
        return bots

    async def guests_owner(self) -> str:
        """Return the owner of the bots that stand for visitors in their games; empty without a valid token."""
        if self.play_tables is None:
            return ""
        try:
            return await self.play_tables.owner()
        except Failure:
            return ""

    def tables(self) -> PlayTables:
        """Return the tables at which visitors play. Raises Failure if there are none."""
        if self.play_tables is None:
            raise Failure(404, "This website offers no games.", "The Play page explains how to enable them.")
        return self.play_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A user whose token the server accepts."""

    visitor: Visitor
    owner: str
    scopes: tuple[str, ...]

    @property
    def token(self) -> str:
        """The token, for calls to the server."""
        return self.visitor.token

    @property
    def is_admin(self) -> bool:
        """Whether the user is permitted to manage everything on the server."""
        return "admin" in self.scopes


Handler = Callable[[Website, Request], Coroutine[Any, Any, Response]]
OwnHandler = Callable[[Website, Request, Person], Coroutine[Any, Any, Response]]
"""A handler for signed-in users."""
