"""The tunings of bots whose games workers play: the list, and a page with the curve of each parameter."""

import json
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import tunings_pb2
from noughts_server.core.resource_names import tuning_name
from noughts_server.web import api_routes
from noughts_server.web.documents import Document
from noughts_server.web.pages.listing import list_page
from noughts_server.web.pages.website import Website

_PAGE = "tunings/tuning.html.jinja"
_LONGEST_CONDITION = 200


async def tunings_page(website: Website, request: Request) -> Response:
    page = await list_page(website, request, api_routes.TUNINGS, "owner", "search", "state")
    return await website.views.page(request, "tunings/tunings.html.jinja", **page)


async def tuning_page(website: Website, request: Request) -> Response:
    return await website.views.page(request, _PAGE, **await _known_tuning(website, request))


async def tuning_parts(website: Website, request: Request) -> Response:
    """Return the parts of the page that changed."""
    return await website.views.parts(request, _PAGE, **await _known_tuning(website, request))


async def _known_tuning(website: Website, request: Request) -> Document:
    """Return the values of the page. Raises Failure."""
    get_tuning = tunings_pb2.GetTuningRequest(name=tuning_name(request.path_params["tuning"]))
    tuning = (await website.upstream.ask(website.upstream.tunings.GetTuning, get_tuning))["tuning"]
    return {"tuning": tuning, "conditions": _conditions(tuning["conditions"])}


def _conditions(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the conditions of the games that are set, as short texts by name."""
    values = {name.replace("_", " "): json.loads(text) for name, text in texts.items()}
    return {name: _condition(value)[:_LONGEST_CONDITION] for name, value in values.items() if value}


def _condition(value: object) -> str:
    """Return a condition in words: `kind random, plies 2` for the document of openings."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_condition(each)}" for name, each in value.items() if each)
    return value if isinstance(value, str) else json.dumps(value)
