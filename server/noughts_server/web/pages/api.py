"""The page that explains the API."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import bots_pb2, tests_pb2, tournaments_pb2, tunings_pb2
from noughts_server.web.openapi import openapi
from noughts_server.web.pages.website import Website


async def api_page(website: Website, request: Request) -> Response:
    upstream = website.upstream
    list_tournaments = tournaments_pb2.ListTournamentsRequest(page_size=10)
    newest = (await upstream.ask(upstream.tournaments.ListTournaments, list_tournaments))["tournaments"]
    bots = (await upstream.ask(upstream.bots.ListBots, bots_pb2.ListBotsRequest(page_size=2)))["bots"]
    tests = (await upstream.ask(upstream.tests.ListTests, tests_pb2.ListTestsRequest(page_size=1)))["tests"]
    tunings = (await upstream.ask(upstream.tunings.ListTunings, tunings_pb2.ListTuningsRequest(page_size=1)))["tunings"]
    return await website.views.page(
        request, "api.html.jinja", api=openapi(), newest=newest, bots=bots, tests=tests, tunings=tunings
    )
