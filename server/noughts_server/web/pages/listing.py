"""Pages that show a list of the API page by page."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_server.web.api_routes import ApiRoute
from noughts_server.web.documents import Document, document
from noughts_server.web.pages.website import Website
from noughts_server.web.queries import request_for

PAGE_SIZE = 50
_OLD_FILTERS = {"online": "online_only", "sure": "exclude_provisional"}


async def list_page(
    website: Website,
    request: Request,
    route: ApiRoute[Any, Any],
    *fields: str,
    defaults: Mapping[str, str] = MappingProxyType({}),
    **path: str,
) -> Document:
    """Return the response of an API route to these fields of the page's query, with `page_size` and `next_page`.

    `chosen` has the fields that the query sets, for links to the same list. `defaults` has values of fields that the
    query does not set. `path` sets parameters of the route's path that the page's own path does not have. Raises
    Failure.
    """
    query = ((name, text.strip()) for name, text in request.query_params.multi_items())
    parameters = [(name, text) for name, text in query if name in (*fields, "page_token") and text]
    call = request_for(
        route, {**request.path_params, **path}, [("page_size", str(PAGE_SIZE)), *defaults.items(), *parameters]
    )
    page = document(await website.upstream.call(route.method(website.upstream), call))
    return {
        **page,
        "page_size": PAGE_SIZE,
        "next_page": next_page(request, page),
        "chosen": {name: text for name, text in parameters if name != "page_token"},
    }


def next_page(request: Request, page: Document) -> str:
    """Return the address of the next page of a list; empty after the last one."""
    url = request.url.include_query_params(page_token=page["next_page_token"])
    return f"{url.path}?{url.query}" if page["next_page_token"] else ""


def renamed_filters(request: Request) -> Response | None:
    """Return a redirect if the address has filters under the names that version 1.0 used."""
    query = request.query_params.multi_items()
    if not any(name in _OLD_FILTERS for name, _ in query):
        return None
    new_query = [(_OLD_FILTERS.get(name, name), text) for name, text in query]
    return RedirectResponse(f"{request.url.path}?{urlencode(new_query)}", 308)
