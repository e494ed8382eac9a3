"""Actions on a tournament for organisers and authors: start, pause, cancel, repeat, join, withdraw and extend."""

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_referee.rules import covers
from noughts_server.competition.conflict_of_interest import can_withdraw, has_conflict
from noughts_server.competition.formats import format_named
from noughts_server.core.resource_names import tournament_name
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.expected_games import games_of_each
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
    own_entries = [words.bot(row["bot_version"]) in own_names for row in tournament["standings"]]
    has_begun = tournament["state"] in ("running", "paused")
    concedes = (
        is_organiser
        and not person.is_admin
        and has_conflict(rated=tournament["rated"], has_begun=has_begun, own_bots=own_entries)
    )
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
            for row, is_own in zip(tournament["standings"], own_entries, strict=True)
            if _is_active(tournament, row)
            and can_withdraw(
                is_admin=person.is_admin, owns_bot=is_own, is_organiser=is_organiser, has_conflict=concedes
            )
        ],
        "actions": _actions(tournament) if is_organiser else [],
        "concedes": concedes,
        "repeats": is_organiser and tournament["repeat"] is not None,
        "adds": format_named(str(tournament["schedule"])).extended_setting,
    }


def _is_active(tournament: Document, row: Document) -> bool:
    """Return whether an entry has not been withdrawn, in a tournament that has not ended."""
    return tournament["state"] not in ("finished", "cancelled") and not row["withdraw_time"]


def _games_left(tournament: Document, crosstable: Document, row: Document) -> int:
    """Return how many games of an entry are scheduled and not over; 0 if the number is unknown."""
    label = row["label"]
    pairings = crosstable["matches"] or crosstable["encounters"]
    if pairings:
        return sum(int(each["games_left"]) for each in pairings if label in (each["first"], each["second"]))
    games = games_of_each(tournament)
    return 0 if games is None else max(0, games - int(row["wins"] + row["draws"] + row["losses"]))


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
            raise Failure(404, f"There is no bot “{words.short(bot)}”.", "Check its name.", field=field) from failure
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


def _actions(tournament: Document) -> list[str]:
    extend = ["extend"] if format_named(str(tournament["schedule"])).extended_setting else []
    # Players of a challenge wait for its games, so the server does not pause it.
    pause = [] if tournament["challenge"] else ["pause"]
    return {
        "open": ["start", "cancel"],
        "running": [*pause, "cancel", *extend],
        "paused": ["start", "cancel", *extend],
        "finished": extend,
    }.get(tournament["state"], [])
