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
from noughts_server.web.unchanged import tagged_response
from noughts_server.web.upstream import Failure

_MOST_STARTS = 500
"""Limit of the newest tournaments whose starts are in the calendar."""


async def tournaments_atom(website: Website, request: Request) -> Response:
    """Return the feed of the newest tournaments."""
    upstream = website.upstream
    list_newest = tournaments_pb2.ListTournamentsRequest(page_size=PAGE_SIZE)
    tournaments = (await upstream.ask(upstream.tournaments.ListTournaments, list_newest))["tournaments"]
    return await _atom(website, request, "feeds/tournaments.atom.jinja", tournaments=tournaments)


async def tests_atom(website: Website, request: Request) -> Response:
    """Return the feed of the newest finished tests."""
    upstream = website.upstream
    list_finished = tests_pb2.ListTestsRequest(page_size=PAGE_SIZE, state=tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    finished_tests = (await upstream.ask(upstream.tests.ListTests, list_finished))["tests"]
    tests = [test for test in finished_tests if test["tournament"]["sprt"]]
    return await _atom(website, request, "feeds/tests.atom.jinja", tests=tests)


async def _atom(website: Website, request: Request, template: str, **values: Any) -> Response:
    body = await website.views.text(request, template, **values)
    return Response(body, media_type="application/atom+xml", headers={"cache-control": "no-cache"})


async def tournaments_calendar(website: Website, request: Request) -> Response:
    """Return the calendar with the starts of the newest tournaments."""
    upstream = website.upstream
    list_newest = tournaments_pb2.ListTournamentsRequest(page_size=_MOST_STARTS)
    tournaments = (await upstream.ask(upstream.tournaments.ListTournaments, list_newest))["tournaments"]
    return await _calendar(website, request, "Starts of tournaments", tournaments)


async def tournament_calendar(website: Website, request: Request) -> Response:
    """Return the calendar with the start of one tournament."""
    upstream = website.upstream
    name = tournament_name(request.path_params["tournament"])
    get_tournament = tournaments_pb2.GetTournamentRequest(name=name)
    tournament = (await upstream.ask(upstream.tournaments.GetTournament, get_tournament))["tournament"]
    if not tournament["start_at"]:
        raise Failure(404, "This tournament has no scheduled start.", "Its organiser starts it.")
    return await _calendar(website, request, tournament["title"] or words.short(name), [tournament])


async def _calendar(website: Website, request: Request, title: str, tournaments: list[Document]) -> Response:
    text = await website.views.text(request, "feeds/calendar.ics.jinja", title=title, tournaments=tournaments)
    return tagged_response(request, calendar_file(text), "text/calendar; charset=utf-8", {"cache-control": "no-cache"})
