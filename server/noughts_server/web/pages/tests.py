"""The queue of tests of bot versions, and the form for a new one; the page of a test is that of its match."""

import asyncio
from dataclasses import dataclass
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
from noughts_server.web.words import number

QUESTIONS = {
    "elo0=0,elo1=5": ("A little stronger", "5 Elo; up to tens of thousands of games"),
    "elo0=0,elo1=20": ("Stronger", "20 Elo; a few thousand games"),
    "elo0=0,elo1=50": ("Much stronger", "50 Elo; a few hundred games"),
    "elo0=-5,elo1=0": ("Not weaker", "within 5 Elo; up to tens of thousands of games"),
    "": ("Nothing", "it only measures the difference, in all games"),
}
"""The sequential tests that the form offers: what they decide, and how long that takes."""
_EMPTY_FORM = {
    "new": "",
    "base": "",
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
_MOST_BOTS_WITH_VERSIONS = 50
"""The form lists older versions of at most so many own bots."""


@dataclass(frozen=True)
class VersionChoice:
    """A version of a bot in the form."""

    value: str
    """`NAME` for the newest version, `NAME@V` for an older one."""
    words: str
    before: str = ""
    """The value of the version before it; empty for the oldest one."""


def _choices(bot: Document, older: list[str]) -> list[VersionChoice]:
    """Return the versions of a bot, the newest first; `older` are those before the newest."""
    name = short(bot["name"])
    versions = [number(bot["latest_version"]), *older]
    values = [name, *(f"{name}@{version}" for version in older)]
    return [
        VersionChoice(
            value=value,
            words=f"{name}, version {version}{'' if bot['online'] else ' (offline)'}",
            before=before,
        )
        for value, version, before in zip(values, versions, [*values[1:], ""], strict=True)
    ]


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
    return await _form(website, request, person, {**_EMPTY_FORM, "new": request.query_params.get("bot", "")})


async def _form(
    website: Website, request: Request, person: Person, values: Document, failure: Failure | None = None
) -> Response:
    upstream = website.upstream
    list_online = bots_pb2.ListBotsRequest(online_only=True, page_size=_MOST_OPEN_BOTS)
    own_bots, online = await asyncio.gather(website.bots_of(person), upstream.ask(upstream.bots.ListBots, list_online))
    requests = [bots_pb2.GetBotRequest(name=bot["name"]) for bot in own_bots[:_MOST_BOTS_WITH_VERSIONS]]
    answers = await asyncio.gather(*(upstream.ask(upstream.bots.GetBot, each) for each in requests))
    older = {answer["bot"]["name"]: _older_versions(answer) for answer in answers}
    own = [_choices(bot, older.get(bot["name"], [])) for bot in own_bots]
    others = [bot for bot in online["bots"] if bot["open_to_tests"] and bot["owner"] != person.owner]
    open_to_tests = [choice for bot in others for choice in _choices(bot, [])]
    return await website.views.page(
        request,
        "new_test.html.jinja",
        failure,
        own=[choice for choices in own for choice in choices],
        open_to_tests=open_to_tests,
        questions=QUESTIONS,
        values={**values, **_default_pair(values, own, open_to_tests)},
    )


def _older_versions(answer: Document) -> list[str]:
    """Return the names of the versions of a bot before its newest one, the newest first."""
    return [number(each["name"]) for each in answer["versions"] if each["name"] != answer["bot"]["latest_version"]]


def _default_pair(
    values: Document, own: list[list[VersionChoice]], open_to_tests: list[VersionChoice]
) -> dict[str, str]:
    """Return the versions that the form proposes for the fields that are empty.

    These are the newest version of the named bot, else of the first one that has several, and the version before it,
    else another bot.
    """
    if not own:
        return {}
    several = next((choices[0] for choices in own if len(choices) > 1), own[0][0])
    by_value = {choice.value: choice for choices in own for choice in choices}
    new = by_value.get(short(values["new"]), several)
    others = [choices[0].value for choices in own if choices[0] != new] + [choice.value for choice in open_to_tests]
    return {"new": new.value, "base": short(values["base"]) or new.before or next(iter(others), "")}


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
        new_version=_version_name(values["new"]),
        base_version=_version_name(values["base"]),
        tournament=tournament,
    )


def _version_name(choice: str) -> str:
    """Return `bots/NAME` for `NAME`, and `bots/NAME/versions/V` for `NAME@V`."""
    name, _, version = short(choice).partition("@")
    return bot_name(name, version)


def _unknown_version(values: Document, failure: Failure) -> Failure:
    """Return the failure for a version that does not exist, with its field if only one version is not the newest."""
    named = [field for field in ("new", "base") if "@" in values[field]]
    field = named[0] if len(named) == 1 else ""
    message = "There is no such version." if field else "A bot or a version does not exist."
    return Failure(404, message, failure.hint if field else "", field=field)
