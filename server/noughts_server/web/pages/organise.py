"""The page with the form for a new tournament."""

import grpc.aio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import tournaments_pb2
from noughts_server.core.resource_names import tournament_name
from noughts_server.web import new_tournament
from noughts_server.web.documents import Document
from noughts_server.web.estimate import estimate_of
from noughts_server.web.forms import in_form
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure


async def organise_page(website: Website, request: Request, person: Person) -> Response:
    """Return the page with an empty form."""
    values = new_tournament.EMPTY_FORM
    if copied := request.query_params.get("from"):
        get = tournaments_pb2.GetTournamentRequest(name=tournament_name(copied))
        tournament = await website.upstream.ask(website.upstream.tournaments.GetTournament, get)
        values = new_tournament.values_of(tournament["tournament"])
    return await _page(website, request, values)


async def estimate_part(website: Website, request: Request) -> Response:
    """Return the estimate for the fields in the address, which the script of the form shows."""
    values = _values(dict(request.query_params))
    return await website.views.page(request, "estimate.html.jinja", estimate=estimate_of(values), values=values)


def _values(form: Document) -> Document:
    """Return the values of all fields; a typed variant replaces that of a tile."""
    values = {name: str(form.get(name, "")).strip() for name in new_tournament.EMPTY_FORM}
    return {**values, "variant": values["other"] or values["variant"]}


async def edit_page(website: Website, request: Request, person: Person) -> Response:
    """Return the form with the settings of an open tournament. Raises Failure if the user cannot change them."""
    name = tournament_name(request.path_params["tournament"])
    get = tournaments_pb2.GetTournamentRequest(name=name)
    tournament = (await website.upstream.ask(website.upstream.tournaments.GetTournament, get))["tournament"]
    if tournament["owner"] != person.owner and not person.is_admin:
        message = f"Only its organiser, {tournament['owner']}, can change the settings of this tournament."
        raise Failure(403, message, "Duplicate it to organise one with the same settings.")
    if tournament["state"] != "open":
        raise Failure(409, "The settings of a tournament are final from its start on.", "Duplicate it to change them.")
    return await _page(website, request, new_tournament.values_of(tournament, is_same=True), edited=name)


async def update_tournament(website: Website, request: Request, person: Person) -> Response:
    """Change the tournament as the form says, or return the page with the errors of the fields."""
    form, upstream = await read_form(request), website.upstream
    name = tournament_name(request.path_params["tournament"])
    values = {**_values(form), "id": name.partition("/")[2]}
    if "estimate" in form:
        return await _page(website, request, values, edited=name)
    try:
        update = tournaments_pb2.UpdateTournamentRequest(
            tournament=new_tournament.tournament_in(values),
            keep_openings=values["openings"] == new_tournament.KEEP_OPENINGS,
        )
        await upstream.ask(upstream.tournaments.UpdateTournament, update, person.token)
    except Failure as failure:
        if failure.status in (401, 403):
            raise
        fields = new_tournament.EMPTY_FORM
        in_this_form = failure if failure.field in fields else in_form(failure, fields, new_tournament.FORM_FIELDS)
        return await _page(website, request, values, in_this_form, edited=name)
    return RedirectResponse(f"/{name}", 303)


async def _page(
    website: Website, request: Request, values: Document, failure: Failure | None = None, *, edited: str = ""
) -> Response:
    """Return the form; `edited` is the name of the tournament that it changes, empty for a new one."""
    openings = dict(new_tournament.OPENING_CHOICES)
    if edited and values["openings"] == new_tournament.KEEP_OPENINGS:
        openings[new_tournament.KEEP_OPENINGS] = "the listed ones, as they are"
    return await website.views.page(
        request,
        "organise.html.jinja",
        failure,
        values=values,
        formats=new_tournament.FORMAT_CHOICES,
        openings=openings,
        edited=edited,
        repeats={value: words for value, (words, _) in new_tournament.REPEAT_CHOICES.items()},
        opening_rules=new_tournament.OPENING_RULE_CHOICES,
        advanced=new_tournament.ADVANCED_FIELDS,
        estimate=estimate_of(values),
    )


async def create_tournament(website: Website, request: Request, person: Person) -> Response:
    """Create the tournament that the form describes, or return the page with the errors of the fields."""
    form, upstream = await read_form(request), website.upstream
    values = _values(form)
    if "estimate" in form:
        return await _page(website, request, values)
    values["id"] = values["id"] or new_tournament.address_of(values["title"])
    try:
        create = tournaments_pb2.CreateTournamentRequest(tournament=new_tournament.tournament_in(values))
    except Failure as failure:
        return await _page(website, request, values, failure)
    try:
        created = await upstream.ask(upstream.tournaments.CreateTournament, create, person.token)
    except Failure as failure:
        if failure.status == 401:
            raise
        cause = failure.__cause__
        if isinstance(cause, grpc.aio.AioRpcError) and cause.code() is grpc.StatusCode.ALREADY_EXISTS:
            failure = Failure(409, "This name is already taken.", "Choose another.", field="id")
        failure_in_form = in_form(failure, new_tournament.EMPTY_FORM, new_tournament.FORM_FIELDS)
        return await _page(website, request, values, failure_in_form)
    return RedirectResponse(f"/{created['tournament']['name']}", 303)
