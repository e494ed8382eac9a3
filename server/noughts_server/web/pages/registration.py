"""Registering with an invitation or a proof of work, and the page that follows the first bot."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.security import host_of, is_loopback
from noughts_proto.transport import DEFAULT_SERVER
from noughts_proto.v1 import bots_pb2, games_pb2, registration_pb2, status_pb2, tournaments_pb2
from noughts_server.web.documents import Document
from noughts_server.web.example_bots import example_bots
from noughts_server.web.forms import in_form
from noughts_server.web.known_game import known_game
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import Visitor, read_form, signed_in
from noughts_server.web.upstream import Failure

_FORM = ("invitation", "name", "challenge", "solution")
_MOST_BOTS = 5
_RECENT = 10
"""Games of the newcomer that its page counts as its form."""
_SECRET = {"cache-control": "private, no-store"}


async def invite_page(website: Website, request: Request) -> Response:
    """Return the form. The link of an invitation has the secret after `#`, which browsers send to no server."""
    return await _form(website, request, dict.fromkeys(_FORM, ""))


async def _form(website: Website, request: Request, values: dict[str, str], failure: Failure | None = None) -> Response:
    upstream = website.upstream
    offer = await upstream.ask(upstream.registration.GetRegistration, registration_pb2.GetRegistrationRequest())
    # A challenge is for one visitor only.
    return await website.views.page(request, "invite.html.jinja", failure, _SECRET, offer=offer, values=values)


async def register(website: Website, request: Request) -> Response:
    """Register the visitor, sign them in, and show their token once."""
    form = await read_form(request)
    values = {name: form.get(name, "").strip() for name in _FORM}
    upstream = website.upstream
    register = registration_pb2.RegisterRequest(
        name=values["name"],
        # Visitors without scripts paste the complete link.
        invitation=values["invitation"].rpartition("#")[2],
        proof=registration_pb2.ProofOfWork(challenge=values["challenge"], solution=values["solution"]),
    )
    # Ask first: if the server did not answer later, the new token would be lost.
    status = await upstream.ask(upstream.status.GetStatus, status_pb2.GetStatusRequest())
    try:
        answer = await upstream.register(register)
    except Failure as failure:
        return await _form(website, request, values, in_form(failure, _FORM))
    entered = await entered_tournament(website, answer["tournament"])
    page = await website.views.page(
        request,
        "registered.html.jinja",
        None,
        _SECRET,
        visitor=Visitor(answer["secret"]),
        owner=answer["token"]["owner"],
        scopes=answer["token"]["scopes"],
        secret=answer["secret"],
        tournament=answer["tournament"],
        entered=entered,
        accepts=status["accepts"],
        example_bots=example_bots(website.views.base(request)),
        server=_server_option(website.views.base(request), status["address"]),
    )
    return signed_in(page, answer["secret"], secure=website.secure)


async def entered_tournament(website: Website, name: str) -> Document | None:
    """Return a tournament that newcomers enter; None if there is none, or if the server does not answer."""
    upstream = website.upstream
    with suppress(Failure):
        if name:
            request = tournaments_pb2.GetTournamentRequest(name=name)
            answer = await upstream.ask(upstream.tournaments.GetTournament, request)
            tournament: Document = answer["tournament"]
            return tournament
    return None


def _server_option(base: str, address: str) -> str:
    """Return the option with which commands of the visitor reach the server; empty if they need none.

    A server that listens on this machine only, or everywhere, is named by the host of the website.
    """
    host = urlsplit(base).hostname or ""
    port = address.rpartition(":")[2]
    is_local = is_loopback(host_of(address)) or not host_of(address).strip("[]0.:")
    reachable = f"{host}:{port}" if is_local and not is_loopback(host) else address
    return "" if reachable == DEFAULT_SERVER else f"--server {reachable}"


async def first_game_page(website: Website, request: Request, person: Person) -> Response:
    """Show the user's newcomer: whether it is online, its live or last game, its rating, and how it stops."""
    own = await _newcomer(website, await website.bots_of(person))
    entered = await entered_tournament(website, own["entered"][0]) if own and own["entered"] else None
    return await website.views.page(request, "first_game.html.jinja", own=own, entered=entered)


async def _newcomer(website: Website, bots: list[Document]) -> Document | None:
    """Return the bot that the page of the first game shows, with its games; None without an active bot.

    It is one that plays now, else one that is online, else the first one.
    """
    upstream = website.upstream
    active = [bot for bot in bots if not bot["retire_time"]][:_MOST_BOTS]
    if not active:
        return None
    requests = [bots_pb2.GetBotRequest(name=bot["name"]) for bot in active]
    answers = await asyncio.gather(*(upstream.ask(upstream.bots.GetBot, get_bot) for get_bot in requests))
    bot, answer = max(
        zip(active, answers, strict=True), key=lambda each: (bool(each[1]["running_game"]), each[0]["online"])
    )
    list_games = games_pb2.ListGamesRequest(parent=bot["name"], page_size=_RECENT)
    games: list[Document] = (await upstream.ask(upstream.games.ListGames, list_games))["games"]
    live: Document | None = None
    if answer["running_game"]:
        with suppress(Failure):  # the game can have ended meanwhile
            live = (await known_game(upstream, website.hub, answer["running_game"]))["game"]
    return {
        "bot": bot,
        "entered": answer["entered"],
        "is_uploaded": bool(answer["versions"] and answer["versions"][0]["submission"]),
        "live": live if live and live["state"] == "running" else None,
        "games": games,
    }
