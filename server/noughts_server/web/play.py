"""Playing in the browser: the page that opens a table, and the table itself."""

import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from noughts_proto.v1 import bots_pb2
from noughts_server.web.api import JSON, json_bytes
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.forms import in_form, time_of, whole_number
from noughts_server.web.games import known_game
from noughts_server.web.play_rooms import BEGINS, HOUSE, LOT, PERSON, SAME_SCREEN, PlayRoom, PlayRooms, Wish
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import Views
from noughts_server.web.visitors import address_of

_MOST_BOTS = 200
_USUAL = {"opponent": "house:minimax", "variant": "tictactoe", "begins": LOT, "mark": BEGINS}
_FORM = {**_USUAL, **dict.fromkeys(("other", "bank", "increment", "move"), "")}
"""Fields of the form and their defaults."""
_MOST_CELLS = 2**16
Action = Callable[[PlayRooms, PlayRoom, str, dict[str, str]], Awaitable[None]]


class Play:
    """The pages and the actions of their buttons. Without `tables`, a page explains how to enable playing."""

    def __init__(self, upstream: Upstream, hub: Hub, views: Views, tables: PlayRooms | None) -> None:
        self._upstream = upstream
        self._hub = hub
        self._views = views
        self._tables = tables

    def addresses(self) -> list[Route]:
        doing: dict[str, Action] = {
            "move": _move,
            "resign": _resign,
            "again": lambda tables, table, _, form: tables.again(table, _game(form), swap=bool(form.get("swap"))),
            "back": lambda tables, table, key, form: tables.take_back(table, key, _game(form)),
            "leave": lambda tables, table, *_: tables.left(table),
        }
        return [
            Route("/play", self._menu, methods=["GET"]),
            Route("/play", self._sit_down, methods=["POST"]),
            Route("/play/{key}", self._table, methods=["GET"]),
            Route("/play/{key}/state", self._state, methods=["GET"]),
            *(Route(f"/play/{{key}}/{name}", self._done(action), methods=["POST"]) for name, action in doing.items()),
        ]

    async def _menu(self, request: Request) -> Response:
        asked = {name: request.query_params.get(name, first) for name, first in _FORM.items()}
        return await self._menu_shown(request, asked)

    async def _menu_shown(self, request: Request, values: Document, failure: Failure | None = None) -> Response:
        online: list[Document] = []
        if self._tables is not None:
            found = await self._upstream.ask(
                self._upstream.bots.ListBots, bots_pb2.ListBotsRequest(online_only=True, page_size=_MOST_BOTS)
            )
            online = [bot for bot in found["bots"] if not self._tables.is_seat(bot["name"])]
        shown: Document = {"house": HOUSE, "bots": online, "values": values, "server": self._upstream.address}
        return await self._views.page(request, "play", failure, open=self._tables is not None, **shown)

    async def _sit_down(self, request: Request) -> Response:
        form = await read_form(request)
        values = {name: form.get(name, first).strip() for name, first in _FORM.items()}
        values["variant"] = values["other"] or values["variant"]
        try:
            wish = Wish(values["opponent"], values["variant"], values["begins"], values["mark"], time_of(values))
            table = await self._need_tables().open(wish, address_of(request.scope))
        except Failure as failure:
            return await self._menu_shown(request, values, in_form(failure, _FORM))
        return RedirectResponse(f"/play/{table.keys[0]}", 303)

    async def _table(self, request: Request) -> Response:
        key = request.path_params["key"]
        table = self._need_tables().find(key)
        invites = table.wish.opponent == PERSON and key == table.keys[0]
        return await self._views.page(
            request,
            "table",
            headers={"cache-control": "no-store"},
            table=_shown(table, key),
            **await known_game(self._upstream, self._hub, table.game),
            invitation=f"{self._views.base(request)}/play/{table.keys[1]}" if invites else "",
        )

    async def _state(self, request: Request) -> Response:
        key = request.path_params["key"]
        return _json(_shown(self._need_tables().find(key), key))

    def _done(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        """Wrap an action: its handler returns the new state of the table, or the failure as JSON."""

        async def answer(request: Request) -> Response:
            key = request.path_params["key"]
            try:
                form = await read_form(request)
                tables = self._need_tables()
                table = tables.find(key)
                await action(tables, table, key, form)
            except Failure as failure:
                return _json({"message": failure.message, "hint": failure.hint}, failure.status)
            return _json(_shown(table, key))

        return answer

    def _need_tables(self) -> PlayRooms:
        if self._tables is None:
            raise Failure(404, "This website offers no games.", "The Play page explains how to enable them.")
        return self._tables


async def _move(tables: PlayRooms, table: PlayRoom, key: str, form: dict[str, str]) -> None:
    cell, ply = (whole_number(field, form.get(field, ""), 0, _MOST_CELLS) for field in ("cell", "ply"))
    _require_same_game(table, form)
    if ply % 2 not in table.sides(key):
        raise Failure(409, "It is not your turn.")
    await table.guest(ply % 2).move(cell, ply)


async def _resign(tables: PlayRooms, table: PlayRoom, key: str, form: dict[str, str]) -> None:
    _require_same_game(table, form)
    sides = table.sides(key)
    to_move = len(max((guest.moves for guest in table.guests), key=len)) % 2
    table.guest(to_move if len(sides) == 2 else sides[0]).resign()


def _game(form: dict[str, str]) -> str:
    """Return the name of the game that the button belongs to."""
    return form.get("game", "")


def _require_same_game(table: PlayRoom, form: dict[str, str]) -> None:
    if _game(form) != table.game:
        raise Failure(409, "That was the previous game; this is the next one.")


def _shown(table: PlayRoom, key: str) -> Document:
    """Return what a browser needs to know of the table, without its game."""
    sides = table.sides(key)
    return {
        "game": table.game,
        "sides": list(sides),
        "marks": table.marks,
        "names": [_name(table, side, sides) for side in (0, 1)],
        "waiting": table.wish.opponent == PERSON and not table.joined,
        "opening": len(table.opening),
        "can_take_back": table.wish.opponent != PERSON,
        "same_screen": table.wish.opponent == SAME_SCREEN,
    }


def _name(table: PlayRoom, side: int, own: tuple[int, ...]) -> str:
    """Return the name of the player of a side, as shown to the visitor who plays the sides `own`."""
    if len(own) == 2:
        return table.marks[side]
    if side in own:
        return "You"
    return "The other person" if table.wish.opponent == PERSON else re.split("[:/]", table.wish.opponent, maxsplit=1)[1]


def _json(shown: Document, status: int = 200) -> Response:
    return Response(json_bytes(shown), status, {"cache-control": "no-store"}, media_type=JSON)
