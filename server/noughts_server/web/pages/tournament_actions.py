"""Actions on a tournament for organisers and authors: start, pause, cancel, repeat, join, withdraw and extend."""

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_referee.rules import covers
from noughts_server.competition.formats import format_named
from noughts_server.competition.formats.round_robin import RoundRobinFormat
from noughts_server.competition.formats.tournament_format import FixedPairings
from noughts_server.core.resource_names import tournament_name
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.forms import number_of
from noughts_server.web.joining import takes_entries
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure

_MOST_PROPOSED = 200
"""Limit of the bots that are searched for those open to organisers."""


async def permitted_actions(
    website: Website, request: Request, tournament: Document, crosstable: Document
) -> Document | None:
    """Return the actions that the signed-in user can perform on the tournament; None if no user is signed in."""
    person = await website.person(request)
    if person is None:
        return None
    bots = await website.bots_of(person)
    players = [bot for bot in bots if covers(bot["declared_variants"], str(tournament["variant"]))]
    own_names = {bot["name"] for bot in bots}
    entered_names = {words.bot(row["bot_version"]) for row in tournament["standings"]}
    is_organiser = person.is_admin or tournament["owner"] == person.owner
    open_bots, has_more = (
        await _open_bots(website, tournament, own_names | entered_names) if is_organiser else ([], False)
    )
    return {
        "organises": is_organiser,
        "bots": [bot for bot in players if bot["name"] not in entered_names] if takes_entries(tournament) else [],
        "has_bots": bool(bots),
        "open_bots": open_bots,
        "guests": bool(open_bots) or has_more,
        "takes_entries": takes_entries(tournament),
        "entries": [
            {**row, "games_left": _games_left(tournament, crosstable, row)}
            for row in _withdrawable(tournament, own_names, is_organiser=is_organiser, is_admin=person.is_admin)
        ],
        "actions": _actions(tournament) if is_organiser else [],
        "concedes": not person.is_admin and is_organiser and _concedes(tournament, own_names),
        "repeats": is_organiser and tournament["repeat"] is not None,
        "adds": _extended_setting(tournament),
    }


def _withdrawable(
    tournament: Document, own_bots: Collection[str], *, is_organiser: bool, is_admin: bool
) -> list[Document]:
    """Return the rows of the entries that the user can withdraw.

    In a rated tournament that has begun, an organiser whose bots play in it can withdraw only these bots.
    """
    if tournament["state"] in ("finished", "cancelled"):
        return []
    active = [row for row in tournament["standings"] if not row["withdraw_time"]]
    if is_admin or (is_organiser and not _concedes(tournament, own_bots)):
        return active
    return [row for row in active if words.bot(row["bot_version"]) in own_bots]


def _concedes(tournament: Document, own_bots: Collection[str]) -> bool:
    """Return whether bots of the organiser lose the games that the organiser stops: they play rated games of others."""
    own = [words.bot(row["bot_version"]) in own_bots for row in tournament["standings"]]
    return tournament["state"] != "open" and tournament["rated"] and any(own) and not all(own)


def _games_left(tournament: Document, crosstable: Document, row: Document) -> int:
    """Return how many games of an entry are scheduled and not over; 0 if the number is unknown."""
    label = row["label"]
    pairings = crosstable["matches"] or crosstable["encounters"]
    if pairings:
        return sum(int(each["games_left"]) for each in pairings if label in (each["first"], each["second"]))
    if tournament["sprt"] or not isinstance(format_named(str(tournament["schedule"])), RoundRobinFormat):
        return 0
    opponents = len(tournament["standings"]) - 1
    return max(0, opponents * int(tournament["games_per_pair"]) - int(row["wins"] + row["draws"] + row["losses"]))


async def _open_bots(website: Website, tournament: Document, others: Collection[str]) -> tuple[list[str], bool]:
    """Return the names of bots that an organiser can enter in this tournament now, and whether there can be more.

    The bots `others` are not among them.
    """
    if not takes_entries(tournament):
        return [], False
    list_bots = bots_pb2.ListBotsRequest(page_size=_MOST_PROPOSED, order="rating")
    page = await website.upstream.ask(website.upstream.bots.ListBots, list_bots)
    names = [
        words.short(bot["name"])
        for bot in page["bots"]
        if bot["open_to_organisers"]
        and bot["name"] not in others
        and covers(bot["declared_variants"], str(tournament["variant"]))
    ]
    return names, bool(page["next_page_token"])


