"""Playing in the browser: the page that opens a table, and the table itself with the actions of its buttons."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import bots_pb2
from noughts_referee.rules import VariantError
from noughts_server.core.board_geometry import geometry
from noughts_server.core.messages import _, in_language
from noughts_server.drawing.board_svg import side_names
from noughts_server.web import words
from noughts_server.web.api import JSON, json_bytes
from noughts_server.web.documents import Document
from noughts_server.web.forms import in_form, time_control_of, whole_number
from noughts_server.web.house_bots import (
    HOUSE_BOTS,
    LEVEL_VARIANTS,
    MODERATE,
    STRENGTH_WORDS,
    HouseBot,
    best_fit,
    house_bots,
    level_bots,
    main_bots,
    strengths,
    strengths_of,
    stronger,
)
from noughts_server.web.known_game import known_game
from noughts_server.web.pages.website import Website
from noughts_server.web.play_tables import BEGINS, HOUSE_KIND, LOT, PERSON, SAME_SCREEN, YOU, PlayTable, Wish
from noughts_server.web.ratings import shown_rating
from noughts_server.web.signin import read_form
from noughts_server.web.start_position import start_moves
from noughts_server.web.upstream import Failure
from noughts_server.web.visitors import address_of

_TABLE_PAGE = "play/table.html.jinja"
_BROWSER = "noughts_browser"
"""The cookie with the random id of a browser."""
_LONGEST_BROWSER = 64
_MOST_BOTS = 200
_USUAL = {"opponent": "", "variant": "tictactoe", "begins": LOT, "mark": BEGINS}
_FORM = {**_USUAL, **dict.fromkeys(("other", "bank", "increment", "move", "moves"), "")}
"""Fields of the form and their defaults. Without an opponent, the form proposes a bot of the website."""
_HOUSE_NAMES = frozenset(bot.name for bot in HOUSE_BOTS)
_MOST_CELLS = 2**16
"""No board has more cells, and no game more plies."""


async def play_page(website: Website, request: Request) -> Response:
    """Return the form for a game. Without play tables, the page explains how to enable playing."""
    values = {name: request.query_params.get(name, default) for name, default in _FORM.items()}
    if values["moves"] and "begins" not in request.query_params:
        values["begins"] = YOU
    return await _form_page(website, request, values)


async def _form_page(website: Website, request: Request, values: Document, failure: Failure | None = None) -> Response:
    play_tables, upstream = website.play_tables, website.upstream
    moves = start_moves(values["variant"], values["moves"])
    bots: list[Document] = []
    if play_tables is not None:
        list_online = bots_pb2.ListBotsRequest(
            online_only=True, page_size=_MOST_BOTS, order="rating", with_view_ratings=True
        )
        online = (await upstream.ask(upstream.bots.ListBots, list_online))["bots"]
        bots = [
            bot
            for bot in online
            if not play_tables.is_seat(bot["name"]) and words.short(bot["name"]) not in _HOUSE_NAMES
        ]
        bots.sort(key=lambda bot: shown_rating(bot["summary"]), reverse=True)
    levels = level_bots(bots)
    level_names = {bot["name"] for bot in levels.values()}
    own_tables = [] if play_tables is None else play_tables.tables_of(request.cookies.get(_BROWSER, ""))
    is_proposed = not values["opponent"] or (failure is not None and failure.field == "opponent")
    if is_proposed:
        values = {**values, "opponent": _proposed_bot(values["variant"])}
    known_strengths = _strengths(values["variant"])
    return await website.views.page(
        request,
        "play/play.html.jinja",
        failure,
        open=play_tables is not None,
        own_tables=[
            {
                "key": table.keys[0],
                "variant": table.wish.variant,
                "over": table.over,
                **_state(website, request, table, table.keys[0]),
            }
            for table in own_tables
        ],
        proposed=is_proposed,
        house=_house(values["variant"], only_players=bool(moves)),
        strengths=known_strengths,
        strengths_of=strengths_of,
        main_bots=_main_bots,
        strength_words=STRENGTH_WORDS,
        usual_strength=MODERATE,
        start={"variant": values["variant"], "moves": list(moves), "board": geometry(values["variant"])}
        if moves
        else None,
        bots=[bot for bot in bots if bot["name"] not in level_names],
        level_bots=levels,
        levels=LEVEL_VARIANTS,
        values=values,
        server=upstream.address,
    )


def _proposed_bot(variant: str) -> str:
    """Return the opponent that the form proposes for this variant."""
    try:
        return f"{HOUSE_KIND}{best_fit(variant).spec}"
    except VariantError:
        return PERSON


def _strengths(variant: str) -> Mapping[str, int]:
    """Return the strengths of the bots that play this variant, by spec; empty for an unknown variant."""
    try:
        return strengths(variant)
    except VariantError:
        return {}


def _main_bots(variant: str) -> list[HouseBot]:
    """Return the bots that the form shows first: one of each strength; for an unknown variant, all but the levels."""
    try:
        return list(main_bots(variant).values())
    except VariantError:
        return [bot for bot in HOUSE_BOTS if not bot.is_level]


def _house(variant: str, *, only_players: bool) -> list[HouseBot]:
    """Return the bots of the website, those that play this variant first, the weakest of them first."""
    try:
        players = house_bots(variant)
    except VariantError:
        players = []
    others = [] if only_players else [bot for bot in HOUSE_BOTS if bot not in players]
    return [*players, *others]


async def open_table(website: Website, request: Request) -> Response:
    form = await read_form(request)
    values = {name: form.get(name, default).strip() for name, default in _FORM.items()}
    values["variant"] = values["other"] or values["variant"]
    try:
        wish = Wish(
            opponent=values["opponent"],
            variant=values["variant"],
            begins=values["begins"],
            mark=values["mark"],
            time=time_control_of(values),
            moves=start_moves(values["variant"], values["moves"]),
        )
        browser = request.cookies.get(_BROWSER, "")[:_LONGEST_BROWSER] or secrets.token_urlsafe(12)
        table = await website.tables().open(wish, address_of(request.scope), browser)
    except Failure as failure:
        if failure.field == "moves":
            raise
        return await _form_page(website, request, values, in_form(failure, _FORM))
    redirect = RedirectResponse(f"/play/{table.keys[0]}", 303)
    # It distinguishes the browsers behind one address, and lets the Play page list the visitor's tables.
    redirect.set_cookie(_BROWSER, browser, path="/play", secure=website.secure, httponly=True, samesite="strict")
    return redirect


async def close_table(website: Website, request: Request) -> Response:
    """Remove a table of the visitor, and return to the Play page."""
    await read_form(request)
    tables = website.tables()
    with suppress(Failure):  # it is already removed
        await tables.shut(tables.find(request.path_params["key"]))
    return RedirectResponse("/play", 303)


async def table_page(website: Website, request: Request) -> Response:
    key = request.path_params["key"]
    table = website.tables().find(key)
    invites = table.wish.opponent == PERSON and key == table.keys[0]
    with in_language(website.views.language(request, _TABLE_PAGE)):
        stronger_game = _stronger_game(table)
    return await website.views.page(
        request,
        _TABLE_PAGE,
        headers={"cache-control": "no-store"},
        table=_state(website, request, table, key),
        swapped=table.noughts_begin,
        stronger=stronger_game,
        page_address=f"{website.views.base(request)}/{table.game}",
        **await known_game(website.upstream, website.hub, table.game),
        invitation=f"{website.views.base(request)}/play/{table.keys[1]}" if invites else "",
    )


def _stronger_game(table: PlayTable) -> Document | None:
    """Return the form of the same game against the next stronger bot of the website; None if there is none."""
    wish = table.wish
    spec = wish.opponent.removeprefix(HOUSE_KIND)
    bot = stronger(wish.variant, spec) if wish.opponent.startswith(HOUSE_KIND) else None
    if bot is None:
        return None
    seconds = {"bank": wish.time.bank_us, "increment": wish.time.increment_us, "move": wish.time.move_us}
    return {
        "name": bot.name,
        "strength": _strength_words(wish.variant, bot.spec).replace(" ", "\N{NO-BREAK SPACE}"),
        "fields": {
            "opponent": f"{HOUSE_KIND}{bot.spec}",
            "variant": wish.variant,
            "begins": wish.begins,
            "mark": wish.mark,
            "moves": ",".join(map(str, wish.moves)),
            **{field: f"{time_us / 1e6:g}" if time_us else "" for field, time_us in seconds.items()},
        },
    }


def _strength_words(variant: str, spec: str) -> str:
    """Return the strength of a bot of the website in this variant, e.g. `4: moderate`."""
    strength = strengths(variant)[spec]
    return f"{strength}: {_(STRENGTH_WORDS[strength - 1])}"


async def table_state(website: Website, request: Request) -> Response:
    key = request.path_params["key"]
    return _json(_state(website, request, website.tables().find(key), key))


async def move(website: Website, request: Request) -> Response:
    async def act(table: PlayTable, key: str, form: dict[str, str]) -> None:
        cell, ply = (whole_number(field, form.get(field, ""), 0, _MOST_CELLS) for field in ("cell", "ply"))
        _require_same_game(table, form)
        _require_turn(table, key, ply)
        await table.guest(ply % 2).move(cell, ply)

    return await _act(website, request, act)


async def hint(website: Website, request: Request) -> Response:
    """Return a good move for the visitor, who is to move, as JSON."""
    try:
        form = await read_form(request)
        table = website.tables().find(request.path_params["key"])
        _require_same_game(table, form)
        ply = whole_number("ply", form.get("ply", ""), 0, _MOST_CELLS)
        _require_turn(table, request.path_params["key"], ply)
        cell = await website.tables().hint(table, ply)
    except Failure as failure:
        return _refusal(failure)
    return _json({"ply": ply, "cell": cell})


async def resign(website: Website, request: Request) -> Response:
    async def act(table: PlayTable, key: str, form: dict[str, str]) -> None:
        _require_same_game(table, form)
        sides = table.sides(key)
        to_move = len(max((guest.moves for guest in table.guests), key=len)) % 2
        table.guest(to_move if len(sides) == 2 else sides[0]).resign()

    return await _act(website, request, act)


async def play_again(website: Website, request: Request) -> Response:
    async def act(table: PlayTable, key: str, form: dict[str, str]) -> None:
        await website.tables().again(table, _game(form), swap=bool(form.get("swap")))

    return await _act(website, request, act)


async def take_back(website: Website, request: Request) -> Response:
    async def act(table: PlayTable, key: str, form: dict[str, str]) -> None:
        ply = whole_number("ply", form["ply"], 0, _MOST_CELLS) if "ply" in form else None
        await website.tables().take_back(table, key, _game(form), ply)

    return await _act(website, request, act)


async def leave(website: Website, request: Request) -> Response:
    async def act(table: PlayTable, key: str, form: dict[str, str]) -> None:
        await website.tables().note_left(table)

    return await _act(website, request, act)


async def _act(
    website: Website, request: Request, act: Callable[[PlayTable, str, dict[str, str]], Awaitable[None]]
) -> Response:
    """Carry out the action of a button. Return the new state of the table, or the failure, as JSON."""
    key = request.path_params["key"]
    try:
        form = await read_form(request)
        table = website.tables().find(key)
        await act(table, key, form)
    except Failure as failure:
        return _refusal(failure)
    return _json(_state(website, request, table, key))


def _game(form: dict[str, str]) -> str:
    """Return the name of the game that the button belongs to."""
    return form.get("game", "")


def _require_same_game(table: PlayTable, form: dict[str, str]) -> None:
    if _game(form) != table.game:
        raise Failure(409, "That was the previous game; this is the next one.")


def _require_turn(table: PlayTable, key: str, ply: int) -> None:
    if ply % 2 not in table.sides(key):
        raise Failure(409, "It is not your turn.")


def _refusal(failure: Failure) -> Response:
    """Return the failure of a button, whose words the page shows."""
    return _json({"message": words.explained(failure), "hint": words.advice(failure)}, failure.status)


def _state(website: Website, request: Request, table: PlayTable, key: str) -> Document:
    """Return what a browser needs to know of the table, without its game, in the visitor's language."""
    with in_language(website.views.language(request, _TABLE_PAGE)):
        return _state_in_active_language(table, key)


