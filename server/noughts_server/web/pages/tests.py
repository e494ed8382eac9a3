"""The queue of tests of bot versions; the page of a test is that of its match."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import tests_pb2
from noughts_server.core.resource_names import test_name
from noughts_server.web import api_routes
from noughts_server.web.pages.listing import list_page
from noughts_server.web.pages.website import Website


async def tests_page(website: Website, request: Request) -> Response:
    page = await list_page(website, request, api_routes.TESTS, "owner", "search", "state")
    return await website.views.page(request, "tests.html.jinja", **page)


async def test_page(website: Website, request: Request) -> Response:
    """Redirect to the page of the match that plays the test."""
    get_test = tests_pb2.GetTestRequest(name=test_name(request.path_params["test"]))
    test = (await website.upstream.ask(website.upstream.tests.GetTest, get_test))["test"]
    return RedirectResponse(f"/{test['tournament']['name']}")
