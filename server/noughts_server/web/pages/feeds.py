"""Feeds for other programs: Atom feeds of tournaments and tests, and calendars of tournaments' starts."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import tests_pb2, tournaments_pb2
from noughts_server.core.resource_names import tournament_name
from noughts_server.web import words
from noughts_server.web.calendar_file import calendar_file
from noughts_server.web.documents import Document
from noughts_server.web.pages.listing import PAGE_SIZE
from noughts_server.web.pages.website import Website
from noughts_server.web.unchanged import answer
from noughts_server.web.upstream import Failure

_MOST_STARTS = 500


async def tournaments_atom(website: Website, request: Request) -> Response:
    upstream = website.upstream
    newest = tournaments_pb2.ListTournamentsRequest(page_size=PAGE_SIZE)
    tournaments = (await upstream.ask(upstream.tournaments.ListTournaments, newest))["tournaments"]
    return await _atom(website, request, "feeds/tournaments.atom.jinja", tournaments=tournaments)


async def tests_atom(website: Website, request: Request) -> Response:
    upstream = website.upstream
    decided = tests_pb2.ListTestsRequest(page_size=PAGE_SIZE, state=tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    tests = (await upstream.ask(upstream.tests.ListTests, decided))["tests"]
    return await _atom(
        website, request, "feeds/tests.atom.jinja", tests=[test for test in tests if test["tournament"]["sprt"]]
    )


async def _atom(website: Website, request: Request, template: str, **values: Any) -> Response:
    body = await website.views.text(request, template, **values)
    return Response(body, media_type="application/atom+xml", headers={"cache-control": "no-cache"})


async def tournaments_calendar(website: Website, request: Request) -> Response:
    upstream = website.upstream
    newest = tournaments_pb2.ListTournamentsRequest(page_size=_MOST_STARTS)
    tournaments = (await upstream.ask(upstream.tournaments.ListTournaments, newest))["tournaments"]
    return await _calendar(website, request, "Starts of tournaments", tournaments)


async def tournament_calendar(website: Website, request: Request) -> Response:
    upstream = website.upstream
    name = tournament_name(request.path_params["tournament"])
    get_tournament = tournaments_pb2.GetTournamentRequest(name=name)
    tournament = (await upstream.ask(upstream.tournaments.GetTournament, get_tournament))["tournament"]
    if not tournament["start_at"]:
        raise Failure(404, f"{name} has no scheduled start.", "Its organiser starts it.")
    return await _calendar(website, request, tournament["title"] or words.short(name), [tournament])


async def _calendar(website: Website, request: Request, title: str, tournaments: list[Document]) -> Response:
    text = await website.views.text(request, "feeds/calendar.ics.jinja", title=title, tournaments=tournaments)
    return answer(request, calendar_file(text), "text/calendar; charset=utf-8", {"cache-control": "no-cache"})