async def start(website: Website, request: Request, person: Person) -> Response:
    await read_form(request)
    name = _name(request)
    message = tournaments_pb2.StartTournamentRequest(name=name)
    await website.upstream.call(website.upstream.tournaments.StartTournament, message, person.token)
    return RedirectResponse(f"/{name}", 303)


async def pause(website: Website, request: Request, person: Person) -> Response:
    await read_form(request)
    name = _name(request)
    message = tournaments_pb2.PauseTournamentRequest(name=name)
    await website.upstream.call(website.upstream.tournaments.PauseTournament, message, person.token)
    return RedirectResponse(f"/{name}", 303)


async def cancel(website: Website, request: Request, person: Person) -> Response:
    await read_form(request)
    name = _name(request)
    message = tournaments_pb2.CancelTournamentRequest(name=name)
    await website.upstream.call(website.upstream.tournaments.CancelTournament, message, person.token)
    return RedirectResponse(f"/{name}", 303)


async def stop_repeating(website: Website, request: Request, person: Person) -> Response:
    """Stop a tournament from repeating, and show its newest season."""
    await read_form(request)
    message = tournaments_pb2.StopRepeatingRequest(name=_name(request))
    stopped = await website.upstream.call(website.upstream.tournaments.StopRepeating, message, person.token)
    return RedirectResponse(f"/{stopped.tournament.name}", 303)


async def join(website: Website, request: Request, person: Person) -> Response:
    """Enter a bot of the user (the field `bot`), or as the organiser a bot of another owner (the field `guest`)."""
    form, name = await read_form(request), _name(request)
    field = "guest" if "guest" in form else "bot"
    text = form.get(field, "").strip()
    bot = text if text.startswith("bots/") else f"bots/{text}"
    message = tournaments_pb2.JoinTournamentRequest(name=name, bot=bot, label=form.get("label", ""))
    try:
        await website.upstream.call(website.upstream.tournaments.JoinTournament, message, person.token)
    except Failure as failure:
        if failure.status == 404:
            raise Failure(404, f"There is no bot {words.short(bot)}.", "Check its name.", field=field) from failure
        if failure.status in (400, 403, 409):
            if failure.expected:
                failure.message = f"{words.short(bot)} is not {failure.expected}."
                failure.expected = ""  # the page shows the message
            failure.field = field
        raise
    return RedirectResponse(f"/{name}", 303)


async def withdraw(website: Website, request: Request, person: Person) -> Response:
    form, name = await read_form(request), _name(request)
    message = tournaments_pb2.WithdrawTournamentRequest(name=name, label=form.get("label", ""))
    await website.upstream.call(website.upstream.tournaments.WithdrawTournament, message, person.token)
    return RedirectResponse(f"/{name}", 303)


async def extend(website: Website, request: Request, person: Person) -> Response:
    form, name = await read_form(request), _name(request)
    message = tournaments_pb2.ExtendTournamentRequest(
        name=name, games_per_pair=number_of(form, "games_per_pair"), rounds=number_of(form, "rounds")
    )
    await website.upstream.call(website.upstream.tournaments.ExtendTournament, message, person.token)
    return RedirectResponse(f"/{name}", 303)


def _name(request: Request) -> str:
    return tournament_name(request.path_params["tournament"])


def _extended_setting(tournament: Document) -> str:
    """Return the setting that can be raised after the start; empty if the format has none."""
    tournament_format = format_named(str(tournament["schedule"]))
    if "rounds" in tournament_format.own_settings:
        return "rounds"
    return "games_per_pair" if isinstance(tournament_format, FixedPairings) else ""


def _actions(tournament: Document) -> list[str]:
    extend = ["extend"] if _extended_setting(tournament) else []
    return {
        "open": ["start", "cancel"],
        "running": ["pause", "cancel", *extend],
        "paused": ["start", "cancel", *extend],
        "finished": extend,
    }.get(tournament["state"], [])