def _state_in_active_language(table: PlayTable, key: str) -> Document:
    sides = table.sides(key)
    return {
        "game": table.game,
        "sides": list(sides),
        "pieces": _pieces(table),
        "names": [_name(table, side, sides) for side in (0, 1)],
        "waiting": table.wish.opponent == PERSON and not table.joined,
        "start": len(table.wish.moves),
        "opening": len(table.opening),
        "can_take_back": table.wish.opponent != PERSON,
        "same_screen": table.wish.opponent == SAME_SCREEN,
        "points": table.points,
        "has_hints": table.has_hints,
        "bots": [_bot(table, side, sides) for side in (0, 1)],
    }


def _pieces(table: PlayTable) -> tuple[str, str]:
    """Return the names of the sides' pieces: `Red` and `Yellow`, or `O` and `X`."""
    board = geometry(table.wish.variant)
    return side_names(board["look"] if board else "marks", swapped=table.noughts_begin)


def _name(table: PlayTable, side: int, own: tuple[int, ...]) -> str:
    """Return the name of the player of a side, as shown to the visitor who plays the sides `own`."""
    if len(own) == 2:
        return _pieces(table)[side]
    if side in own:
        return _("You")
    if table.wish.opponent == PERSON:
        return _("The other person")
    spec = table.wish.opponent.removeprefix(HOUSE_KIND)
    return next((bot.name for bot in HOUSE_BOTS if bot.spec == spec), spec.removeprefix("bots/"))


def _bot(table: PlayTable, side: int, own: tuple[int, ...]) -> Document | None:
    """Return the name and the strength of the bot that plays this side; None for a person."""
    opponent = table.wish.opponent
    if side in own or opponent == PERSON:
        return None
    is_house = opponent.startswith(HOUSE_KIND)
    strength = _strength_words(table.wish.variant, opponent.removeprefix(HOUSE_KIND)) if is_house else ""
    return {"name": _name(table, side, own), "strength": strength}


def _json(document: Document, status: int = 200) -> Response:
    return Response(json_bytes(document), status, {"cache-control": "no-store"}, media_type=JSON)
