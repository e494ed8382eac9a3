"""The form for a new tournament."""

from typing import Any

import grpc.aio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import tournaments_pb2
from noughts_server.competition.formats import FORMATS, format_named
from noughts_server.competition.tournament_settings import OPTIONS, TournamentSettings
from noughts_server.convert.settings import settings_message
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import tournament_name
from noughts_server.web.documents import Document
from noughts_server.web.forms import LARGEST_NUMBER, in_form, number_of, time_of, whole_number, wrong
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure

_FORMATS = {str(kind).replace("-", "_"): f"{kind.title}: {kind.summary}" for kind in FORMATS}
_EMPTY = (
    "id",
    "title",
    "move",
    "concurrency",
    "entries_min",
    "entries_max",
    "openings",
    "plies",
    "seed",
    "repeat",
    *OPTIONS,
)
_DEFAULTS = {"variant": "tictactoe", "schedule": "round_robin", "games_per_pair": "2", "bank": "60", "increment": "0.5"}
_FORM: Document = {**dict.fromkeys(_EMPTY, ""), **_DEFAULTS, "rated": "on"}
"""Fields of the form and their defaults."""
_FORM_NAMES = {"name": "id", "kind": "openings", "openings": "plies"}
"""Fields of the API whose fields in the form have other names."""
_NUMBERS = dict.fromkeys(("games_per_pair", "concurrency"), LARGEST_NUMBER)
"""Numeric fields of the settings, with their largest values; an empty one means the default."""
_NUMBERS.update({name: option.most for name, option in OPTIONS.items() if type(option.default) is int})
_SWITCHES = tuple(name for name, option in OPTIONS.items() if type(option.default) is bool)
_TEXTS = tuple(name for name, option in OPTIONS.items() if type(option.default) is str)
_RARE = {*OPTIONS, "openings", "plies", "concurrency", "entries_min", "entries_max", "seed"} - {"rounds", "sprt"}
"""Fields of the part of the form that is closed if all of them are empty."""


async def organise_page(website: Website, request: Request, person: Person) -> Response:
    return await _page(website, request, _FORM)


async def _page(website: Website, request: Request, values: Document, failure: Failure | None = None) -> Response:
    return await website.views.page(
        request, "organise.html.jinja", failure, values=values, formats=_FORMATS, rare=_RARE
    )


async def create_tournament(website: Website, request: Request, person: Person) -> Response:
    form, upstream = await read_form(request), website.upstream
    values = {name: form.get(name, "").strip() for name in _FORM}
    try:
        create = tournaments_pb2.CreateTournamentRequest(tournament=_tournament(values))
        created = await upstream.ask(upstream.tournaments.CreateTournament, create, person.token)
    except Failure as failure:
        if failure.status == 401:
            raise
        cause = failure.__cause__
        if isinstance(cause, grpc.aio.AioRpcError) and cause.code() is grpc.StatusCode.ALREADY_EXISTS:
            failure = Failure(409, "This name is already taken.", "Choose another.", field="id")
        return await _page(website, request, values, in_form(failure, _FORM, _FORM_NAMES))
    return RedirectResponse(f"/{created['tournament']['name']}", 303)


def _tournament(values: Document) -> tournaments_pb2.Tournament:
    """Return the tournament that the form describes. Raises Failure."""
    if values["schedule"] not in _FORMATS:
        raise wrong("schedule", values["schedule"], f"one of {', '.join(_FORMATS)}")
    if not values["id"]:
        raise wrong("id", "", "1 to 63 characters from a-z, 0-9 and -")
    options: dict[str, Any] = {field: values[field] for field in ("title", "variant", *_TEXTS)}
    options |= {field: number for field, limit in _NUMBERS.items() if (number := number_of(values, field, limit))}
    options |= {field: bool(values[field]) for field in _SWITCHES}
    settings = TournamentSettings(
        schedule=format_named(values["schedule"]),
        time=time_control(time_of(values)),
        rated=bool(values["rated"]),
        **options,
    )
    seed = whole_number("seed", values["seed"], 0, 2**64 - 1) if values["seed"] else None
    tournament = settings_message(settings, seed=seed)
    tournament.name = tournament_name(values["id"])
    tournament.entries_min = number_of(values, "entries_min")
    tournament.entries_max = number_of(values, "entries_max")
    if values["openings"]:
        openings = tournaments_pb2.Openings(kind=values["openings"], plies=number_of(values, "plies"))
        tournament.openings.CopyFrom(openings)
    if values["repeat"]:
        tournament.repeat = tournaments_pb2.REPEAT_WEEKLY
    return tournament
