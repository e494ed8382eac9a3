"""The queue of tests of bot versions, and the form for a new one; the page of a test is that of its match."""

import asyncio
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import bots_pb2, tests_pb2, tournaments_pb2, types_pb2
from noughts_server.core.resource_names import bot_name, short, test_name
from noughts_server.web import api_routes
from noughts_server.web.documents import Document
from noughts_server.web.forms import FormErrors, in_form, number_of, time_control_of, wrong
from noughts_server.web.pages.listing import list_page
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure

QUESTIONS = {
    "elo0=0,elo1=5": ("A little stronger", "5 Elo; up to tens of thousands of games"),
    "elo0=0,elo1=20": ("Stronger", "20 Elo; a few thousand games"),
    "elo0=0,elo1=50": ("Much stronger", "50 Elo; a few hundred games"),
    "elo0=-5,elo1=0": ("Not weaker", "within 5 Elo; up to tens of thousands of games"),
    "": ("Not in question", "plays all games and shows the result"),
}
"""The sequential tests that the form offers: what they decide, and how long that takes."""
_EMPTY_FORM = {
    "new": "",
    "new_number": "",
    "base": "",
    "base_number": "",
    "variant": "",
    "sprt": next(iter(QUESTIONS)),
    "games": "",
    "bank": "",
    "increment": "",
    "move": "",
    "title": "",
}
_FORM_FIELDS = {"new_version": "new", "base_version": "base", "games_per_pair": "games"}
"""The fields of the form for fields of the API that have another name there."""
_MOST_OPEN_BOTS = 1_000


async def tests_page(website: Website, request: Request) -> Response:
    page = await list_page(website, request, api_routes.TESTS, "owner", "search", "state")
    return await website.views.page(request, "tests.html.jinja", **page)


async def test_page(website: Website, request: Request) -> Response:
    """Redirect to the page of the match that plays the test."""
    get_test = tests_pb2.GetTestRequest(name=test_name(request.path_params["test"]))
    test = (await website.upstream.ask(website.upstream.tests.GetTest, get_test))["test"]
    return RedirectResponse(f"/{test['tournament']['name']}")


async def new_test_page(website: Website, request: Request, person: Person) -> Response:
    """Return the page with an empty form, or with the bot that the address names."""
    bot = request.query_params.get("bot", "")
    return await _form(website, request, person, {**_EMPTY_FORM, "new": bot, "base": bot})


async def _form(
    website: Website, request: Request, person: Person, values: Document, failure: Failure | None = None
) -> Response:
    online = bots_pb2.ListBotsRequest(online_only=True, page_size=_MOST_OPEN_BOTS)
    own_bots, others = await asyncio.gather(
        website.bots_of(person), website.upstream.ask(website.upstream.bots.ListBots, online)
    )
    return await website.views.page(
        request,
        "new_test.html.jinja",
        failure,
        own_bots=own_bots,
        open_bots=[bot for bot in others["bots"] if bot["open_to_tests"] and bot["owner"] != person.owner],
        questions=QUESTIONS,
        values=values,
    )


async def create_test(website: Website, request: Request, person: Person) -> Response:
    """Create the test that the form describes, or return the page with the errors of the fields."""
    form = await read_form(request)
    values = {name: form.get(name, "").strip() for name in _EMPTY_FORM}
    try:
        create = tests_pb2.CreateTestRequest(test=_test_in(values))
        created = await website.upstream.call(website.upstream.tests.CreateTest, create, person.token)
    except Failure as failure:
        if failure.status == 401:
            raise
        if failure.status == 404:
            failure = _unknown_version(values, failure)
        if failure.field not in _EMPTY_FORM:
            failure = in_form(failure, _EMPTY_FORM, _FORM_FIELDS)
        return await _form(website, request, person, values, failure)
    return RedirectResponse(f"/{created.test.tournament.name}", 303)


def _test_in(values: Document) -> tests_pb2.Test:
    """Return the test that the form describes. Raises Failure with all wrong fields."""
    errors = FormErrors()
    tournament = tournaments_pb2.Tournament(
        title=values["title"],
        variant=values["variant"],
        time=errors.read(partial(time_control_of, values), types_pb2.TimeControl()),
        games_per_pair=errors.read(partial(number_of, values, "games"), 0),
        sprt=values["sprt"],
    )
    if values["sprt"] not in QUESTIONS:
        errors.add(wrong("sprt", values["sprt"], "one of the questions"))
    elif not values["sprt"] and not tournament.games_per_pair:
        errors.add(wrong("games", "", "a number of games, because no question ends the test"))
    errors.check(_EMPTY_FORM)
    return tests_pb2.Test(
        new_version=bot_name(short(values["new"]), values["new_number"]),
        base_version=bot_name(short(values["base"]), values["base_number"]),
        tournament=tournament,
    )


def _unknown_version(values: Document, failure: Failure) -> Failure:
    """Return the failure for a version that does not exist, with its field if only one version was typed."""
    typed = [field for field in ("new_number", "base_number") if values[field]]
    field = typed[0] if len(typed) == 1 else ""
    message = "There is no such version." if field else "A bot or a version does not exist."
    return Failure(404, message, failure.hint if field else "", field=field)
